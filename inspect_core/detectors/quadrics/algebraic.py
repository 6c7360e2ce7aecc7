"""Closed-form quadrics: least squares of f over the points, in three normalisations of the coefficients.

Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (AISTATS 2022), eq. 7.
Everything follows from one matrix of moments of the monomials, streamed over blocks of points in float64: memory is
p^2 numbers with p = (d + 1)(d + 2) / 2, and does not grow with the number of points.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from scipy.linalg import eigh
from torch import Tensor

# The eigenvectors of a matrix of 4,000 monomials take tens of seconds and its moments 130 MB; d = 88 has 3,916.
LARGEST_MONOMIALS = 4000
ROWS_PER_BLOCK = 1024
# Below this fraction of the largest, a singular value of the linear moments is rounding (a constant feature), not data.
RANK_TOLERANCE = 1e-12

NumpyCoefficients = tuple[np.ndarray, np.ndarray, np.ndarray]


def monomial_count(d: int) -> int:
    """The number of monomials x_i x_j, i <= j: the most quadrics with orthonormal quadratic parts."""
    return d * (d + 1) // 2


def monomials(x: Tensor) -> Tensor:
    """(x_i x_j for i <= j, x, 1) of every point, (p, n) with p = (d + 1)(d + 2) / 2, for x (n, d)."""
    n, d = x.shape
    points = x.T.contiguous()
    z = x.new_empty((d + 1) * (d + 2) // 2, n)
    on_cpu = x.device.type == "cpu"
    # On a CPU by NumPy: torch would start its threads for each of the d short products.
    values, products = (points.numpy(), z.numpy()) if on_cpu else (points, z)
    multiply = np.multiply if on_cpu else torch.mul
    start = 0
    for i in range(d):
        multiply(values[i], values[i:], out=products[start : start + d - i])  # ty: ignore[no-matching-overload]
        start += d - i
    z[start:-1] = points
    z[-1] = 1
    return z


def monomial_moments(x: Tensor, *, report: Callable[[float], None] | None = None) -> np.ndarray:
    """(1/n) sum z z' with z = `monomials`, float64, (p, p), for x (n, d).

    `report` is called with the fraction done and may raise.
    """
    n, d = x.shape
    p = monomial_count(d) + d + 1
    total = np.zeros((p, p))
    for start in range(0, n, ROWS_PER_BLOCK):
        if report is not None:
            report(start / n)
        z = monomials(x[start : start + ROWS_PER_BLOCK].to("cpu", torch.float64)).numpy()
        total += z @ z.T
    return total / n


def least_squares_hs(moments: np.ndarray, d: int, m: int) -> NumpyCoefficients:
    """The m quadrics of least mean f^2 with <A_k, A_l>_HS = 1 if k = l, else 0: A (m, d, d), b (m, d), c (m,).

    Equivariant under rotation and translation of the points.
    """
    return _free_linear_part(moments, d, m, cross_weight=math.sqrt(2))


def least_squares_quadratic(moments: np.ndarray, d: int, m: int) -> NumpyCoefficients:
    """The m quadrics of least mean f^2 whose quadratic monomial coefficients are orthonormal."""
    return _free_linear_part(moments, d, m, cross_weight=1.0)


def least_squares_coefficients(moments: np.ndarray, d: int, m: int) -> NumpyCoefficients:
    """The m quadrics of least mean f^2 whose monomial coefficients, linear and constant too, are orthonormal."""
    vectors = _smallest_eigenvectors(moments, m)
    count = monomial_count(d)
    linear = vectors[:, count:]
    return _matrices(vectors[:, :count], d, cross_weight=1.0), linear[:, :d], linear[:, d]


def _free_linear_part(moments: np.ndarray, d: int, m: int, *, cross_weight: float) -> NumpyCoefficients:
    """Orthonormality in the monomials weighted by `cross_weight` off the diagonal; b and c are then least squares."""
    count = monomial_count(d)
    rows, columns = np.triu_indices(d)
    weight = np.where(rows == columns, 1.0, cross_weight)
    quadratic = moments[:count, :count] * weight[:, None] * weight
    cross = moments[count:, :count] * weight
    regression = np.linalg.lstsq(moments[count:, count:], cross, rcond=RANK_TOLERANCE)[0]
    vectors = _smallest_eigenvectors(quadratic - cross.T @ regression, m)
    linear = -vectors @ regression.T
    return _matrices(vectors, d, cross_weight=cross_weight), linear[:, :d], linear[:, d]


def _smallest_eigenvectors(matrix: np.ndarray, m: int) -> np.ndarray:
    """Unit eigenvectors of the m smallest eigenvalues, ascending, as rows (m, p)."""
    return eigh((matrix + matrix.T) / 2, subset_by_index=(0, m - 1))[1].T


def _matrices(vectors: np.ndarray, d: int, *, cross_weight: float) -> np.ndarray:
    """Symmetric A (m, d, d) from coefficients of the weighted monomials (m, d(d+1)/2): w v_ij = 2 A_ij."""
    rows, columns = np.triu_indices(d)
    A = np.zeros((len(vectors), d, d))
    A[:, rows, columns] = vectors * np.where(rows == columns, 1.0, cross_weight / 2)
    A[:, columns, rows] = A[:, rows, columns]
    return A
