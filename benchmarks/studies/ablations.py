"""Alternatives to the semi-orthogonal embedding, for comparison: all features, one covariance, eigenvectors, shrinkage.

The ablations of Kim, Kim, Yi and Lee, "Semi-orthogonal embedding for efficient unsupervised anomaly segmentation"
(2021), and the shrinkage of Ledoit and Wolf, "A well-conditioned estimator for large-dimensional
covariance matrices" (2004). They work on features (n, h, w, d) in memory, a block of locations at a time, and refuse
when the fitted arrays would need more than `memory_limit` bytes.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_between, require_samples
from inspect_core.detectors.mahalanobis.model import Mahalanobis, project
from inspect_core.detectors.mahalanobis.per_location import (
    factorise,
    grid_distances,
    location_blocks,
    location_name,
    per_location_product,
    require_grid,
    require_ridge,
    warn_if_singular,
    whitening_blocks,
)
from inspect_core.detectors.mahalanobis.projections import DEFAULT_K, choose_projection
from inspect_core.runtime.stored import Stored

MEMORY_LIMIT = 2 * 1024**3
# Bytes of float64 rows and matrices processed at one time.
WORKING_BYTES = 64 * 1024**2


@dataclass(frozen=True, eq=False)
class GlobalMahalanobis(Stored):
    """Local means with one covariance for all locations: mean (h, w, d), cholesky (d, d) lower, float32."""

    mean: Tensor
    cholesky: Tensor
    ridge: float
    images: int

    def score(self, features: Tensor | np.ndarray) -> Tensor:
        """Distances (n, h, w) of features (n, h, w, d). Raises ValueError for another grid or width."""
        h, w, d = self.mean.shape
        x = as_features(features, width=d)
        require_grid(x, (h, w), name="features")
        return grid_distances(x, self.mean, [block.expand(h * w, -1, -1) for block in self._whitening], [d])[0]

    @cached_property
    def _whitening(self) -> tuple[Tensor, ...]:
        return whitening_blocks(self.cholesky[None])


@dataclass(frozen=True, eq=False)
class EigenMahalanobis(Stored):
    """Distances along chosen eigenvectors of each location's covariance.

    mean (h, w, d) and axes (h, w, d, k), float32; column j of axes is the j-th chosen eigenvector over the square root
    of its eigenvalue of (covariance + ridge I).
    """

    mean: Tensor
    axes: Tensor
    ridge: float
    images: int

    def score(self, features: Tensor | np.ndarray, *, k: int | None = None) -> Tensor:
        """Distances (n, h, w) of features (n, h, w, d) along the first k chosen eigenvectors (all when None).

        Raises ValueError for another grid or width and for k outside 1..fitted k.
        """
        return self.sweep(features, [self.axes.shape[-1] if k is None else k])[0]

    def sweep(self, features: Tensor | np.ndarray, ks: Iterable[int]) -> Tensor:
        """Distances (len(ks), n, h, w) for several k in one pass."""
        h, w, d = self.mean.shape
        x = as_features(features, width=d)
        require_grid(x, (h, w), name="features")
        return grid_distances(x, self.mean, [self.axes.flatten(0, 1)], ks)


def fit_full(features: Tensor | np.ndarray, *, ridge: float = 0.01, memory_limit: int = MEMORY_LIMIT) -> Mahalanobis:
    """All d features at every location: the embedding with W = I. Warns and raises as `mahalanobis.fit`.

    Needs 8 h w d^2 bytes: the factors and their inverses.
    """
    x = _grid_features(features)
    _, h, w, d = x.shape
    _require_memory(8 * h * w * d * d, memory_limit)
    return _factorised(x, torch.eye(d, device=x.device), ridge, _covariance)


def fit_shrunk(
    features: Tensor | np.ndarray,
    *,
    k: int | None = None,
    ridge: float = 0.01,
    seed: int = 0,
    projection: Tensor | np.ndarray | None = None,
    memory_limit: int = MEMORY_LIMIT,
) -> Mahalanobis:
    """As `mahalanobis.fit`, each covariance first shrunk towards a multiple of I (Ledoit and Wolf 2004).

    The ridge is added after shrinking, as a floor: for two images the estimated weight is 0. The weight depends on k,
    so a score at a smaller k is a marginal of this fit, not a fit at that k. `spectrum` gives the shrunk covariance.
    Needs 8 h w k^2 bytes.
    """
    x = _grid_features(features)
    _, h, w, d = x.shape
    chosen = choose_projection(d, k=k, seed=seed, projection=projection).to(x.device)
    _require_memory(8 * h * w * chosen.shape[1] ** 2, memory_limit)
    return _factorised(x, chosen, ridge, _shrunk_covariance)


def fit_global(
    features: Tensor | np.ndarray, *, ridge: float = 0.01, memory_limit: int = MEMORY_LIMIT
) -> GlobalMahalanobis:
    """Local means, and the mean over locations of the local covariances of all d features.

    Raises ValueError as `mahalanobis.fit`. Needs 4 h w d + 8 d^2 bytes.
    """
    x = _grid_features(features)
    n, h, w, d = x.shape
    _require_memory(4 * h * w * d + 8 * d * d, memory_limit)
    mean = torch.empty(h * w, d, device=x.device)
    total = torch.zeros(d, d, dtype=torch.float64, device=x.device)
    for here, rows in _location_rows(x):
        centre = rows.mean(1, keepdim=True)
        mean[here] = centre[:, 0].float()
        centred = (rows - centre).flatten(0, 1)
        total += centred.T @ centred
    factors = factorise(total[None] / (n * h * w), ridge, place=lambda _: "all locations together")
    return GlobalMahalanobis(mean.reshape(h, w, d), factors[0], float(ridge), n)


def fit_eigen_largest(
    features: Tensor | np.ndarray, *, k: int | None = None, ridge: float = 0.01, memory_limit: int = MEMORY_LIMIT
) -> EigenMahalanobis:
    """Along the k eigenvectors of largest eigenvalue at each location; k None: min(100, d).

    Warns and raises as `mahalanobis.fit`. Needs 4 h w d k bytes, as do its two companions.
    """
    x = _grid_features(features)
    d = x.shape[-1]
    return _fit_eigen(x, k, ridge, memory_limit, candidates=torch.arange(d - 1, -1, -1))


def fit_eigen_smallest(
    features: Tensor | np.ndarray, *, k: int | None = None, ridge: float = 0.01, memory_limit: int = MEMORY_LIMIT
) -> EigenMahalanobis:
    """Along the k of smallest eigenvalue among the min(d, n - 1) largest.

    The paper takes them among min(d, n), but a centred covariance of n images has rank n - 1: the n-th direction is one
    of those in which the images do not differ at all, any of them by chance, and 1 / ridge weighs it most.
    """
    x = _grid_features(features)
    n = len(x)
    d = x.shape[-1]
    return _fit_eigen(x, k, ridge, memory_limit, candidates=torch.arange(d - min(d, n - 1), d))


def fit_eigen_smallest_of_all(
    features: Tensor | np.ndarray, *, k: int | None = None, ridge: float = 0.01, memory_limit: int = MEMORY_LIMIT
) -> EigenMahalanobis:
    """Along the k of smallest eigenvalue of all d, including directions in which the good images do not differ."""
    x = _grid_features(features)
    return _fit_eigen(x, k, ridge, memory_limit, candidates=torch.arange(x.shape[-1]))


def _fit_eigen(x: Tensor, k: int | None, ridge: float, memory_limit: int, *, candidates: Tensor) -> EigenMahalanobis:
    """candidates: places of the eigenvalues to choose from in ascending order of eigenvalue, the first choice first."""
    n, h, w, d = x.shape
    k = min(DEFAULT_K, len(candidates)) if k is None else k
    cure = f"there are {len(candidates)} eigenvectors to choose from with {n} images of {d} features"
    require_between(k, 1, len(candidates), name="k", cure=cure)
    require_ridge(ridge, images=n, k=k)
    _require_memory(4 * h * w * d * k, memory_limit)
    warn_if_singular(images=n, k=k)
    chosen = candidates[:k].to(x.device)
    mean, axes = torch.empty(h * w, d, device=x.device), torch.empty(h * w, d, k, device=x.device)
    for here, rows in _location_rows(x):
        centre = rows.mean(1, keepdim=True)
        mean[here] = centre[:, 0].float()
        values, vectors = torch.linalg.eigh(_covariance(rows - centre))
        values = values + ridge
        sound = (values[:, chosen] > d * torch.finfo(torch.float64).eps * values[:, -1:]).all(-1)
        if not sound.all():
            place = location_name(here.start, w, int(torch.nonzero(~sound)[0]))
            raise ValueError(f"an eigenvalue at {place} is not positive with ridge = {ridge}; raise ridge or lower k")
        axes[here] = (vectors[:, :, chosen] / values[:, None, chosen].sqrt()).float()
    return EigenMahalanobis(mean.reshape(h, w, d), axes.reshape(h, w, d, k), float(ridge), n)


def _factorised(x: Tensor, projection: Tensor, ridge: float, covariance: Callable[[Tensor], Tensor]) -> Mahalanobis:
    n, h, w, _ = x.shape
    k = projection.shape[1]
    require_ridge(ridge, images=n, k=k)
    warn_if_singular(images=n, k=k)
    mean, cholesky = torch.empty(h * w, k, device=x.device), torch.empty(h * w, k, k, device=x.device)
    for here, rows in _location_rows(project(x, projection)):
        centre = rows.mean(1, keepdim=True)
        mean[here] = centre[:, 0].float()
        place = partial(location_name, here.start, w)
        cholesky[here] = factorise(covariance(rows - centre), ridge, place=place)
    return Mahalanobis(projection, mean.reshape(h, w, k), cholesky.reshape(h, w, k, k), float(ridge), n)


def _covariance(centred: Tensor) -> Tensor:
    """Covariances (p, d, d), divisor n, of centred rows (p, n, d)."""
    return per_location_product(centred.transpose(1, 2), centred) / centred.shape[1]


def _shrunk_covariance(centred: Tensor) -> Tensor:
    """(1 - weight) C + weight (trace C / k) I, the weight estimated from how much the terms of C vary."""
    n, k = centred.shape[1:]
    covariance = _covariance(centred)
    scale = covariance.diagonal(dim1=-2, dim2=-1).mean(-1)
    spread = covariance.square().sum((-2, -1)) - k * scale.square()
    fourth = centred.square().sum(-1).square().mean(-1)
    error = ((fourth - covariance.square().sum((-2, -1))) / n).clamp_min(0)
    weight = torch.where(spread > 0, (error / spread).clamp_max(1), 0)
    shrunk = covariance * (1 - weight)[:, None, None]
    shrunk.diagonal(dim1=-2, dim2=-1).add_((weight * scale)[:, None])
    return shrunk


def _grid_features(features: Tensor | np.ndarray) -> Tensor:
    x = as_features(features)
    if x.ndim != 4:
        raise ValueError(f"features has shape {tuple(x.shape)}; give (n, h, w, d), one vector for every location")
    require_samples(x)
    return x


def _location_rows(x: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of locations of (n, h, w, d) with their rows (p, n, d) in float64, within WORKING_BYTES."""
    n, h, w, d = x.shape
    size = max(1, WORKING_BYTES // (8 * d * (2 * n + 3 * d)))
    for here in location_blocks(h * w, size):
        yield here, x.flatten(1, 2)[:, here].transpose(0, 1).double().contiguous()


def _require_memory(needed: int, limit: int) -> None:
    if needed > limit:
        raise ValueError(
            f"the fitted model needs {needed / 1e6:,.0f} MB, memory_limit is {limit / 1e6:,.0f} MB; "
            "choose a smaller grid or fewer features, or raise memory_limit"
        )
