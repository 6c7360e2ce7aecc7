import numpy as np
import pytest

from inspect_core.scoring.anomaly_map import to_pixels
from inspect_core.scoring.hot_spot import BAND, bright_place


def maps(places: list[tuple[int, int]], height: float = 12.0) -> np.ndarray:
    """(n, 128, 128): noise, and a peak on the cell of a 32 x 32 grid, (row, column)."""
    grids = np.random.default_rng(0).gamma(9, 0.3, (len(places), 32, 32)).astype(np.float32)
    for grid, (row, column) in zip(grids, places, strict=True):
        grid[row : row + 2, column : column + 2] += height
    return to_pixels(grids, (128, 128))


ANYWHERE = [(3, 20), (20, 8), (14, 14), (24, 22), (9, 5), (17, 25)]


def test_corner_lit_on_most_good_parts_is_one_box():
    box = bright_place(maps([(2, 27), (2, 28), (3, 27), (2, 27), (16, 9), (2, 28)]), limit=9.0, area=30)
    assert (box.peak_count, box.at_border) == (5, False)
    ((left, top, right, bottom),) = box.boxes
    assert left < 28 / 32 < right <= 1
    assert 0 <= top < 3 / 32 < bottom
    assert (right - left) * (bottom - top) < 0.06
    assert 0.1 < box.score_drop < 1
    low = bright_place(maps([(2, 27)] * 6), limit=3.5, area=30).boxes[0]
    assert low[0] < left, "all that lies above the limit"
    assert low[3] > bottom


def test_peaks_along_two_sides_are_strips_along_these():
    boxes = bright_place(maps([(0, 4), (0, 16), (0, 28), (12, 0), (25, 0), (15, 15)]), limit=9.0, area=30)
    assert (boxes.peak_count, boxes.at_border) == (5, True)
    assert boxes.boxes == (
        (0.0, 0.0, pytest.approx(BAND, abs=0.01), 1.0),
        (0.0, 0.0, 1.0, pytest.approx(BAND, abs=0.01)),
    )


def test_scattered_harmless_or_few_peaks_give_no_box():
    assert bright_place(maps(ANYWHERE), limit=9.0, area=30) is None
    assert bright_place(maps([(2, 27)] * 6, height=1.2), limit=9.0, area=30) is None
    assert bright_place(maps([(2, 27)] * 4), limit=9.0, area=30) is None
    assert bright_place(np.zeros((6, 32, 32), np.float32), limit=1.0, area=1) is None
