"""Robust fit of quadrics: the mean second-order distance under a soft Hilbert-Schmidt orthonormality.

Loss = mean_i sum_k d2(x_i, f_k) + penalty ||G - I||_F^2 with G_kl = <A_k, A_l>_HS (Pavutnitskiy et al., AISTATS 2022,
with the mean over points in place of their sum, so that `penalty` means the same for any number of points).

The parameters are kept as full symmetric matrices: (A_ii, sqrt(2) A_ij) are orthonormal coordinates of the symmetric
matrices under the Hilbert-Schmidt product, so gradient steps and the inner products of L-BFGS are the same in both.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.quadrics.distances import hilbert_schmidt_norm, second_order, value_and_half_gradient

Coefficients = tuple[Tensor, Tensor, Tensor]

# Up to this n d^2 m on all points: 5 s of one core at 9e6, 41 s at 3e7, where mini-batches took 3 s and ended 7 %
# further off.
LBFGS_LIMIT = 1e7
LBFGS_ITERATIONS = 500
SGD_STEPS = 4000
SGD_BATCH = 128
# Length of a step, where the quadratic parts have norm 1; any from .01 to .1 ended within 10 % on curved features.
RATE = 0.03
MEMORY = 0.99
STEPS_BETWEEN_REPORTS = 20


def refine_lbfgs(start: Coefficients, x: Tensor, *, penalty: float, report: Callable[[float], None]) -> Coefficients:
    """The coefficients L-BFGS reaches from `start` on all points at once, in float64.

    x: (n, d), centred and scaled. Memory about 3 n m d float64. `report` gets the fraction done and may raise.
    It stops when the loss changes by less than 1e-10 of itself, or after LBFGS_ITERATIONS iterations.
    """
    shapes = [part.shape for part in start]
    ends = np.cumsum([part.numel() for part in start])[:-1]
    x = x.double()

    def unpack(theta: np.ndarray) -> Coefficients:
        A, b, c = (
            torch.from_numpy(part).to(x.device).reshape(shape)
            for part, shape in zip(np.split(theta, ends), shapes, strict=True)
        )
        return A, b, c

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = loss_and_gradient(unpack(theta), x, penalty=penalty)
        return float(loss), _flat(gradient)

    iterations = 0

    def after_iteration(_: np.ndarray) -> None:
        nonlocal iterations
        iterations += 1
        report(iterations / LBFGS_ITERATIONS)

    from scipy.optimize import minimize  # takes a third of a second; only the robust fit needs it

    result = minimize(
        objective,
        _flat(start),
        jac=True,
        method="L-BFGS-B",
        callback=after_iteration,
        options={"maxiter": LBFGS_ITERATIONS, "maxfun": 2 * LBFGS_ITERATIONS, "ftol": 1e-10, "gtol": 1e-9},
    )
    return unpack(result.x)


def refine_sgd(
    start: Coefficients,
    x: Tensor,
    *,
    penalty: float,
    rng: np.random.Generator,
    report: Callable[[float], None],
    steps: int = SGD_STEPS,
) -> Coefficients:
    """The coefficients after `steps` of mini-batch gradient descent from `start`, cosine decay to 0, in float32.

    x: (n, d), centred and scaled to root mean squared norm sqrt(d). The gradients of each A_k, b_k and c_k are divided
    by the root mean square of their lengths so far: near a singular point of a quadric (all of a subspace where f is a
    product of two planes) the distance has unbounded gradients, and steps of fixed rate then diverge. The schedule is
    the stop rule: the last steps vanish, and the time does not grow with n. `report` gets the fraction
    done and may raise.
    """
    x = x.float()
    A, b, c = (part.to(x.dtype, copy=True) for part in start)
    coefficients = A, b, c
    squares = [torch.zeros(len(part), device=x.device) for part in coefficients]
    batch = min(SGD_BATCH, len(x))
    order = np.empty(0, dtype=np.int64)
    used = 0
    for step in range(steps):
        if used + batch > len(order):
            order = rng.permutation(len(x))
            used = 0
        rows = x[torch.from_numpy(order[used : used + batch]).to(x.device)]
        used += batch
        rate = RATE * (1 + math.cos(math.pi * step / steps)) / 2
        _, gradient = loss_and_gradient(coefficients, rows, penalty=penalty)
        for part, by_subset, square in zip(coefficients, gradient, squares, strict=True):
            length = torch.linalg.vector_norm(by_subset.view(len(part), -1), dim=1)
            square.mul_(MEMORY).add_(length.square(), alpha=1 - MEMORY)
            typical = (square / (1 - MEMORY ** (step + 1))).sqrt()
            divisor = torch.maximum(typical, length).clamp_min(torch.finfo(x.dtype).tiny)
            part.sub_(by_subset * (rate / divisor).view(-1, *[1] * (part.ndim - 1)))
        if step % STEPS_BETWEEN_REPORTS == 0:
            report(step / steps)
    return coefficients


def loss_and_gradient(coefficients: Coefficients, x: Tensor, *, penalty: float) -> tuple[Tensor, Coefficients]:
    """The loss (a scalar) and its gradients in A (m, d, d) symmetric, b (m, d) and c (m,), for x (n, d).

    Two matrix products carry the distances: one gives all A_k x, the other sums the gradients in A over the points.
    With s = sqrt(h^2 + |f| n): d(d2)/d|f| = 1 / 2s, d(d2)/dh = -d2 / s, d(d2)/dn = (|f| / 2s - d2) / n; 0 where s is 0.
    """
    A, b, c = coefficients
    m, d, _ = A.shape
    value, half_gradient = value_and_half_gradient(A, b, c, x)
    steepness = torch.linalg.vector_norm(half_gradient, dim=-1)
    norm = hilbert_schmidt_norm(A)
    size = value.abs()
    distance, root = second_order(size, steepness, norm)
    per_root = torch.where(root > 0, 1 / (len(x) * root), 0)
    by_value = value.sign() * per_root / 2
    by_steepness = torch.where(steepness > 0, -distance * per_root / steepness, 0)
    by_norm = (size * per_root / 2 - distance / len(x)).sum(0)

    # The gradient in A sums x x' from f and (A x + b/2) x' / h from h: joined per point, one product sums both.
    joined = half_gradient.mul_(by_steepness[:, :, None])
    by_b = by_value.T @ x + joined.sum(0) / 2
    joined.addcmul_(by_value[:, :, None], x[:, None, :])
    by_A = (joined.view(-1, m * d).T @ x).view(m, d, d)
    by_A = (by_A + by_A.mT) / 2
    by_A += torch.where(norm > 0, by_norm / norm.square(), 0)[:, None, None] * A

    departure = _departure(A)
    by_A += 4 * penalty * (departure @ A.flatten(1)).view_as(A)
    loss = distance.sum() / len(x) + penalty * departure.square().sum()
    return loss, (by_A, by_b, by_value.sum(0))


def orthonormality_error(A: Tensor) -> float:
    """||G - I||_F^2 with G_kl = <A_k, A_l>_HS, for A (m, d, d): 0 for an orthonormal set."""
    return float(_departure(A.double()).square().sum())


def random_start(rng: np.random.Generator, d: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Orthonormal random A (m, d, d), and b (m, d) and c (m,) uniform on (-1, 1), float64."""
    drawn = rng.standard_normal((m, d, d))
    symmetric = ((drawn + drawn.transpose(0, 2, 1)) / 2).reshape(m, d * d)
    A = np.linalg.qr(symmetric.T)[0].T.reshape(m, d, d)
    return A, rng.uniform(-1, 1, (m, d)), rng.uniform(-1, 1, m)


def _departure(A: Tensor) -> Tensor:
    rows = A.flatten(1)
    return rows @ rows.T - torch.eye(len(rows), dtype=A.dtype, device=A.device)


def _flat(parts: Coefficients) -> np.ndarray:
    return torch.cat([part.reshape(-1) for part in parts]).cpu().numpy()
