"""How much paler, darker or otherwise coloured a place is than on good parts, against the rest of its photo.

A stain without an edge leaves the features of a network much as they are; the mean colour of its cells shows it. Each
place has one Gaussian of the colour of its cell over the mean colour of the photo, so a lamp that is dimmer throughout
changes nothing.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features
from inspect_core.detectors.mahalanobis import LocalGaussian
from inspect_core.runtime.stored import Stored, floats

DARKEST = 1 / 255
"""Least mean of a colour: a photo without it has none anywhere."""


@dataclass(frozen=True, eq=False)
class RelativeColour(Stored):
    """The length of whitening (x / m - mean) at each place, x the colours of a photo and m their means over places.

    mean: (h, w, c); whitening: (h, w, c, c) lower; float32, c colours.
    """

    mean: Annotated[Tensor, floats("h w k")]
    whitening: Annotated[Tensor, floats("h w k k")]

    def __post_init__(self) -> None:
        if self.mean.ndim != 3 or self.whitening.shape != (*self.mean.shape, self.mean.shape[-1]):
            shapes = f"{tuple(self.mean.shape)} and {tuple(self.whitening.shape)}"
            raise ValueError(f"mean and whitening have shapes {shapes}; give (h, w, c) and (h, w, c, c)")

    def score(self, x: Tensor | np.ndarray) -> Tensor:
        """Distances (n, h, w) of the colours (n, h, w, c) of photos; larger is further from the good ones.

        A photo scores the same to the bit alone and in a batch. Raises ValueError for colours that are not finite,
        another number of them and another grid.
        """
        x = as_features(x, name="x", width=self.mean.shape[-1], dtype=self.mean.dtype).to(self.mean.device)
        if x.ndim != 4 or x.shape[1:3] != self.mean.shape[:2]:
            grid = tuple(self.mean.shape[:2])
            raise ValueError(f"x has shape {tuple(x.shape)}; the colours were learned on a grid of {grid}")
        scores = x.new_empty(x.shape[:-1])
        for photo, out in zip(x, scores, strict=True):
            out.copy_(distances(over_mean(photo) - self.mean, self.whitening))
        return scores


def fit(statistics: LocalGaussian, *, ridge: float) -> RelativeColour:
    """The detector of good photos, given the statistics of their `over_mean`.

    The covariance of a place is its own plus the mean of all places plus ridge I: what a place was never seen to do,
    the part does elsewhere. Factored and inverted in float64. Raises ValueError for no photo.
    """
    if not statistics.images:
        raise ValueError("no photo has been added; update with at least one good photo before the fit")
    state = statistics.state()
    mean = state["mean"]
    width = mean.shape[-1]
    row, column = torch.tril_indices(width, width, device=mean.device)
    covariance = mean.new_empty(len(mean), width, width)
    covariance[:, row, column] = covariance[:, column, row] = state["scatter"] / statistics.images
    identity = torch.eye(width, dtype=mean.dtype, device=mean.device)
    factors = torch.linalg.cholesky(covariance + covariance.mean(0) + ridge * identity)
    whitening = torch.linalg.solve_triangular(factors, identity.expand_as(factors), upper=False)
    h, w = statistics.grid
    return RelativeColour(mean.float().reshape(h, w, width), whitening.float().contiguous().reshape(h, w, width, width))


def over_mean(colours: Tensor) -> Tensor:
    """The colours (..., h, w, c) of photos, each over its mean in the photo; 0 is black."""
    return colours / colours.mean((-3, -2), keepdim=True).clamp_min(DARKEST)


def distances(deviations: Tensor, whitening: Tensor) -> Tensor:
    """The length of whitening (h, w, c, c) times deviations (..., h, w, c): (..., h, w)."""
    return (whitening * deviations[..., None, :]).sum(-1).square().sum(-1).sqrt()
