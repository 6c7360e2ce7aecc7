import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from sklearn.metrics import roc_auc_score

from inspect_core.scoring.metrics import aupro, pro_curve
from tests.examples import examples


def area_under(fprs, pros, max_fpr):
    """Trapezoids of the curve from (0, 0), cut by interpolation at max_fpr, divided by it."""
    area, x0, y0 = 0.0, 0.0, 0.0
    for x1, y1 in zip(fprs, pros, strict=True):
        if x1 > max_fpr:
            cut = y0 + (y1 - y0) * (max_fpr - x0) / (x1 - x0)
            return (area + (max_fpr - x0) * (y0 + cut) / 2) / max_fpr
        area += (x1 - x0) * (y0 + y1) / 2
        x0, y0 = x1, y1
    return area / max_fpr


def regions_of(mask):
    labels, count = ndimage.label(mask, np.ones((3, 3)))
    return [labels == number for number in range(1, count + 1)]


def aupro_threshold_by_threshold(maps, masks, max_fpr):
    fprs, pros = [], []
    for t in np.unique(maps)[::-1]:
        fprs.append((maps[~masks] >= t).mean())
        overlaps = [(m[region] >= t).mean() for m, mask in zip(maps, masks, strict=True) for region in regions_of(mask)]
        pros.append(np.mean(overlaps))
    return area_under(fprs, pros, max_fpr)


def case(seed, *, levels, images=3, shape=(6, 7), fraction=0.15):
    """Maps of a few whole-number levels (many ties) that lean towards their masks."""
    rng = np.random.default_rng(seed)
    masks = rng.random((images, *shape)) < fraction
    masks[0, :2, :2], masks[1:, 5, 6], masks[-1] = True, False, False
    maps = rng.integers(0, levels, size=masks.shape) + masks * rng.integers(0, 3, size=masks.shape)
    return maps.astype(np.float32), masks


@given(st.integers(0, 10_000), st.sampled_from([2, 5, 1000]), st.sampled_from([0.01, 0.05, 0.3, 1.0]))
@settings(deadline=None, max_examples=examples(60))
def test_exact_area_is_the_one_over_all_thresholds(seed, levels, max_fpr):
    maps, masks = case(seed, levels=levels)
    expected = aupro_threshold_by_threshold(maps, masks, max_fpr)
    assert aupro(maps, masks, max_fpr=max_fpr) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=examples(30))
def test_only_the_order_of_scores_matters(seed):
    maps, masks = case(seed, levels=6)
    assert aupro(2.0**maps, masks) == aupro(maps, masks)
    assert aupro(maps.astype(np.float64) ** 3, masks) == aupro(maps, masks)
    assert aupro(maps[::-1], masks[::-1]) == pytest.approx(aupro(maps, masks), abs=1e-12)
    assert aupro(maps[:, ::-1, ::-1], masks[:, ::-1, ::-1]) == pytest.approx(aupro(maps, masks), abs=1e-12)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=examples(30))
def test_one_region_and_the_whole_axis_is_the_pixel_auroc(seed):
    maps, masks = case(seed, levels=5)
    masks[:] = False
    masks[1, 2:5, 1:6] = True
    expected = roc_auc_score(masks.ravel(), maps.ravel())
    assert aupro(maps, masks, max_fpr=1.0) == pytest.approx(expected, abs=1e-12)


def test_by_hand():
    masks = np.zeros((1, 2, 6), dtype=bool)
    masks[0, 0, 0] = True  # a region of one pixel, found first of all
    masks[0, :, 3] = True  # a region of two, its second half tied with two of nine normal pixels
    maps = np.zeros((1, 2, 6))
    maps[0, 0, 0], maps[0, 0, 3], maps[0, 1, 3] = 9, 8, 5
    maps[0, :, 5] = 5
    # (0, 1/2), (0, 3/4), (2/9, 1), then flat: up to 0.3
    expected = (2 / 9 * (0.75 + 1) / 2 + (0.3 - 2 / 9) * 1) / 0.3
    assert aupro(maps, masks) == pytest.approx(expected, abs=1e-12)
    # the cut falls inside the tied segment, where the curve is at 0.75 + 0.25 * 0.1 / (2/9)
    cut = 0.75 + 0.25 * 0.1 / (2 / 9)
    assert aupro(maps, masks, max_fpr=0.1) == pytest.approx((0.75 + cut) / 2, abs=1e-12)


def test_perfect_useless_and_inverted_maps():
    masks = np.zeros((2, 8, 8), dtype=bool)
    masks[0, 1:4, 1:4] = True
    assert aupro(masks.astype(float), masks) == 1
    assert aupro(-masks.astype(float), masks) == 0
    assert aupro(np.zeros(masks.shape), masks) == pytest.approx(0.15)
    assert aupro(masks.astype(float), masks.astype(np.uint8) * 255) == 1


def test_a_small_region_counts_as_much_as_a_large_one():
    masks = np.zeros((1, 20, 20), dtype=bool)
    masks[0, :10, :10] = True
    masks[0, 15, 15] = True
    only_the_large = masks.astype(float)
    only_the_large[0, 15, 15] = -1
    assert aupro(only_the_large, masks) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(("masks", "message"), [(False, "there are 0 regions and 9"), (True, "1 regions and 0 normal")])
def test_undefined_is_nan_with_a_warning(masks, message):
    with pytest.warns(UserWarning, match=message) as caught:
        assert math.isnan(aupro(np.zeros((1, 3, 3)), np.full((1, 3, 3), masks)))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("maps", "masks", "max_fpr", "message"),
    [
        (np.zeros((3, 3)), np.zeros((3, 3)), 0.3, "maps has shape"),
        (np.zeros((1, 3, 3)), np.zeros((1, 3, 4)), 0.3, r"masks has shape \(1, 3, 4\)"),
        (np.full((1, 3, 3), np.nan), np.zeros((1, 3, 3)), 0.3, "maps is NaN at"),
        (np.zeros((1, 3, 3)), np.zeros((1, 3, 3)), 0.0, "max_fpr is 0.0"),
        (np.zeros((1, 3, 3)), np.zeros((1, 3, 3)), 1.1, "max_fpr is 1.1"),
    ],
)
def test_bad_input_is_named(maps, masks, max_fpr, message):
    with pytest.raises(ValueError, match=message):
        aupro(maps, masks, max_fpr=max_fpr)


def test_pro_curve_rises_and_has_about_the_aupro_area():
    rng = np.random.default_rng(0)
    masks = np.zeros((4, 32, 32), bool)
    masks[0, 3:9, 3:9] = masks[1, 20:28, 5:9] = masks[1, 2:5, 20:30] = True
    maps = rng.normal(size=masks.shape) + 2 * masks
    fpr, pro = pro_curve(maps, masks)
    assert (fpr[0], pro[0]) == (0, 0)
    assert fpr[-1] == pytest.approx(0.3, abs=1e-3)
    assert (np.diff(fpr) >= 0).all()
    assert (np.diff(pro) >= 0).all()
    assert np.trapezoid(pro, fpr) / 0.3 == pytest.approx(aupro(maps, masks), abs=0.01)
    with pytest.raises(ValueError, match="0 and 4096"):
        pro_curve(maps, np.zeros_like(masks))
