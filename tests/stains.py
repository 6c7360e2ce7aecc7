"""A stain without an edge, on a photo."""

import numpy as np


def stained(photo: np.ndarray, darker: float) -> np.ndarray:
    """A photo, (H, W, 3) uint8, that becomes darker by this share towards a place above its middle."""
    height, width = photo.shape[:2]
    rows, columns = np.ogrid[:height, :width]
    stain = np.exp(-(((rows - height / 3) / (height / 8)) ** 2) - ((columns - width / 2) / (width / 8)) ** 2)
    return np.clip(photo * (1 - darker * stain[..., None]), 0, 255).astype(np.uint8)
