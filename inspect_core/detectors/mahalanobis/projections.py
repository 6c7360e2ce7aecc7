"""Linear maps from d features to k: the semi-orthogonal embedding and the two it is compared with.

Kim, Kim, Yi and Lee, "Semi-orthogonal embedding for efficient unsupervised anomaly segmentation" (2021). Every map
is drawn in float64 from `numpy.random.default_rng(seed)`, one output column after another, so that the map for a
smaller k is the first k columns of the map for a larger one: statistics taken once at the largest k serve them all.
"""

import operator

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_between

DEFAULT_K = 100


def semi_orthogonal(d: int, k: int, *, seed: int = 0) -> Tensor:
    """A matrix (d, k), float32, with orthonormal columns, uniform over all such matrices (eq. 7).

    The Q factor of a Gaussian matrix, each column with the sign of its diagonal entry in R: without the signs the
    draw would depend on the factorisation's convention instead of being uniform (Mezzadri, 2007).
    Raises ValueError unless 1 <= k <= d.
    """
    q, r = np.linalg.qr(_normal_columns(d, k, seed))
    return _as_float32(q * np.where(np.diagonal(r) < 0, -1.0, 1.0))


def sampled(d: int, k: int, *, seed: int = 0) -> Tensor:
    """A column selection (d, k), float32: k distinct features, the first k of one random order of all d.

    The random feature selection of Defard et al., "PaDiM" (2020). Raises ValueError unless 1 <= k <= d.
    """
    require_size(d, k)
    order = np.random.default_rng(seed).permutation(d)
    return _as_float32(np.eye(d)[:, order[:k]])


def gaussian(d: int, k: int, *, seed: int = 0) -> Tensor:
    """A matrix (d, k), float32, of independent N(0, 1) entries: the draw `semi_orthogonal` starts from.

    Its columns are about sqrt(d) long, so the embedded variances are about d times larger and the same ridge
    regularises d times less. Raises ValueError unless 1 <= k <= d.
    """
    return _as_float32(_normal_columns(d, k, seed))


def choose_projection(d: int, *, k: int | None, seed: int, projection: Tensor | np.ndarray | None) -> Tensor:
    """The given projection, or a semi-orthogonal one to k dimensions, min(100, d) when k is None.

    Raises ValueError when the projection does not take d features or its width is not the k asked for.
    """
    if projection is None:
        return semi_orthogonal(d, min(DEFAULT_K, d) if k is None else k, seed=seed)
    chosen = as_projection(projection)
    if chosen.shape[0] != d:
        raise ValueError(f"projection takes {chosen.shape[0]} features, these are {d} wide; draw it for d = {d}")
    if k is not None and chosen.shape[1] != k:
        raise ValueError(f"k is {k}, the projection is {chosen.shape[1]} wide; leave k out, or cut the projection")
    return chosen


def as_projection(projection: Tensor | np.ndarray) -> Tensor:
    """A projection as float32 (d, k). Raises ValueError unless it is finite with 1 <= k <= d."""
    matrix = as_features(projection, name="projection")
    if matrix.ndim != 2:
        raise ValueError(f"projection has shape {tuple(matrix.shape)}; give (d, k)")
    require_size(*matrix.shape)
    return matrix


def require_size(d: int, k: int) -> None:
    """Raise ValueError unless k is a whole number with 1 <= k <= d."""
    if operator.index(d) < 1:
        raise ValueError(f"d is {d}; give the number of features, at least 1")
    require_between(operator.index(k), 1, d, name="k", cure=f"choose at most as many dimensions as features (d = {d})")


def _normal_columns(d: int, k: int, seed: int) -> np.ndarray:
    require_size(d, k)
    return np.random.default_rng(seed).standard_normal((k, d)).T


def _as_float32(matrix: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(matrix, dtype=np.float32))
