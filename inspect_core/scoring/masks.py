"""Ground-truth masks: their regions, and how they are resized to the map.

Convention: a mask is (H, W), True (or not 0) = defect; a region is an 8-connected component of it.
"""

import cv2
import numpy as np
from numpy.typing import ArrayLike


def label_regions(mask: np.ndarray) -> tuple[np.ndarray, int]:
    """Each pixel's region in a mask (0 = none), (H, W) int32, and the number of regions."""
    count, labels = cv2.connectedComponents((np.asarray(mask) != 0).view(np.uint8), connectivity=8)
    return labels, count - 1


def mask_at(mask: ArrayLike, size: tuple[int, int]) -> np.ndarray:
    """A mask at another size, (height, width): nearest pixel, and no region is lost.

    Each pixel takes the value at its centre. A region that would lose every pixel in this way marks all pixels that it
    touches instead, so that a defect too fine for the map can still be found.
    Returns (H, W) bool. Raises ValueError when the mask is not (h, w) or the size is not positive.
    """
    source = np.asarray(mask) != 0
    if source.ndim != 2 or source.size == 0:
        raise ValueError(f"mask has shape {source.shape}; give one mask, (h, w), without a colour axis")
    if min(size) < 1:
        raise ValueError(f"size is {size}; give (height, width) of at least 1")
    height, width = source.shape
    to_height, to_width = size
    rows = (2 * np.arange(to_height) + 1) * height // (2 * to_height)
    columns = (2 * np.arange(to_width) + 1) * width // (2 * to_width)
    labels, count = label_regions(source)
    kept_labels = labels[np.ix_(rows, columns)]
    resized = kept_labels > 0
    if np.unique(kept_labels[resized]).size < count:
        lost = source & ~np.isin(labels, kept_labels)
        resized |= (_cover(height, to_height) @ lost @ _cover(width, to_width).T) > 0
    return resized


def _cover(length: int, to_length: int) -> np.ndarray:
    """(to_length, length) float32: 1 where a new pixel overlaps an old one, decided in whole numbers."""
    new = np.arange(to_length)[:, None]
    old = np.arange(length)
    return ((new * length < (old + 1) * to_length) & ((new + 1) * length > old * to_length)).astype(np.float32)
