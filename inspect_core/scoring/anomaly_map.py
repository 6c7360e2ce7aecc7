"""From patch scores to a score per pixel, to the score of the image, to the regions above a limit.

Bilinear resizing and Gaussian smoothing are linear and separable, so both together are one matrix per axis and the map
of a grid G is `B_rows @ G @ B_columns^T`: two small products per image, and the same arithmetic for one image as for a
hundred.

Convention: sizes are (height, width) in pixels; boxes are (x0, y0, x1, y1) in pixels, half-open: x0 <= x < x1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import ArrayLike

from inspect_core.scoring.input_checks import as_finite_number, index_of_first

SIGMA = 4.0
"""Pixels, at the size of the network's input."""
AREA = "area"
"""Name of the live parameter that every detector has: pixels of the map that have to exceed the limit."""
AREA_SHARE = 0.002
"""Share of the map: default of the smallest area that counts."""
LARGEST_AREA_SHARE = 0.05
"""Share of the map: upper bound of the smallest area that counts."""
AREA_STEPS = 24
"""Of the smallest area, from one pixel to the largest."""


@dataclass(frozen=True)
class Region:
    """A connected part of an anomaly map above a limit.

    area: number of pixels. peak: the largest score in it. box: (x0, y0, x1, y1) in pixels, half-open, so that
    `anomaly_map[y0:y1, x0:x1]` is the smallest rectangle that holds the region.
    """

    area: int
    peak: float
    box: tuple[int, int, int, int]


def to_pixels(patch_scores: ArrayLike, size: tuple[int, int], *, sigma: float = SIGMA) -> np.ndarray:
    """Anomaly map at pixel size: bilinear resize of the patch scores, then Gaussian smoothing.

    patch_scores: (h, w) or (n, h, w), finite. size: (H, W) in pixels. sigma: standard deviation in pixels; 0 leaves
    the resized scores as they are. Returns float32 (H, W) or (n, H, W); a map does not depend on the others in its
    batch, to the bit.

    Convention: the resize puts pixel centres at half-integers, without corner alignment, and takes no average when
    the size is smaller than the grid; the smoothing window is cut at 4 sigma (33 taps for sigma = 4) and borders are
    half-sample symmetric (d c b a | a b c d, "reflect" in SciPy). After Kim et al., "Semi-orthogonal embedding for
    efficient unsupervised anomaly segmentation" (2021), who call sigma the kernel size.
    Raises ValueError for another number of axes, a size or sigma outside its range, or scores that are not finite.
    """
    # In one memory layout, since a product with a transposed matrix sums in another order: keeps maps equal to the bit.
    grid = np.ascontiguousarray(patch_scores, dtype=np.float32)
    if grid.ndim not in (2, 3) or 0 in grid.shape[-2:]:
        raise ValueError(f"patch_scores has shape {grid.shape}; give (h, w) or (n, h, w)")
    strange = ~np.isfinite(grid)
    if strange.any():
        raise ValueError(f"patch_scores is not finite at {index_of_first(strange)}; find the image that has no score")
    height, width = grid.shape[-2:]
    to_height, to_width = size
    rows = _float32_operator(height, to_height, float(sigma))
    columns = _float32_operator(width, to_width, float(sigma))
    return rows @ grid @ columns.T


def pixel_operator(cells: int, pixels: int, *, sigma: float = SIGMA) -> np.ndarray:
    """Matrix (pixels, cells) float64 that resizes and then smooths along one axis; every row sums to 1.

    `to_pixels(g, (H, W))` is `pixel_operator(h, H) @ g @ pixel_operator(w, W).T`.
    Raises ValueError when a count is not a positive whole number, or sigma is negative or not finite.
    """
    for name, count in (("cells", cells), ("pixels", pixels)):
        if count != int(count) or count < 1:
            raise ValueError(f"{name} is {count}; a size is a whole number of at least 1")
    if not (np.isfinite(sigma) and sigma >= 0):
        raise ValueError(f"sigma is {sigma}; give the smoothing in pixels, 0 or more")
    resize = _bilinear(int(cells), int(pixels))
    if sigma == 0:
        return resize
    radius = int(4.0 * sigma + 0.5)
    offsets = np.arange(-radius, radius + 1)
    taps = np.exp(-0.5 * (offsets / sigma) ** 2)
    taps /= taps.sum()
    operator = np.zeros_like(resize)
    for offset, tap in zip(offsets, taps, strict=True):
        operator += tap * resize[_reflected(np.arange(pixels) + offset, pixels)]
    return operator


@lru_cache(maxsize=32)
def _float32_operator(cells: int, pixels: int, sigma: float) -> np.ndarray:
    operator = pixel_operator(cells, pixels, sigma=sigma).astype(np.float32)
    operator.flags.writeable = False
    return operator


def _bilinear(cells: int, pixels: int) -> np.ndarray:
    """(pixels, cells): weights of the two cells around each pixel's centre, the border cell repeated."""
    position = np.clip((np.arange(pixels) + 0.5) * cells / pixels - 0.5, 0, cells - 1)
    before = np.floor(position).astype(int)
    after = np.minimum(before + 1, cells - 1)
    fraction = position - before
    weights = np.zeros((pixels, cells))
    weights[np.arange(pixels), before] = 1 - fraction
    weights[np.arange(pixels), after] += fraction
    return weights


