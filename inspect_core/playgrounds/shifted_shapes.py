"""Circles and rectangles, and three ways in which a photo of them may leave what was taught.

After Fig. 5 of Dey et al., "Simple Calibration via Geodesic Kernels" (TMLR 2025): discs of radius 10 and rectangles
20 x 50 on 100 x 100 grey images, then their grey level, a blend of both, or the width of an ellipse moves away.
"""

import numpy as np

SIDE = 100
GREY = 127.0
SHIFTS = {
    "intensity": np.linspace(0, 255, 18),
    "blend": np.linspace(0, 1, 11),
    "ellipse": np.array([0.01, 1, 2.5, 5, 7.5, 10, 12.5, 15, 20, 25, 30, 35, 40]),
}


def centres(n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, 2) uniform on the image; a shape is cut at its border."""
    return rng.uniform(0, SIDE, (n, 2))


def ellipses(middle: np.ndarray, half_width: float = 10.0) -> np.ndarray:
    """(n, 2) centres -> (n, 100, 100) bool: half height 10, a circle by default."""
    down, across = _offsets(middle)
    return (across / half_width) ** 2 + (down / 10) ** 2 <= 1


def rectangles(middle: np.ndarray) -> np.ndarray:
    """(n, 2) centres -> (n, 100, 100) bool, 20 high and 50 wide."""
    down, across = _offsets(middle)
    return (np.abs(down) <= 10) & (np.abs(across) <= 25)


def shifted(shift: str, value: float, middle: np.ndarray) -> np.ndarray:
    """Images of one step of a shift at (n, 2) centres: (n, 100, 100) float32 grey levels.

    intensity: the first half are circles, the others rectangles, of grey level `value`; blend: `value` is the share of
    the circle; ellipse: its half width.
    """
    if shift == "intensity":
        half = len(middle) // 2
        return value * np.concatenate([ellipses(middle[:half]), rectangles(middle[half:])]).astype(np.float32)
    if shift == "blend":
        circle, rectangle = (shape(middle).astype(np.float32) for shape in (ellipses, rectangles))
        return GREY * (value * circle + (1 - value) * rectangle)
    return GREY * ellipses(middle, value).astype(np.float32)


def _offsets(middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    pixels = np.arange(SIDE) + 0.5
    return pixels[:, None] - middle[:, 1, None, None], pixels - middle[:, 0, None, None]
