"""How well a map covers the true regions: area under the per-region overlap (PRO) curve.

A pixel is predicted when its score exceeds a threshold. FPR is the share of normal pixels predicted, PRO the mean over
regions of the share of the region predicted; every distinct score is a threshold, the curve starts at (0, 0) and is
linear between thresholds. Bergmann et al., "Uninformed students: student-teacher anomaly detection with discriminative
latent embeddings" (2020).

A region's pixel of score s adds its weight to the curve between the shares of normal pixels above s and at least s.
The area is therefore a sum over region pixels alone, exact, and only the normal pixels have to be sorted.
"""

import numpy as np
from numpy.typing import ArrayLike

from inspect_core.scoring.input_checks import as_scores, nan_with_warning, require_fraction, require_shape
from inspect_core.scoring.masks import label_regions

POINTS = 61


def aupro(maps: ArrayLike, masks: ArrayLike, *, max_fpr: float = 0.3) -> float:
    """Area under PRO against FPR on [0, max_fpr], divided by max_fpr: 1 is perfect.

    maps: (n, H, W). masks: (n, H, W), True (or not 0) = defect. PRO is the mean over all 8-connected regions of all
    images, FPR the share of all normal pixels of all images; the curve is cut at max_fpr by interpolation.
    NaN with a warning when there is no region or no normal pixel. Raises ValueError for NaN scores, differing shapes
    and max_fpr outside (0, 1].
    """
    maps, masks = _checked(maps, masks, max_fpr)
    regions = _region_pixels(maps, masks)
    normal = maps[~masks]
    if not (regions and normal.size):
        subject = f"there are {len(regions)} regions and {normal.size} normal pixels"
        return nan_with_warning(f"AUPRO needs a true region and a normal pixel; {subject}")
    normal.sort()
    weights = np.concatenate([np.full(pixels.size, 1 / pixels.size) for pixels in regions]) / len(regions)
    scores = np.concatenate(regions)
    above = 1 - np.searchsorted(normal, scores, side="right") / normal.size
    at_least = 1 - np.searchsorted(normal, scores, side="left") / normal.size
    return partial_area(above, at_least, weights, max_fpr)


def pro_curve(maps: ArrayLike, masks: ArrayLike, *, max_fpr: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """(FPR, PRO), each (POINTS + 1,), from (0, 0) to max_fpr, for a plot: the curve whose area `aupro` measures.

    Raises ValueError as `aupro`, and when there is no region or no normal pixel.
    """
    maps, masks = _checked(maps, masks, max_fpr)
    regions = _region_pixels(maps, masks)
    normal = np.sort(maps[~masks])
    if not (regions and normal.size):
        raise ValueError(f"a PRO curve needs a region and a normal pixel; there are {len(regions)} and {normal.size}")
    at = np.ceil((1 - np.linspace(0, max_fpr, POINTS)) * normal.size).astype(int) - 1
    thresholds = normal[np.maximum(at, 0)]
    fpr = 1 - np.searchsorted(normal, thresholds, side="right") / normal.size
    pro = [1 - np.searchsorted(np.sort(region), thresholds, side="right") / region.size for region in regions]
    return np.concatenate([[0.0], fpr]), np.concatenate([[0.0], np.mean(pro, axis=0)])


def _checked(maps: ArrayLike, masks: ArrayLike, max_fpr: float) -> tuple[np.ndarray, np.ndarray]:
    require_fraction(max_fpr, name="max_fpr", cure="0.3 is usual")
    maps, masks = as_scores(maps, name="maps"), np.asarray(masks) != 0
    if maps.ndim != 3:
        raise ValueError(f"maps has shape {maps.shape}; give (n, H, W), one map for each image")
    require_shape(masks, maps.shape, name="masks")
    return maps, masks


def _region_pixels(maps: np.ndarray, masks: np.ndarray) -> list[np.ndarray]:
    """The scores of the pixels of every region of every image."""
    region_scores = []
    for image in np.flatnonzero(masks.any(axis=(1, 2))):
        labels, count = label_regions(masks[image])
        in_region = labels > 0
        order = np.argsort(labels[in_region], kind="stable")
        ends = np.cumsum(np.bincount(labels[in_region], minlength=count + 1)[1:])[:-1]
        region_scores += np.split(maps[image][in_region][order], ends)
    return region_scores


def partial_area(above: np.ndarray, at_least: np.ndarray, weights: np.ndarray, max_fpr: float) -> float:
    """Area up to max_fpr, per max_fpr, of ramps that rise by `weights` from FPR = above to FPR = at_least.

    A ramp of no width is a step; one that max_fpr cuts counts only up to there.
    """
    end = np.minimum(at_least, max_fpr)
    ramp = np.maximum(end - above, 0)
    width = at_least - above
    height = np.divide(ramp, width, out=np.ones_like(ramp), where=width > 0)
    area = ramp * height / 2 + np.maximum(max_fpr - at_least, 0)
    return float(np.sum(weights * area) / max_fpr)
