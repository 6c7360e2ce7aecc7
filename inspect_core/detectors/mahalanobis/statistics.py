"""Semi-orthogonal Mahalanobis: one Gaussian per grid location, learned from good images in one pass.

Kim, Kim, Yi and Lee, "Semi-orthogonal embedding for efficient unsupervised anomaly segmentation" (2021). Features
(n, h, w, d) are embedded by a matrix W (d, k); each location keeps the mean and the covariance, divisor n, of its k
numbers. W has orthonormal columns, so W^T (C + ridge I) W = W^T C W + ridge I and only k dimensions are ever stored.
"""

import math
import operator
from functools import partial
from typing import Self

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_samples
from inspect_core.detectors.mahalanobis.model import Mahalanobis, project
from inspect_core.detectors.mahalanobis.per_location import (
    factorise,
    location_blocks,
    location_name,
    matrix_blocks,
    per_location_product,
    require_grid,
    require_ridge,
    warn_if_singular,
)
from inspect_core.detectors.mahalanobis.projections import (
    as_projection,
    choose_projection,
)

# Images gathered before their products join the scatter: adding to it means reading and writing all of it.
GATHERED = 32
# Locations whose float64 rows and products fit a core's second-level cache.
FIT_LOCATIONS = 16


class LocalGaussian:
    """Mean and scatter of embedded features at each location, one pass over any number of images.

    projection (d, k); grid (h, w). Holds 8 h w k^2 bytes of float64 scatter and 32 images of embedded features,
    however many images pass through. `update`, `update_projected` and `merge` change this object and return it.
    Images are gathered 32 at a time whatever the size of the batches they come in, each group about its own mean, and
    groups are joined by the update of Chan, Golub and LeVeque (1979), so on embedded features the batch size has no
    effect, to the bit. Everything is kept on the projection's device.
    """

    def __init__(self, projection: Tensor | np.ndarray, grid: tuple[int, int]) -> None:
        """Raises ValueError for a projection that is not (d, k) with k <= d, and for a grid without locations."""
        self.projection = as_projection(projection)
        h, w = (operator.index(side) for side in grid)
        if h < 1 or w < 1:
            raise ValueError(f"grid is {grid}; give the height and width of the feature maps, each at least 1")
        self.grid = (h, w)
        k, device = self.projection.shape[1], self.projection.device
        self._joined = 0
        self._mean = torch.zeros(h * w, k, dtype=torch.float64, device=device)
        self._scatter = torch.zeros(h * w, k, k, dtype=torch.float64, device=device)
        self._waiting = 0
        self._gathered = torch.empty(GATHERED, h * w, k, device=device)

    @property
    def images(self) -> int:
        """How many images have been taken in."""
        return self._joined + self._waiting

    def update(self, features: Tensor | np.ndarray) -> Self:
        """Takes in features (n, h, w, d). Raises ValueError for another grid or width or values not finite."""
        x = as_features(features, width=self.projection.shape[0])
        require_grid(x, self.grid, name="features")
        return self._embed(x)

    def update_projected(self, projected: Tensor | np.ndarray) -> Self:
        """Takes in features already multiplied by the projection, (n, h, w, k). Raises ValueError as `update`."""
        z = as_features(projected, name="projected", width=self.projection.shape[1])
        require_grid(z, self.grid, name="projected")
        self._gather(z)
        return self

    def merge(self, other: Self) -> Self:
        """Adds the images another one has taken in; the other may go on. Raises ValueError if they do not match."""
        if other.grid != self.grid or not torch.equal(other.projection.to(self.projection.device), self.projection):
            raise ValueError(
                f"cannot merge grid {other.grid}, projection {tuple(other.projection.shape)} into grid {self.grid}, "
                f"projection {tuple(self.projection.shape)}; both must come from one projection and grid"
            )
        self._join_gathered()
        other._join_gathered()
        if other._joined:
            n, m, device = self._joined, other._joined, self._mean.device
            for here in matrix_blocks(self._scatter):
                shift = other._mean[here].to(device) - self._mean[here]
                between = shift * math.sqrt(n * m / (n + m))
                self._scatter[here] += other._scatter[here].to(device) + between[:, :, None] * between[:, None, :]
                self._mean[here] += shift * (m / (n + m))
            self._joined = n + m
        return self

    def finish(self, *, ridge: float = 0.01) -> Mahalanobis:
        """The fitted model: moments and factors in float64, stored as float32. More images may follow afterwards.

        ridge: added to the diagonal of every covariance, in squared feature units; the paper's epsilon.
        Warns when there are no more images than dimensions. Raises ValueError without images, for a ridge that is
        not positive with no more than k images, and when a covariance cannot be factorised, naming the location.
        """
        k = self.projection.shape[1]
        if self.images == 0:
            raise ValueError("no image has been taken in; update with at least one good image before finish")
        require_ridge(ridge, images=self.images, k=k)
        warn_if_singular(images=self.images, k=k)
        self._join_gathered()
        cholesky = torch.empty(self._scatter.shape, device=self._scatter.device)
        for here in matrix_blocks(self._scatter):
            covariance = self._scatter[here] / self._joined
            cholesky[here] = factorise(covariance, ridge, place=partial(location_name, here.start, self.grid[1]))
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
            taken = rows[: GATHERED - self._waiting]
            self._gathered[self._waiting : self._waiting + len(taken)] = taken
            self._waiting += len(taken)
            rows = rows[len(taken) :]
            if self._waiting == GATHERED:
                self._join_gathered()

    def _join_gathered(self) -> None:
        n, m = self._joined, self._waiting
        if m == 0:
            return
        for here in location_blocks(len(self._mean), FIT_LOCATIONS):
            rows = self._gathered[:m, here].transpose(0, 1).double()
            mean = rows.mean(1)
            shift = mean - self._mean[here]
            # The row that moves the scatter to the joint mean rides along, so the scatter is read and written once.
            between = shift[:, None] * math.sqrt(n * m / (n + m))
            centred = torch.cat([rows - mean[:, None], between], dim=1)
            self._scatter[here] += per_location_product(centred.transpose(1, 2), centred)
            self._mean[here] += shift * (m / (n + m))
        self._joined, self._waiting = n + m, 0


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
