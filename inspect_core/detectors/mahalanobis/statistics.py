"""Semi-orthogonal Mahalanobis: one Gaussian per grid location, learned from good images in one pass.

Kim, Kim, Yi and Lee, "Semi-orthogonal embedding for efficient unsupervised anomaly segmentation" (2021). Features
(n, h, w, d) are embedded by a matrix W (d, k); each location keeps the mean and the covariance, divisor n, of its k
numbers. W has orthonormal columns, so W^T (C + ridge I) W = W^T C W + ridge I and only k dimensions are ever stored.
"""

import math
import operator
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Self

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_samples
from inspect_core.detectors.mahalanobis.model import Mahalanobis, project
from inspect_core.detectors.mahalanobis.per_location import (
    MATRIX_ENTRIES,
    factorise,
    location_blocks,
    location_name,
    per_location_product,
    require_grid,
    require_ridge,
    warn_if_singular,
)
from inspect_core.detectors.mahalanobis.projections import as_projection, choose_projection
from inspect_core.runtime.threads import parallel_map

# Images gathered before their products are added to the scatter: each addition reads and writes all of it.
GATHERED = 64
# Locations whose float64 rows and products fit a core's second-level cache.
FIT_LOCATIONS = 16


class LocalGaussian:
    """Mean and scatter of embedded features at each location, one pass over any number of images.

    projection (d, k); grid (h, w). Holds the lower triangles of the float64 scatter, 4 h w k (k + 1) bytes, and up to
    64 images of embedded features, however many images pass through. `update`, `update_projected` and `merge` change
    this object and return it. Images are gathered 64 at a time whatever the size of the batches they come in, each
    group about its own mean, and groups are joined by the update of Chan, Golub and LeVeque (1979), so on embedded
    features the batch size has no effect, to the bit. Everything is kept on the projection's device.
    """

    def __init__(self, projection: Tensor | np.ndarray, grid: tuple[int, int]) -> None:
        """Raise ValueError for a projection that is not (d, k) with k <= d, and for a grid without locations."""
        self.projection = as_projection(projection)
        h, w = (operator.index(side) for side in grid)
        if h < 1 or w < 1:
            raise ValueError(f"grid is {grid}; give the height and width of the feature maps, each at least 1")
        self.grid = (h, w)
        k = self.projection.shape[1]
        device = self.projection.device
        row, column = torch.tril_indices(k, k, device=device)
        self._triangle = row * k + column
        self._joined, self._waiting = 0, 0
        # Each is allocated when first needed: sums of statistics gather nothing, and 64 images need no scatter yet.
        self._mean = self._scatter = self._gathered = torch.empty(0, device=device)

    @property
    def images(self) -> int:
        """How many images have been taken in."""
        return self._joined + self._waiting

    def update(self, features: Tensor | np.ndarray) -> Self:
        """Take in features (n, h, w, d). Raises ValueError for another grid or width or values not finite."""
        x = as_features(features, width=self.projection.shape[0])
        require_grid(x, self.grid, name="features")
        return self._embed(x)

    def update_projected(self, projected: Tensor | np.ndarray) -> Self:
        """Take in features already multiplied by the projection, (n, h, w, k). Raises ValueError as `update`."""
        z = as_features(projected, name="projected", width=self.projection.shape[1])
        require_grid(z, self.grid, name="projected")
        self._gather(z)
        return self

    def merge(self, other: Self) -> Self:
        """Add the images that `other` has taken in; `other` stays usable. Raises ValueError if they do not match."""
        if other.grid != self.grid or not torch.equal(other.projection.to(self.projection.device), self.projection):
            raise ValueError(
                f"cannot merge grid {other.grid}, projection {tuple(other.projection.shape)} into grid {self.grid}, "
                f"projection {tuple(self.projection.shape)}; both must come from one projection and grid"
            )
        self._join_gathered()
        if other._joined:
            other._join_gathered()
        device = self.projection.device

        def add(here: slice) -> None:
            if other._waiting:
                mean, scatter = other._waiting_moments(here)
            else:
                mean, scatter = other._mean[here], other._scatter[here]
            self._take(here, other.images, mean.to(device), scatter.to(device))

        parallel_map(add, self._join(other.images))
        self._joined += other.images
        return self

    def without(self, other: Self) -> "LocalGaussian":
        """The statistics without the images of `other`, which were merged into them; both stay usable.

        The update of Chan, Golub and LeVeque (1979) backwards: exact but for the rounding of float64. Raises ValueError
        when no image would be left.
        """
        remaining = LocalGaussian(self.projection, self.grid)
        self._join_gathered()
        other._join_gathered()
        n, m = self._joined, other._joined
        if m >= n:
            raise ValueError(f"cannot take {m} of {n} photos away; leave at least one")
        remaining._joined = n - m
        if not m:
            remaining._mean = self._mean.clone()
            remaining._scatter = self._scatter.clone()
            return remaining
        mean = remaining._mean = self._mean + (self._mean - other._mean) * (m / (n - m))
        scatter = remaining._scatter = torch.empty_like(self._scatter)

        def subtract(here: slice) -> None:
            between = (other._mean[here] - mean[here]) * math.sqrt((n - m) * m / n)
            scatter[here] = self._scatter[here] - other._scatter[here]
            scatter[here] -= self._lower(between[:, :, None] * between[:, None, :])

        parallel_map(subtract, location_blocks(len(mean), FIT_LOCATIONS))
        return remaining

    def state(self) -> dict[str, Tensor]:
        """images () int64, mean (h w, k) and the lower triangles of scatter (h w, k (k + 1) / 2), row by row, float64.

        No copies.
        """
        self._join_gathered()
        return {"images": torch.tensor(self._joined), "mean": self._mean, "scatter": self._scatter}

    def restore(self, state: Mapping[str, Tensor]) -> Self:
        """Replaces its images by those in the `state` of another with the same projection and grid.

        Raises ValueError for arrays of other shapes or types.
        """
        k = self.projection.shape[1]
        device = self.projection.device
        places = self.grid[0] * self.grid[1]
        shapes = {"mean": (places, k), "scatter": (places, k * (k + 1) // 2)}
        images = int(state["images"])
        if images and any(
            tuple(state[name].shape) != shape or state[name].dtype != torch.float64 for name, shape in shapes.items()
        ):
            raise ValueError(f"state is not of a grid {self.grid} and k = {k}; it comes from another fit")
        self._joined = images
        self._waiting = 0
        self._mean = state["mean"].to(device)
        self._scatter = state["scatter"].to(device)
        return self

    def finish(self, *, ridge: float = 0.01) -> Mahalanobis:
        """The fitted model: moments and factors in float64, stored as float32. More images may follow.

        ridge: added to the diagonal of every covariance, in squared feature units; the paper's epsilon.
        Warns when there are no more images than dimensions. Raises ValueError without images, for a ridge that is
        not positive with no more than k images, and when a covariance cannot be factorised, naming the location.
        """
        k = self.projection.shape[1]
        if self.images == 0:
            raise ValueError("no photo has been added; update with at least one good photo before finish")
        require_ridge(ridge, images=self.images, k=k)
        warn_if_singular(images=self.images, k=k)
        self._join_gathered()
        places = len(self._mean)
        cholesky = torch.empty(places, k, k, device=self._scatter.device)

        def factor(here: slice) -> None:
            covariance = self._square(self._scatter[here]).div_(self._joined)  # only its lower triangle is read
            cholesky[here] = factorise(covariance, ridge, place=partial(location_name, here.start, self.grid[1]))

        parallel_map(factor, location_blocks(places, max(1, MATRIX_ENTRIES // k**2)))
        return Mahalanobis(
            projection=self.projection,
            mean=self._mean.float().reshape(*self.grid, k),
            cholesky=cholesky.reshape(*self.grid, k, k),
            ridge=float(ridge),
            images=self._joined,
        )

    def _embed(self, features: Tensor) -> Self:
        for chunk in features.split(GATHERED):
            self._gather(project(chunk.to(self.projection.device), self.projection))
        return self

    def _gather(self, projected: Tensor) -> None:
        rows = projected.flatten(1, 2)
        while len(rows):
            if not len(self._gathered):
                self._gathered = torch.empty(GATHERED, *rows.shape[1:], device=self.projection.device)
            head = rows[: GATHERED - self._waiting]
            self._gathered[self._waiting : self._waiting + len(head)] = head
            self._waiting += len(head)
            rows = rows[len(head) :]
            if self._waiting == GATHERED:
                self._join_gathered()

    def _join_gathered(self) -> None:
        def add(here: slice) -> None:
            self._take(here, self._waiting, *self._waiting_moments(here))

        parallel_map(add, self._join(self._waiting))
        self._joined, self._waiting = self.images, 0
        self._gathered = self._gathered.new_empty(0)

    def _join(self, count: int) -> Iterator[slice]:
        """Yield the locations, block by block, at which that many images are about to be added; none for no image."""
        places = self.grid[0] * self.grid[1]
        k = self.projection.shape[1]
        device = self.projection.device
        if count and not len(self._mean):
            self._mean = torch.zeros(places, k, dtype=torch.float64, device=device)
            self._scatter = torch.zeros(places, len(self._triangle), dtype=torch.float64, device=device)
        return location_blocks(places if count else 0, FIT_LOCATIONS)

    def _waiting_moments(self, here: slice) -> tuple[Tensor, Tensor]:
        """Mean (p, k) and scatter (p, k (k + 1) / 2) of the gathered images at these locations."""
        rows = self._gathered[: self._waiting, here].transpose(0, 1).double()
        mean = rows.mean(1)
        centred = rows - mean[:, None]
        return mean, self._lower(per_location_product(centred.transpose(1, 2), centred))

    def _take(self, here: slice, count: int, mean: Tensor, scatter: Tensor) -> None:
        n = self._joined
        shift = mean - self._mean[here]
        between = shift * math.sqrt(n * count / (n + count))
        self._scatter[here] += scatter
        self._scatter[here] += self._lower(between[:, :, None] * between[:, None, :])
        self._mean[here] += shift * (count / (n + count))

    def _lower(self, matrices: Tensor) -> Tensor:
        """(p, k, k) -> (p, k (k + 1) / 2). On a CPU by NumPy, which needs a third of torch's time."""
        if matrices.device.type == "cpu":
            return torch.from_numpy(np.take(matrices.flatten(1).numpy(), self._triangle.numpy(), axis=1))
        return matrices.flatten(1).index_select(1, self._triangle)

    def _square(self, lower: Tensor) -> Tensor:
        """(p, k (k + 1) / 2) -> (p, k, k), 0 above the diagonal: the inverse of `_lower`, by NumPy likewise."""
        k = self.projection.shape[1]
        matrices = lower.new_zeros(len(lower), k, k)
        if lower.device.type == "cpu":
            matrices.flatten(1).numpy()[:, self._triangle.numpy()] = lower.numpy()
        else:
            matrices.flatten(1).index_copy_(1, self._triangle, lower)
        return matrices


def fit(
    features: Tensor | np.ndarray,
    *,
    k: int | None = None,
    ridge: float = 0.01,
    seed: int = 0,
    projection: Tensor | np.ndarray | None = None,
) -> Mahalanobis:
    """One Gaussian per location from features (n, h, w, d) in memory; `LocalGaussian` does the same in a stream.

    k: the embedded dimensions, the projection's width or min(100, d) when None. seed draws the semi-orthogonal
    projection when none is given. Warns and raises as `LocalGaussian.finish`; raises ValueError also for k > d and
    for a k that differs from the projection's width.
    """
    x = as_features(features)
    if x.ndim != 4:
        raise ValueError(f"features has shape {tuple(x.shape)}; give (n, h, w, d), one vector for every location")
    require_samples(x)
    chosen = choose_projection(x.shape[-1], k=k, seed=seed, projection=projection).to(x.device)
    return LocalGaussian(chosen, (x.shape[1], x.shape[2]))._embed(x).finish(ridge=ridge)
