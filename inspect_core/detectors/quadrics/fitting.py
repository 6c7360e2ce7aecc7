"""Quadric hypersurface intersection: features near a curved manifold lie near every one of m quadrics.

Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (AISTATS 2022).
The score is the mean second-order distance to the m quadrics, o(x) = (1/m) sum_k d2(x, f_k) (eq. 16). `fit` minimises
the distances themselves, so that single bad samples among the good ones have little weight; the `fit_algebraic`
functions minimise f^2 (eq. 7) in closed form, and so does the start of the robust fit.
"""

import warnings
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import require_positive
from inspect_core.detectors.quadrics.algebraic import (
    LARGEST_MONOMIALS,
    NumpyCoefficients,
    least_squares_coefficients,
    least_squares_hs,
    least_squares_quadratic,
    monomial_count,
    monomial_moments,
)
from inspect_core.detectors.quadrics.coordinates import (
    Coordinates,
    as_points,
    fit_coordinates,
    require_count,
    to_coordinates,
)
from inspect_core.detectors.quadrics.distances import distance_2
from inspect_core.detectors.quadrics.model import Quadrics, rows_per_block
from inspect_core.detectors.quadrics.refinement import (
    LBFGS_LIMIT,
    Coefficients,
    orthonormality_error,
    random_start,
    refine_lbfgs,
    refine_sgd,
)
from inspect_core.detectors.warned import FitWarning

PENALTY_WARNING = 1e-2
# Share of the progress shown that a closed-form start takes, before the refinement.
START_FRACTION = 0.2


