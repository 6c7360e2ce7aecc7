"""The shape in which photos are shown to the network: their own, with the area of a square."""

import math
from collections.abc import Sequence
from statistics import median

Size = tuple[int, int]
"""(height, width) in pixels, or (rows, columns) in cells."""
STEP = 32
"""Sides of the input are multiples of the network's largest stride."""
SIDE = 256
"""Side of the square whose area the input has."""
CELL = 8
"""Pixels of the input to a cell of the patch grid."""
ALIKE = 1.2
"""Aspects of photos that differ by more than this factor are worth a sentence."""


def input_size(photos: Sequence[Size], side: int = SIDE) -> Size:
    """(height, width) of the network's input for photos of these sizes: the median of their aspects, the area of
    a square of `side`, in multiples of STEP. Raises ValueError for no photo.
    """
    if not photos:
        raise ValueError("there is no photo to take the shape from; add photos of good parts")
    aspect = math.exp(median(math.log(height / width) for height, width in photos))
    height, width = (max(STEP, round(ideal / STEP) * STEP) for ideal in (side * aspect**0.5, side / aspect**0.5))
    return height, width


def grid_of(size: Size, cell: int = CELL) -> Size:
    """The patch grid (rows, columns) with one cell to `cell` pixels of the input."""
    return size[0] // cell, size[1] // cell


def mixed_shapes(photos: Sequence[Size]) -> str:
    """A sentence where the aspects of photos differ by more than a fifth; else ""."""
    aspects = [height / width for height, width in photos]
    if not aspects or max(aspects) <= ALIKE * min(aspects):
        return ""
    low, high = (min(aspects), max(aspects))
    height, width = input_size(photos)
    return (
        f"The photos differ in shape, from {1 / high:.2f} to {1 / low:.2f} times as wide as high. All are shown to the "
        f"network as {width} × {height} px, so parts are stretched differently; crop the photos alike if you can."
    )
