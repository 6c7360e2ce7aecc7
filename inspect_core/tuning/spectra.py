"""How a detector spends its dimensions: shares of variance, and the rank that is left at each location of the grid."""

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features
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
