"""Outlines of what stands out on a map."""

import numpy as np
import pytest

from inspect_core.images.areas import MOST_POINTS, filled
from inspect_core.images.peak_outlines import outlines_of, peak_outlines

SIZE = (60, 80)


def blob(row: int, column: int, reach: int, height: float) -> np.ndarray:
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    return height * np.clip(1 - np.hypot(y - row, x - column) / reach, 0, None)


def test_the_highest_peaks_come_first():
    anomaly_map = 1 + blob(20, 20, 10, 6.0) + blob(40, 60, 12, 4.0) + blob(50, 10, 8, 1.0)
    first, second = peak_outlines(anomaly_map, 1.0, most=4)
    assert filled(first, SIZE)[20, 20]
    assert filled(second, SIZE)[40, 60]
    assert filled(first, SIZE).sum() == pytest.approx(np.pi * 5**2, rel=0.35), "at half of the height"
    assert not (filled(first, SIZE) & filled(second, SIZE)).any()


def test_a_map_below_the_level_has_none():
    anomaly_map = blob(20, 20, 10, 6.0) + blob(40, 60, 12, 5.0)
    assert peak_outlines(anomaly_map, 7.0, most=3) == []
    assert len(peak_outlines(anomaly_map, 0.0, most=1)) == 1
    with pytest.raises(ValueError, match="finite"):
        peak_outlines(np.full(SIZE, np.nan), 0.0, most=1)


def test_a_rim_of_many_corners_and_a_single_pixel_are_outlines():
    rng = np.random.default_rng(0)
    ragged = np.kron(rng.random((60, 80)) > 0.45, np.ones((6, 6))) > 0
    single = np.zeros(SIZE, bool)
    single[3, 7] = True
    for mask in (ragged, single):
        for outline in outlines_of(mask):
            assert 3 <= len(outline) <= MOST_POINTS
            assert all(0 <= share <= 1 for point in outline for share in point)
    assert filled(outlines_of(single)[0], SIZE)[3, 7]
