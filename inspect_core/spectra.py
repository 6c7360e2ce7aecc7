"""How a detector spends its dimensions: eigenvalues, the share they hold, and rank collapse at each location."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features
from inspect_core.detectors.kernel_pca import KernelPCA
from inspect_core.detectors.pca_residual import KernelPCAMap
from inspect_core.features.patch_grid import join

COLLAPSED = 1e-4
"""Below it an eigenvalue counts as none: the bound at which Kim et al. 2021 count the rank of embedded covariances."""
BAND = (0.1, 0.5, 0.9)
_LOCATIONS = 64


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Shares of the variance along the principal components, largest first.

    shares: (r,) float64, sum 1; empty when nothing varied.
    """

    shares: np.ndarray

    @property
    def explained(self) -> np.ndarray:
        """(r,) share of the variance that the first 1, 2, ... r components hold."""
        return np.cumsum(self.shares)

    def held_by(self, q: int) -> float:
        """Share that the first q components hold; all of it beyond the last."""
        return float(self.explained[min(q, len(self.shares)) - 1]) if q > 0 and len(self.shares) else 0.0


@dataclass(frozen=True, eq=False)
class LocalSpectrum:
    """Eigenvalues of the embedded covariance at every grid location.

    values: (h, w, k) float32, descending along k, in squared feature units.
    """

    values: np.ndarray

    @property
    def band(self) -> np.ndarray:
        """(3, k): the 10 % quantile, the median and the 90 % quantile over the locations, eigenvalue by eigenvalue."""
        return np.quantile(self.values.reshape(-1, self.values.shape[-1]), BAND, axis=0)

    def rank_map(self, above: float = COLLAPSED) -> np.ndarray:
        """(h, w) int: how many eigenvalues of a location exceed `above`."""
        return (self.values > above).sum(axis=-1)

    def share(self, above: float = COLLAPSED) -> float:
        """Share of all eigenvalues, over all locations, that exceed `above`; 1 is no collapse."""
        return float((self.values > above).mean())


def spectrum(detector: KernelPCAMap | KernelPCA) -> Spectrum:
    """The spectrum of a detector that keeps principal components."""
    values = detector.eigenvalues.double().cpu().numpy()
    return Spectrum(values / values.sum() if values.sum() > 0 else values[:0])


def local_spectrum(features: Iterable[Tensor] | Tensor | np.ndarray) -> LocalSpectrum:
    """Spectra of embedded features (n, h, w, k), or of an iterable of (1, h, w, k); divisor n.

    From the n x n product of the centred features at each location in float64: with fewer photos than dimensions that
    is the smaller matrix, and the remaining eigenvalues are 0. Raises ValueError without photos.
    """
    given = features if isinstance(features, Tensor | np.ndarray) else torch.cat(list(features))
    x = as_features(given)
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
    return LocalSpectrum(values.reshape(h, w, k).float().numpy())


def embedded(
    tap_maps: tuple[Tensor, ...], projections: Iterable[Tensor], *, grid: tuple[int, int], nearest: bool
) -> tuple[Tensor, ...]:
    """One photo's tap maps under several (d, k) projections, each (1, h, w, k); every projection comes before resizing,
    so the grid with all d channels never exists.
    """
    return tuple(join(tap_maps, grid=grid, projection=projection, nearest=nearest) for projection in projections)