def _reflected(index: np.ndarray, length: int) -> np.ndarray:
    """Half-sample symmetric continuation, period 2 * length, for windows of any width."""
    folded = index % (2 * length)
    return np.minimum(folded, 2 * length - 1 - folded)


def image_score(anomaly_map: np.ndarray, *, area: int = 1) -> np.ndarray:
    """Score of the image: the `area`-th largest value of its map; (H, W) -> scalar, (n, H, W) -> (n,), same dtype.

    area: pixels of the map; with 1 the score is the maximum. The score exceeds a limit exactly when at least `area`
    pixels do, wherever they lie. A map that is not finite scores its maximum, which no verdict takes.
    Raises ValueError for another number of axes and for an area outside 1..H W.
    """
    anomaly_map = np.asarray(anomaly_map)
    if anomaly_map.ndim not in (2, 3) or 0 in anomaly_map.shape[-2:]:
        raise ValueError(f"anomaly_map has shape {anomaly_map.shape}; give (H, W) or (n, H, W)")
    values = anomaly_map.reshape(*anomaly_map.shape[:-2], -1)
    place = values.shape[-1] - _whole_area(area, values.shape[-1])
    largest = values.max(axis=-1)
    if area == 1:
        return largest
    return np.where(np.isfinite(largest), np.partition(values, place, axis=-1)[..., place], largest)


def scores_by_area(anomaly_maps: np.ndarray, areas: Sequence[int]) -> np.ndarray:
    """(n, areas): the image score of each finite (n, H, W) map for each area, ranked once; same dtype."""
    values = anomaly_maps.reshape(len(anomaly_maps), -1)
    places = [values.shape[1] - _whole_area(area, values.shape[1]) for area in areas]
    return np.partition(values, places, axis=1)[:, places]


def default_area(size: tuple[int, int]) -> int:
    """The default number of pixels of a (H, W) map that have to exceed the limit: 131 of 256 x 256."""
    return max(1, round(AREA_SHARE * size[0] * size[1]))


def largest_area(size: tuple[int, int]) -> int:
    """The largest area that can be chosen for maps of `size` (H, W)."""
    return max(1, int(LARGEST_AREA_SHARE * size[0] * size[1]))


def area_stops(size: tuple[int, int]) -> tuple[int, ...]:
    """Areas to choose from for maps of `size` (H, W), ascending: evenly spaced on a log scale, and the default."""
    steps = np.geomspace(1, largest_area(size), AREA_STEPS)
    return tuple(sorted({*np.round(steps).astype(int).tolist(), default_area(size)}))


def regions(anomaly_map: np.ndarray, limit: float, *, area: int = 1) -> list[Region]:
    """Connected regions of pixels strictly above the limit, the highest peak first, then the largest.

    anomaly_map: (H, W), finite. Pixels that touch at a corner are connected (8-connected). area: the one of the score;
    with fewer pixels above the limit in the whole map the part is accepted, and none of them is a region.
    Raises ValueError when the map is not (H, W), when map or limit is not finite, and for an area outside 1..H W.
    """
    anomaly_map = np.asarray(anomaly_map)
    if anomaly_map.ndim != 2:
        raise ValueError(f"anomaly_map has shape {anomaly_map.shape}; give one map, (H, W)")
    if not np.isfinite(anomaly_map).all():
        raise ValueError("anomaly_map is not finite; a map with NaN or infinity has no regions")
    as_finite_number(limit, name="limit")
    # In float64: NumPy would otherwise round the limit to the map's float32, and an image rejected by its score
    # could be left without a region.
    above: np.ndarray = anomaly_map > np.float64(limit)
    if np.count_nonzero(above) < _whole_area(area, anomaly_map.size):
        return []
    count, labels, boxes, _ = cv2.connectedComponentsWithStats(above.view(np.uint8), connectivity=8)
    peaks = np.full(count, -np.inf)
    np.maximum.at(peaks, labels[above], anomaly_map[above])
    regions = [
        Region(area=int(area), peak=float(peak), box=(int(x), int(y), int(x + width), int(y + height)))
        for (x, y, width, height, area), peak in zip(boxes[1:], peaks[1:], strict=True)
    ]
    return sorted(regions, key=lambda region: (-region.peak, -region.area, *region.box))


def _whole_area(area: int, pixels: int) -> int:
    if area != int(area) or not 1 <= area <= pixels:
        raise ValueError(f"area is {area}, outside 1..{pixels}; give the number of pixels of the map that must exceed")
    return int(area)


def scale_region(region: Region, from_size: tuple[int, int], to_size: tuple[int, int]) -> Region:
    """The region of a map of `from_size` on an image of `to_size`, both (height, width) in pixels.

    The box becomes the smallest whole-pixel box that covers the scaled one; the area is scaled and rounded, at least
    1; the peak stays. Raises ValueError when a size is not positive or the box does not lie within `from_size`.
    """
    if min(*from_size, *to_size) < 1:
        raise ValueError(f"from_size is {from_size}, to_size {to_size}; both are (height, width) of at least 1")
    (height, width), (to_height, to_width) = from_size, to_size
    x0, y0, x1, y1 = region.box
    if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
        raise ValueError(f"region has the box {region.box}, outside from_size {from_size}; give its own map's size")
    box = (x0 * to_width // width, y0 * to_height // height, -(-x1 * to_width // width), -(-y1 * to_height // height))
    area = max(1, round(region.area * (to_height * to_width) / (height * width)))
    return Region(area=area, peak=region.peak, box=box)
