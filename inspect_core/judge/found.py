"""Whether a defect is caught where it is: by a region of the map at its true mask, or by something elsewhere.

A defect is found at a limit when a region above the limit, at least the smallest area in size, shares a pixel with its
mask grown by the smoothing. A region above a lower limit holds those above a higher one, so one number says it for
every limit: `found_up_to`.
"""

import cv2
import numpy as np

from inspect_core.judge.anomaly_map import SIGMA
from inspect_core.judge.checks import require_shape

SIDE = 256
"""Pixels of the shorter side of a map on which a mask is grown by SIGMA pixels; in proportion on others."""


def grown(mask: np.ndarray) -> np.ndarray:
    """(H, W) bool: a mask, (H, W) bool, and all pixels whose centres lie within the smoothing of one of its own."""
    if not mask.any():
        return np.zeros(mask.shape, bool)
    distance = cv2.distanceTransform((~mask).view(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return distance <= SIGMA * min(mask.shape) / SIDE


def found_up_to(pixel_map: np.ndarray, near: np.ndarray, *, area: int) -> float:
    """The smallest limit at which a defect is not found: it is found at a limit below this, and not from it on.

    pixel_map: (H, W) finite; near: (H, W) bool, its mask as `grown`; area: pixels that a region must have. Regions are
    8-connected, of pixels above the limit, as in `anomaly_map.regions`. The result is a value of the map and at most
    its image score; NaN where `near` is empty, so that nothing is known. Raises ValueError for shapes that differ.
    """
    require_shape(near, pixel_map.shape, name="near")
    if not near.any():
        return np.nan
    score = np.partition(pixel_map, pixel_map.size - area, axis=None)[pixel_map.size - area]
    highest, all_of_it = min(score, pixel_map[near].max()), pixel_map[near].min()
    if _found_from(pixel_map, near, highest, area):
        return float(highest)
    lowest = all_of_it if _found_from(pixel_map, near, all_of_it, area) else pixel_map.min()
    values = np.sort(pixel_map[(pixel_map >= lowest) & (pixel_map < highest)])
    low, high = 0, values.size  # found from values[low] on, and not from values[high] on
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _found_from(pixel_map, near, values[middle], area) else (low, middle)
    return float(values[low])


def _found_from(pixel_map: np.ndarray, near: np.ndarray, value: np.floating, area: int) -> bool:
    """Whether a region of pixels of at least this value is as large as `area` and has one of those `near`."""
    _, labels = cv2.connectedComponents((pixel_map >= value).view(np.uint8), connectivity=8)
    return any(np.count_nonzero(labels == each) >= area for each in np.unique(labels[near]) if each)
