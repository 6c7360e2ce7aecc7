"""Whether a defect is caught where it is: by a region of the map at its true mask, or by something elsewhere.

A defect is found at a limit when a region above the limit, at least the smallest area in size, shares a pixel with its
mask grown by the smoothing. A region above a lower limit holds those above a higher one, so one number says it for
every limit: `hit_limit`.
"""

import cv2
import numpy as np

from inspect_core.scoring.anomaly_map import SIGMA
from inspect_core.scoring.input_checks import require_shape

SEARCH_SAMPLE_SIZE = 64
"""Values of which the middle one is tried next: about the middle of all."""
SIDE = 256
"""Pixels of the shorter side of a map on which a mask is grown by SIGMA pixels; in proportion on others."""


def dilate_mask(mask: np.ndarray) -> np.ndarray:
    """(H, W) bool: a mask, (H, W) bool, and all pixels with centres within the smoothing of its own."""
    if not mask.any():
        return np.zeros(mask.shape, bool)
    distance = cv2.distanceTransform((~mask).view(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return distance <= SIGMA * min(mask.shape) / SIDE


def hit_limit(anomaly_map: np.ndarray, near: np.ndarray, *, area: int) -> float:
    """The smallest limit at which a defect is not found: it is found at a limit below this, and not from it on.

    anomaly_map: (H, W) finite; near: (H, W) bool, its mask as `dilate_mask`; area: pixels that a region must have.
    Regions are 8-connected, of pixels above the limit, as in `anomaly_map.regions`. The result is a value of the map
    and at most its image score; NaN where `near` is empty, so that nothing is known. Raises ValueError for shapes that
    differ.
    """
    require_shape(near, anomaly_map.shape, name="near")
    if not near.any():
        return np.nan
    places = np.flatnonzero(near)
    masked_values = anomaly_map.ravel()[places]
    lower_bound = (
        masked_values.min() if _is_found_from(anomaly_map, places, masked_values.min(), area) else anomaly_map.min()
    )
    values = anomaly_map[(anomaly_map > lower_bound) & (anomaly_map <= masked_values.max())]
    while values.size:
        candidates = np.sort(values[:: values.size // SEARCH_SAMPLE_SIZE + 1])
        if _is_found_from(anomaly_map, places, middle := candidates[candidates.size // 2], area):
            lower_bound, values = middle, values[values > middle]
        else:
            values = values[values < middle]
    return float(lower_bound)


def _is_found_from(anomaly_map: np.ndarray, places: np.ndarray, value: np.floating, area: int) -> bool:
    """Whether a region of pixels of at least this value is as large as `area` and has one of these indices."""
    above = anomaly_map >= value
    if np.count_nonzero(above) < area:
        return False
    _, labels = cv2.connectedComponents(above.view(np.uint8), connectivity=8)
    return any(np.count_nonzero(labels == label) >= area for label in set(labels.ravel()[places].tolist()) if label)