def fit(
    x: Tensor | np.ndarray,
    *,
    m: int | None = None,
    penalty: float = 1.0,
    seed: int = 0,
    components: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Quadrics:
    """The m quadrics of least mean second-order distance to the points, near Hilbert-Schmidt orthonormal.

    x: (..., d) features of good samples. They are centred and divided by one number, so that `penalty` means the same
        at any scale of the features.
    m: 1 to r(r+1)/2 quadrics; by default r minus the number of principal components that hold 95 % of the variance.
    penalty: weight of the orthonormality, positive. The remaining error is in `penalty_value`; above 0.01 a warning.
    components: reduce to that many principal components (r) first; the variance they keep is in `kept_variance`.
    progress: called now and then with the fraction done, 0 to 1; an exception it raises ends the fit.

    The start is the closed form `fit_algebraic_hs` where it is feasible (r up to 88), else random, with a warning.
    Small problems run L-BFGS on all points in float64, large ones 4,000 mini-batch steps in float32, whose time does
    not grow with n. The result is never worse than its start.
    Raises ValueError for non-finite or no samples and for arguments out of range.
    Warns when there are fewer points than monomials: the quadrics then pass through the training points.
    """
    require_positive(penalty, name="penalty", cure="1 is the published weight")

    def report(fraction: float) -> None:
        if progress is not None:
            progress(fraction)

    points, coordinates, m = _prepare(x, m=m, components=components, stacklevel=3)
    r = points.shape[1]
    rng = np.random.default_rng(seed)
    closed = monomial_count(r) <= LARGEST_MONOMIALS
    if closed:
        moments = monomial_moments(points, report=lambda fraction: report(START_FRACTION * fraction))
        first = least_squares_hs(moments, r, m)
    else:
        warnings.warn(
            f"{r} features have {monomial_count(r)} monomials, above the {LARGEST_MONOMIALS} of the closed-form "
            "start: the fit starts at random; components=88 or fewer brings the closed form back",
            FitWarning,
            stacklevel=2,
        )
        first = random_start(rng, r, m)
    begun = START_FRACTION if closed else 0.0
    start = _on_device(first, points.device)
    fitted = _refine(start, points, penalty=penalty, rng=rng, report=lambda done: report(begun + (1 - begun) * done))
    model = _finish(fitted, points, coordinates, start="closed form" if closed else "random")
    if model.penalty_value > PENALTY_WARNING:
        warnings.warn(
            f"the {m} quadrics are not orthonormal: the penalty ended at {model.penalty_value:.3g}, above "
            f"{PENALTY_WARNING}, so some of them partly repeat others; raise penalty (now {penalty:g}) or lower m",
            FitWarning,
            stacklevel=2,
        )
    report(1.0)
    return model


def fit_algebraic(x: Tensor | np.ndarray, *, m: int | None = None, components: int | None = None) -> Quadrics:
    """Baseline: least mean f^2, all monomial coefficients orthonormal (eq. 7); scored by d2 as `fit` is.

    Arguments, errors and warnings as `fit`; deterministic. Raises ValueError above 88 features (after reduction) too.
    """
    return _fit_closed_form(x, least_squares_coefficients, m=m, components=components)


def fit_algebraic_quadratic(x: Tensor | np.ndarray, *, m: int | None = None, components: int | None = None) -> Quadrics:
    """Baseline: as `fit_algebraic`, with only the coefficients of the quadratic monomials orthonormal."""
    return _fit_closed_form(x, least_squares_quadratic, m=m, components=components)


def fit_algebraic_hs(x: Tensor | np.ndarray, *, m: int | None = None, components: int | None = None) -> Quadrics:
    """Baseline: as `fit_algebraic`, with quadratic parts orthonormal in the Hilbert-Schmidt product; equivariant."""
    return _fit_closed_form(x, least_squares_hs, m=m, components=components)


def _fit_closed_form(
    x: Tensor | np.ndarray,
    least_squares: Callable[[np.ndarray, int, int], NumpyCoefficients],
    *,
    m: int | None,
    components: int | None,
) -> Quadrics:
    points, coordinates, m = _prepare(x, m=m, components=components, stacklevel=4)
    r = points.shape[1]
    if monomial_count(r) > LARGEST_MONOMIALS:
        raise ValueError(
            f"x is {r} wide, which makes {monomial_count(r)} monomials, above the {LARGEST_MONOMIALS} of the "
            "closed form; reduce it with components=88 or fewer"
        )
    fitted = least_squares(monomial_moments(points), r, m)
    return _finish(_on_device(fitted, points.device), points, coordinates, start="closed form")


def _prepare(
    x: Tensor | np.ndarray, *, m: int | None, components: int | None, stacklevel: int
) -> tuple[Tensor, Coordinates, int]:
    """The points (n, r) in the coordinates of the fit, those coordinates, and the number of quadrics."""
    x = as_points(x)
    x = x.reshape(-1, x.shape[-1])
    coordinates = fit_coordinates(x, components=components)
    n = len(x)
    r = x.shape[1] if components is None else components
    m = max(1, r - coordinates.spanning) if m is None else m
    require_count(m, monomial_count(r), name="m", cure=f"{r} features carry that many orthonormal quadrics")
    unknowns = monomial_count(r) + r + 1
    if n < unknowns:
        warnings.warn(
            f"{n} points are fewer than the {unknowns} coefficients of a quadric in {r} dimensions: the quadrics pass "
            "through the training points, whose scores then say nothing; give more points or fewer components",
            FitWarning,
            stacklevel=stacklevel,
        )
    points = to_coordinates(x, shift=coordinates.shift, scale=coordinates.scale, basis=coordinates.basis, dtype=x.dtype)
    return points, coordinates, m


def _refine(
    start: Coefficients, points: Tensor, *, penalty: float, rng: np.random.Generator, report: Callable[[float], None]
) -> Coefficients:
    """The better of `start` and the result that the optimiser for this size reaches from it."""
    n, r = points.shape
    if n * r * r * len(start[2]) <= LBFGS_LIMIT:
        refined = refine_lbfgs(start, points, penalty=penalty, report=report)
    else:
        A, b, c = (part.float() for part in start)
        start = A, b, c
        refined = refine_sgd(start, points, penalty=penalty, rng=rng, report=report)

    def loss(coefficients: Coefficients) -> float:
        return float(_mean_distances(coefficients, points).sum()) + penalty * orthonormality_error(coefficients[0])

    # Mini-batches can turn a good closed form into something worse: products of planes, if the points span a subspace.
    return min(refined, start, key=loss)


def _finish(fitted: Coefficients, points: Tensor, coordinates: Coordinates, *, start: str) -> Quadrics:
    """The model, its quadrics in ascending order of their mean d2 over the points."""
    A, b, c = (part.contiguous() for part in fitted)
    A = (A + A.mT) / 2  # symmetric to the last bit, which matrix products do not guarantee
    if not all(torch.isfinite(part).all() for part in (A, b, c)):
        raise ValueError("the fit left the range of its numbers; look for features of extreme size and scale them")
    order = torch.argsort(_mean_distances((A, b, c), points), stable=True)
    return Quadrics(
        A=A[order],
        b=b[order],
        c=c[order],
        shift=coordinates.shift,
        scale=coordinates.scale,
        basis=coordinates.basis,
        kept_variance=coordinates.kept_variance,
        penalty_value=orthonormality_error(A),
        start=start,
    )


def _mean_distances(coefficients: Coefficients, points: Tensor) -> Tensor:
    """Mean d2 of the points to every quadric, (m,) float64, over blocks of rows."""
    A, b, c = coefficients
    total = torch.zeros(len(c), dtype=torch.float64, device=points.device)
    for rows in points.split(rows_per_block(b.numel())):
        total += distance_2(A, b, c, rows.to(A.dtype)).sum(dim=0, dtype=torch.float64)
    return total / len(points)


def _on_device(coefficients: NumpyCoefficients, device: torch.device) -> Coefficients:
    A, b, c = (torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in coefficients)
    return A, b, c
