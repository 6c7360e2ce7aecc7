"""A defect is caught where it is: one number per part, against regions found limit by limit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from inspect_core.scoring.anomaly_map import image_score, regions
from inspect_core.scoring.defect_hits import dilate_mask, hit_limit
from inspect_core.scoring.masks import label_regions
from tests.examples import examples

MAPS = arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 6).map(float))


def is_found(values: np.ndarray, near: np.ndarray, limit: float, area: int) -> bool:
    """The rule as it is written, for one limit."""
    labels, count = label_regions(values > np.float64(limit))
    sizes = [(labels == i).sum() for i in range(1, count + 1)]
    assert sorted(sizes) == sorted(region.area for region in regions(values, limit))
    return any(size >= area and near[labels == i].any() for i, size in enumerate(sizes, start=1))


@given(MAPS, st.data())
@settings(deadline=None, max_examples=examples(150))
def test_one_number_says_at_which_limits_a_defect_is_found(values: np.ndarray, data: st.DataObject) -> None:
    near = data.draw(arrays(bool, values.shape))
    area = data.draw(st.integers(1, values.size))
    most = hit_limit(values, near, area=area)
    if not near.any():
        assert math.isnan(most)
        return
    assert most in values
    assert most <= image_score(values, area=area), "found, but accepted"
    for limit in np.arange(-1, 7, 0.5):
        assert is_found(values, near, limit, area) == (limit < most)


def test_mask_grows_by_the_smoothing_relative_to_the_map() -> None:
    for side, reach in ((256, 4), (512, 8), (128, 2)):
        mask = np.zeros((side, side + 32), bool)
        mask[side // 2, 40] = True
        rows, columns = np.nonzero(dilate_mask(mask))
        far = np.hypot(rows - side // 2, columns - 40)
        assert far.max() == reach
        assert len(far) == sum(y * y + x * x <= reach**2 for y in range(-9, 10) for x in range(-9, 10))
    assert not dilate_mask(np.zeros((8, 8), bool)).any()


def test_a_part_caught_by_something_else_is_not_found() -> None:
    values = np.zeros((64, 64), np.float32)
    values[4:14, 4:14] = 9.0  # on the tray's edge
    values[40:50, 40:50] = 5.0  # the crack
    mask = np.zeros((64, 64), bool)
    mask[50:52, 44:46] = True
    assert hit_limit(values, dilate_mask(mask), area=50) == 5.0
    assert hit_limit(values, dilate_mask(np.roll(mask, 1, axis=0)), area=50) == 0.0, "the whole map is one region"
    assert hit_limit(values, dilate_mask(mask), area=101) == 0.0, "too small to count"


def test_maps_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="near"):
        hit_limit(np.zeros((4, 4), np.float32), np.ones((4, 5), bool), area=1)
