"""Where the variance of good patches goes: along components, and the rank that is left at each location of the grid."""

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor

COLLAPSED = 1e-4
"""An eigenvalue below it counts as 0: the bound by which Kim et al. 2021 count the rank of embedded covariances."""
BAND = (0.1, 0.5, 0.9)


def variance_fractions(variances: Tensor) -> np.ndarray:
    """(r,) float64 share of variance along each principal component, largest first; empty if nothing varied."""
    values = variances.double().cpu().numpy()
    return values / values.sum() if values.sum() > 0 else values[:0]


@dataclass(frozen=True, eq=False)
class LocalSpectrum:
    """Eigenvalues of the embedded covariance at every grid location.

    values: (h, w, k) float32, descending along k, in squared feature units; photos: how many they come from; ridge:
    the variance that the detector adds in every direction.
    """

    values: np.ndarray
    photos: int
    ridge: float = 0.0

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
        """The mean over places of rank over possible rank; 1 is no collapse, NaN for one photo."""
        return float(self.rank_map(above).mean() / self.possible) if self.possible else math.nan
