"""How far a patch differs from good ones as known defects do: Fisher's linear discriminant.

Fisher, "The use of multiple measurements in taxonomic problems" (1936). Good patches are many, and tell how features
vary together; those of a few known defects tell their mean alone, each defect as much as any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features
from inspect_core.detectors.cop_corp.covariance import MappedCovariance
from inspect_core.detectors.patch_rows import score_rows
from inspect_core.runtime.stored import Stored, floats

SHRINKAGE = 0.01
"""Share of the covariance that is replaced by the mean variance of a feature (MEASUREMENTS section 3)."""


@dataclass(frozen=True, eq=False)
class DefectDirection(Stored):
    """mean: (k,) of good patches; direction: (k,), along which they have variance 1, and known defects lie above.

    A direction of 0 finds nothing: that of no known defect.
    """

    mean: Annotated[Tensor, floats("k")]
    direction: Annotated[Tensor, floats("k")]

    def __post_init__(self) -> None:
        if self.mean.ndim != 1 or self.mean.shape != self.direction.shape:
            shapes = f"{tuple(self.mean.shape)} and {tuple(self.direction.shape)}"
            raise ValueError(f"mean and direction have shapes {shapes}; give (k,) each")

    def score(self, x: Tensor | np.ndarray) -> Tensor:
        """(x - mean) · direction, (..., k) -> (...): good patches about 0 with spread 1, those like known defects more.

        A photo scores the same to the bit alone and in a batch. Raises ValueError for features that are not finite,
        and another width.
        """
        x = as_features(x, name="x", width=len(self.mean), dtype=self.mean.dtype).to(self.mean.device)
        return score_rows(x, lambda rows: (rows - self.mean) @ self.direction)


def fit(statistics: MappedCovariance, defects: Sequence[Tensor]) -> DefectDirection:
    """The direction S⁻¹ (d - m), of length 1 in S: m, S the mean and shrunk covariance of good patches, d the mean over
    defects of the mean of their patches.

    statistics: of good patches as they are; defects: (n, k) patches of each known defect. In float64. Raises ValueError
    for no good patch.
    """
    if not statistics.count:
        raise ValueError("no photo has been added; update with at least one good photo before the fit")
    mean, covariance = statistics.moments()
    direction = torch.zeros_like(mean)
    if defects:
        width = len(mean)
        scale = covariance.diagonal().mean()
        shrunk = (1 - SHRINKAGE) * covariance + SHRINKAGE * scale * torch.eye(width, dtype=mean.dtype).to(mean.device)
        apart = torch.stack([patches.to(mean).mean(0) for patches in defects]).mean(0) - mean
        direction = torch.linalg.solve(shrunk, apart)
        length = (direction @ shrunk @ direction).sqrt()
        direction = direction / length if length > 0 else torch.zeros_like(mean)
    return DefectDirection(mean.float(), direction.float())
