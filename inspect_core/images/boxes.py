"""Patches of the grid and the photo they were cut from: what lies in a patch, where it is, how it is shown."""

import numpy as np

from inspect_core.images.photo_reader import squash

Box = tuple[int, int, int, int]  # (left, top, right, bottom) in pixels, right and bottom excluded
SMALLEST_CROP = 32


def cell_peaks(values: np.ndarray, grid: tuple[int, int]) -> np.ndarray:
    """(H, W) -> (h, w): the largest value inside each patch, of a mask whether any pixel is True.

    Patch i of h begins at row floor(i H / h). Raises ValueError for a grid finer than the pixels.
    """
    if any(cells > pixels for cells, pixels in zip(grid, values.shape, strict=True)):
        raise ValueError(f"grid is {grid}, finer than the {values.shape} pixels; give a coarser one")
    starts = [np.arange(cells) * pixels // cells for cells, pixels in zip(grid, values.shape, strict=True)]
    return np.maximum.reduceat(np.maximum.reduceat(values, starts[0], axis=0), starts[1], axis=1)


def patch_box(place: tuple[int, int], grid: tuple[int, int], size: tuple[int, int]) -> Box:
    """Where the patch at (row, column) lies in a photo of `size` (height, width); at least one pixel."""
    (row, column), (h, w), (height, width) = place, grid, size
    left, right = column * width // w, (column + 1) * width // w
    top, bottom = row * height // h, (row + 1) * height // h
    return left, top, max(right, left + 1), max(bottom, top + 1)


def context_box(box: Box, size: tuple[int, int]) -> Box:
    """The box grown by three times its own size on every side, cut at the rim of a photo of (height, width)."""
    left, top, right, bottom = box
    across, down = 3 * (right - left), 3 * (bottom - top)
    return max(left - across, 0), max(top - down, 0), min(right + across, size[1]), min(bottom + down, size[0])


def draw_frame(pixels: np.ndarray, box: Box, colour: tuple[int, int, int]) -> np.ndarray:
    """A copy of (H, W, 3) uint8 with a frame around the box, `colour` inside white, seen on any ground."""
    framed = pixels.copy()
    height, width = pixels.shape[:2]
    line = max(1, round(max(height, width) / 256))
    left, top, right, bottom = box
    for reach, ink in ((2 * line, (255, 255, 255)), (line, colour)):
        rows = slice(max(top - reach, 0), min(bottom + reach, height))
        framed[rows, max(left - reach, 0) : min(right + reach, width)] = ink
    framed[top:bottom, left:right] = pixels[top:bottom, left:right]
    return framed


def downscale(pixels: np.ndarray, side: int) -> np.ndarray:
    """(H, W, 3) at its own aspect with the longer side at most `side`: for finding, never for judging."""
    scale = min(1.0, side / max(pixels.shape[:2]))
    height, width = (max(1, round(scale * length)) for length in pixels.shape[:2])
    return squash(pixels, (height, width))


def upscale(pixels: np.ndarray) -> np.ndarray:
    """(H, W, 3) with every pixel repeated until the longer side is at least 256: crisp, no value is made up."""
    times = max(1, -(-256 // max(pixels.shape[:2])))
    return pixels.repeat(times, axis=0).repeat(times, axis=1)


def crop_box(pixels: np.ndarray, box: Box) -> np.ndarray:
    """The pixels inside a box."""
    left, top, right, bottom = box
    return pixels[top:bottom, left:right]


def crop_square(pixels: np.ndarray, box: Box | None) -> np.ndarray:
    """The pixels of the square around a box, all of them for None."""
    return pixels if box is None else crop_box(pixels, square_around(box, pixels.shape[:2]))


def square_around(box: Box, size: tuple[int, int]) -> Box:
    """The box widened by half to a square and moved inside an image of `size` (height, width)."""
    x0, y0, x1, y1 = box
    side = min(max(round(1.5 * max(x1 - x0, y1 - y0)), SMALLEST_CROP), *size)
    left = min(max((x0 + x1 - side) // 2, 0), size[1] - side)
    top = min(max((y0 + y1 - side) // 2, 0), size[0] - side)
    return left, top, left + side, top + side
