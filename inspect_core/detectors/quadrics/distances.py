"""Distances from points to quadrics f(x) = x' A x + b.x + c: algebraic, first and second order.

Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (AISTATS 2022), eq. 8.

Convention: m quadrics in d dimensions are three arrays, A (m, d, d) symmetric, b (m, d) and c (m,). The norm of a
quadric is the Hilbert-Schmidt norm of its quadratic part, n = sqrt(sum_ij A_ij^2): unlike the plain coefficients, it
does not change under rotation and translation.
"""

import numpy as np
import torch
from torch import Tensor

Array = Tensor | np.ndarray


def distance_algebraic(A: Array, b: Array, c: Array, x: Array) -> Tensor:
    """|f_k(x)|, which has no unit of length: (..., m) for x (..., d)."""
    value, _ = value_and_half_gradient(*_tensors(A, b, c, x))
    return value.abs()


def distance_1(A: Array, b: Array, c: Array, x: Array) -> Tensor:
    """First-order distance |f| / ||grad f||, in the unit of x: (..., m) for x (..., d).

    0 where f is 0, and infinite where the gradient alone is 0 (the centre of a sphere).
    """
    value, half_gradient = value_and_half_gradient(*_tensors(A, b, c, x))
    size = value.abs()
    steepness = 2 * torch.linalg.vector_norm(half_gradient, dim=-1)
    return torch.where(size == 0, size, size / steepness)


def distance_2(A: Array, b: Array, c: Array, x: Array) -> Tensor:
    """Second-order distance, in the unit of x: (..., m) for x (..., d); never above the Euclidean distance.

    (sqrt(h^2 + |f| n) - h) / n with h = ||grad f|| / 2, computed as |f| / (sqrt(h^2 + |f| n) + h), which neither
    cancels nor divides by n: a plane (n = 0) gets its exact distance, and f = 0 gives 0 even where h is 0.
    The precision is that of the widest argument. Memory: len(x) m d numbers, so callers with many rows send blocks.
    """
    A, b, c, x = _tensors(A, b, c, x)
    value, half_gradient = value_and_half_gradient(A, b, c, x)
    steepness = torch.linalg.vector_norm(half_gradient, dim=-1)
    return second_order(value.abs(), steepness, hilbert_schmidt_norm(A))[0]


def second_order(size: Tensor, steepness: Tensor, norm: Tensor) -> tuple[Tensor, Tensor]:
    """d2 and the root sqrt(h^2 + |f| n), both (..., m), from |f|, h (..., m) and n (m,)."""
    # Roots before the product, and hypot: |f| n may underflow where its root does not.
    root = torch.hypot(steepness, size.sqrt() * norm.sqrt())
    return torch.where(size == 0, size, size / (root + steepness)), root


def value_and_half_gradient(A: Tensor, b: Tensor, c: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """f (..., m) and A x + b / 2 (..., m, d), for tensors of one dtype and device.

    One matrix product with all quadrics side by side gives the half gradient; f is its inner product with x plus
    b.x / 2 + c, so x' A x is not computed a second time.
    """
    m, d, _ = A.shape
    rows = x.reshape(-1, d)
    half_gradient = torch.addmm(b.reshape(-1) / 2, rows, A.reshape(m * d, d).T).view(-1, m, d)
    value = torch.bmm(half_gradient, rows[:, :, None])[:, :, 0] + torch.addmm(c, rows, b.T / 2)
    return value.reshape(*x.shape[:-1], m), half_gradient.reshape(*x.shape[:-1], m, d)


def monomial_coefficients(A: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Coefficients, (2 m, p), in `algebraic.monomials` of the m f_k and then of the m h_k^2 = ||A_k x + b_k / 2||^2."""
    m, d = b.shape
    rows, columns = torch.triu_indices(d, d)
    coefficients = A.new_empty(2, m, len(rows) + d + 1)
    for k in range(m):  # one at a time: all squares at once would take as much memory as A
        coefficients[0, k, : len(rows)], coefficients[1, k, : len(rows)] = (
            part[rows, columns] for part in (A[k], A[k] @ A[k])
        )
    coefficients[:, :, : len(rows)] *= torch.where(rows == columns, 1.0, 2.0).to(A)
    coefficients[0, :, len(rows) : -1], coefficients[0, :, -1] = b, c
    coefficients[1, :, len(rows) : -1] = (A @ b[:, :, None])[:, :, 0]
    coefficients[1, :, -1] = b.square().sum(1) / 4
    return coefficients.flatten(0, 1)


def hilbert_schmidt_norm(A: Tensor) -> Tensor:
    """||A_k||_HS, (m,) for A (m, d, d)."""
    return torch.linalg.vector_norm(A.flatten(1), dim=1)


def _tensors(A: Array, b: Array, c: Array, x: Array) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The four arguments as tensors of the widest of their dtypes; raises ValueError where shapes do not fit."""
    A, b, c, x = (torch.as_tensor(a) for a in (A, b, c, x))
    if A.ndim != 3 or A.shape[1] != A.shape[2]:
        raise ValueError(f"A has shape {tuple(A.shape)}; give (m, d, d), one symmetric matrix for every quadric")
    m, d, _ = A.shape
    if b.shape != (m, d) or c.shape != (m,):
        raise ValueError(f"b has shape {tuple(b.shape)} and c {tuple(c.shape)}; A asks for ({m}, {d}) and ({m},)")
    if x.ndim == 0 or x.shape[-1] != d:
        raise ValueError(f"x has shape {tuple(x.shape)}; the quadrics are {d}-dimensional, give (..., {d})")
    dtype = torch.promote_types(torch.promote_types(A.dtype, b.dtype), torch.promote_types(c.dtype, x.dtype))
    dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
    return A.to(dtype), b.to(dtype), c.to(dtype), x.to(dtype)
