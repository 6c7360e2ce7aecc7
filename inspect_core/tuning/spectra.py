"""How a detector spends its dimensions: shares of variance, and the rank that is left at each location of the grid."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features
from inspect_core.detectors.mahalanobis.projections import sampled, semi_orthogonal
from inspect_core.features.backbones import Backbone
from inspect_core.features.patch_grid import join
from inspect_core.images.read import squash
from inspect_core.methods.spectrum import LocalSpectrum

_LOCATIONS = 64


def variance_fractions(variances: Tensor) -> np.ndarray:
    """(r,) float64 fraction of variance along each principal component, largest first; empty when nothing varied."""
    values = variances.double().cpu().numpy()
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
