"""Counts of pixels by score: added up from any pieces, they give the figures of all pixels together."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.scoring.metrics import aupro, auroc
from inspect_core.scoring.overlap_counts import OverlapCounts
from tests.examples import examples


def photos(seed: int, count: int, levels: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Maps (count, 24, 32), float32, of `levels` whole numbers about 0 or of a continuum, and masks with regions."""
    rng = np.random.default_rng(seed)
    masks = np.zeros((count, 24, 32), bool)
    for mask in masks[::2]:
        for _ in range(rng.integers(1, 4)):
            top, left = rng.integers(0, 20), rng.integers(0, 28)
            mask[top : top + rng.integers(1, 5), left : left + rng.integers(1, 5)] = True
    maps = rng.normal(0, 2, masks.shape) + masks
    return (maps if levels is None else np.clip(np.round(maps), -levels, levels)).astype(np.float32), masks


def counted(maps: np.ndarray, masks: np.ndarray, at: int) -> OverlapCounts:
    """Counted in two pieces."""
    pieces = [(maps[:at], masks[:at]), (maps[at:], masks[at:])]
    return OverlapCounts.merged([OverlapCounts.merged(map(OverlapCounts.from_map, *piece)) for piece in pieces])


@settings(max_examples=examples(25))
@given(seed=st.integers(0, 2**32), levels=st.integers(0, 9), at=st.integers(0, 4))
def test_scores_of_few_values_are_measured_exactly(seed, levels, at):
    maps, masks = photos(seed, 4, levels)
    result = counted(maps, masks, at)
    assert result.pixel_auroc == pytest.approx(auroc(maps.ravel(), masks.ravel()), abs=1e-12)
    assert result.aupro() == pytest.approx(aupro(maps, masks), abs=1e-12)
    assert result.aupro(max_fpr=1.0) == pytest.approx(aupro(maps, masks, max_fpr=1.0), abs=1e-12)


@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_classes_are_narrow_enough_for_scores_of_any_size(offset):
    maps, masks = photos(1, 8)
    result = counted(maps + np.float32(offset), masks, 3)
    assert result.pixel_auroc == pytest.approx(auroc(maps.ravel(), masks.ravel()), abs=2e-4)
    assert result.aupro() == pytest.approx(aupro(maps, masks), abs=2e-4)


def test_classes_ascend_with_the_scores_below_and_above_zero():
    values = np.array([-3e38, -7.0, -1.0, -1e-30, -0.0, 0.0, 1e-30, 1.0, 7.0, 3e38], np.float32)
    classes = [int(OverlapCounts.from_map(value.reshape(1, 1), np.zeros((1, 1))).classes[0]) for value in values]
    assert classes == sorted(classes)
    assert len(set(classes)) == len(classes) - 1


def test_without_a_region_or_a_normal_pixel_there_is_no_figure():
    flat = np.ones((2, 2), np.float32)
    for counts in (
        OverlapCounts.none(),
        OverlapCounts.from_map(flat, flat == 0),
        OverlapCounts.from_map(flat, flat == 1),
    ):
        assert math.isnan(counts.aupro())
        assert math.isnan(counts.pixel_auroc)


def test_a_mask_of_another_size_is_refused():
    with pytest.raises(ValueError, match="mask has shape"):
        OverlapCounts.from_map(np.ones((2, 3), np.float32), np.ones((3, 2), bool))
