"""How a detector spends its dimensions: shares of variance, and the rank that is left at each location of the grid."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features
from inspect_core.detectors.cop_corp.residual import KernelPCAMap
from inspect_core.detectors.kernel_pca import KernelPCA
from inspect_core.detectors.mahalanobis.projections import sampled, semi_orthogonal
from inspect_core.features.backbones import Backbone
from inspect_core.features.patch_grid import join
from inspect_core.images.read import squash

COLLAPSED = 1e-4
"""An eigenvalue below it counts as 0: the bound by which Kim et al. 2021 count the rank of embedded covariances."""
BAND = (0.1, 0.5, 0.9)
_LOCATIONS = 64


@dataclass(frozen=True, eq=False)
class LocalSpectrum:
    """Eigenvalues of the embedded covariance at every grid location.

    values: (h, w, k) float32, descending along k, in squared feature units; photos: how many they come from.
    """

    values: np.ndarray
    photos: int

    @property
    def possible(self) -> int:
        """Rank that a location could have: n photos differ in at most n - 1 directions."""
        return min(self.values.shape[-1], self.photos - 1)

    @property
    def band(self) -> np.ndarray:
        """(3, k): the 10 % quantile, the median and the 90 % quantile over the locations, eigenvalue by eigenvalue."""
        return np.quantile(self.values.reshape(-1, self.values.shape[-1]), BAND, axis=0)

    def rank_map(self, above: float = COLLAPSED) -> np.ndarray:
        """(h, w) int: how many eigenvalues of a location exceed `above`."""
        return (self.values > above).sum(axis=-1)

    def fraction(self, above: float = COLLAPSED) -> float:
        """Mean over locations of the rank as a fraction of the possible one; 1 is no collapse, NaN for one photo."""
        return float(self.rank_map(above).mean() / self.possible) if self.possible else math.nan


def variance_fractions(detector: KernelPCAMap | KernelPCA) -> np.ndarray:
    """(r,) float64 fraction of variance along each principal component, largest first; empty when nothing varied."""
    values = detector.eigenvalues.double().cpu().numpy()
    return values / values.sum() if values.sum() > 0 else values[:0]


def local_spectrum(features: Tensor | np.ndarray) -> LocalSpectrum:
    """Spectra of the covariances, divisor n, of embedded features (n, h, w, k) at every location.

    From the n x n product of the centred features of a location, in float64: with fewer photos than dimensions that
    is the smaller matrix, and the remaining eigenvalues are 0. Raises ValueError without photos.
    """
    x = as_features(features)
    n, h, w, k = x.shape
    if n == 0:
        raise ValueError("there is no photo to take a spectrum of; give at least one")
    rows = x.reshape(n, h * w, k).transpose(0, 1)
    values = torch.zeros(h * w, k, dtype=torch.float64)
    for start in range(0, h * w, _LOCATIONS):
        here = rows[start : start + _LOCATIONS].double()
        centred = here - here.mean(dim=1, keepdim=True)
        small = centred @ centred.mT if n <= k else centred.mT @ centred
        found = torch.linalg.eigvalsh(small / n).flip(-1).clamp_min(0)[:, :k]
        values[start : start + _LOCATIONS, : found.shape[1]] = found.cpu()
    return LocalSpectrum(values.reshape(h, w, k).float().numpy(), n)


def compare_embeddings(
    photos: Iterable[np.ndarray], backbone: Backbone, *, k: int, grid: tuple[int, int], nearest: bool, seed: int = 0
) -> tuple[LocalSpectrum, LocalSpectrum]:
    """Spectra of the same photos under semi-orthogonal and under sampled embeddings of width k, in that order.

    photos: (H, W, 3) uint8 of any size, each seen once. Holds 8 h w k bytes per photo. Raises ValueError without photos
    and for a k wider than the taps.
    """
    d = sum(backbone.tap_channels)
    projections = [draw(d, k, seed=seed).to(backbone.device) for draw in (semi_orthogonal, sampled)]
    rows = [
        [join(maps, grid=grid, projection=projection, nearest=nearest) for projection in projections]
        for maps in (backbone.tap_maps(squash(pixels, backbone.size)[None]) for pixels in photos)
    ]
    if not rows:
        raise ValueError("there is no photo to compare embeddings on; give at least one")
    first, second = (local_spectrum(torch.cat(column)) for column in zip(*rows, strict=True))
    return first, second
