"""How many pixels of judged photos lie where on the scale of the scores: what AUPRO and the pixel AUROC are made of.

Any process counts some photos, and the counts of all are added: no map has to be kept or sent. Scores that agree in
sign, exponent and the first BITS bits of their fraction are one class, 0.05 % wide; within a class the curves are
straight, as they are between equal scores of `region_overlap.aupro` and `ranking.auroc`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from inspect_core.scoring.input_checks import require_shape
from inspect_core.scoring.masks import label_regions
from inspect_core.scoring.region_overlap import partial_area

BITS = 11


@dataclass(frozen=True, eq=False)
class OverlapCounts:
    """Of any number of maps with a true mask.

    classes: (n,) int32, those of scores that occur, ascending as the scores; normal, defect: (n,) int64, pixels in
    each; weight: (n,) float64, the share that each class has of every region, summed over the regions; regions: how
    many there are (8-connected).
    """

    classes: np.ndarray
    normal: np.ndarray
    defect: np.ndarray
    weight: np.ndarray
    regions: int

    @classmethod
    def none(cls) -> Self:
        """Create it from no map."""
        return cls(np.zeros(0, np.int32), *np.zeros((2, 0), np.int64), np.zeros(0), 0)

    @classmethod
    def from_map(cls, anomaly_map: np.ndarray, mask: np.ndarray) -> Self:
        """Create it from a map (H, W), float32, finite, and its mask. Raises ValueError for another shape."""
        mask = np.asarray(mask) != 0
        require_shape(mask, anomaly_map.shape, name="mask")
        classes = _classes(anomaly_map)
        first = int(classes.min())
        at, length = classes - first, int(classes.max()) - first + 1
        labels, regions = label_regions(mask)
        share = 1 / np.maximum(np.bincount(labels.ravel(), minlength=regions + 1), 1)
        everywhere = np.bincount(at.ravel(), minlength=length)
        in_mask = at[mask]
        defect = np.bincount(in_mask, minlength=length)
        there = np.flatnonzero(everywhere)
        return cls(
            (there + first).astype(np.int32),
            (everywhere - defect)[there],
            defect[there],
            np.bincount(in_mask, share[labels[mask]], minlength=length)[there],
            regions,
        )

    @classmethod
    def merged(cls, counts: Iterable[Self]) -> Self:
        """Create it from the maps of all, added in their order."""
        all_counts = [cls.none(), *counts]
        classes, bins = np.unique(np.concatenate([counts.classes for counts in all_counts]), return_inverse=True)
        normal, defect, weight = (
            np.bincount(
                bins,
                np.concatenate([getattr(counts_of_photo, name) for counts_of_photo in all_counts]),
                minlength=len(classes),
            )
            for name in ("normal", "defect", "weight")
        )
        regions = sum(counts_of_photo.regions for counts_of_photo in all_counts)
        return cls(classes, normal.astype(np.int64), defect.astype(np.int64), weight, regions)

    @property
    def pixel_auroc(self) -> float:
        """As `ranking.auroc` of all pixels; NaN without normal or without defective ones."""
        normal, defect = int(self.normal.sum()), int(self.defect.sum())
        if not (normal and defect):
            return math.nan
        below = np.cumsum(self.normal) - self.normal / 2
        return float((self.defect * below).sum() / (normal * defect))

    def aupro(self, *, max_fpr: float = 0.3) -> float:
        """As `region_overlap.aupro` of all maps; NaN without a region or a normal pixel."""
        normal = int(self.normal.sum())
        if not (normal and self.regions):
            return math.nan
        at_least = 1 - (np.cumsum(self.normal) - self.normal) / normal
        above = 1 - np.cumsum(self.normal) / normal
        return partial_area(above, at_least, self.weight / self.regions, max_fpr)


def _classes(scores: np.ndarray) -> np.ndarray:
    """int32, ascending as the float32 scores: the bits of one that is negative ascend as it falls."""
    bits = (np.ascontiguousarray(scores, np.float32) + np.float32(0)).view(np.int32)  # -0 is the same score as 0
    return np.where(bits < 0, bits ^ 0x7FFFFFFF, bits) >> (23 - BITS)
