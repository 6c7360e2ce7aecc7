import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from inspect_core.scoring.anomaly_map import (
    Region,
    image_score,
    pixel_operator,
    regions,
    scale_region,
    scores_by_area,
    to_pixels,
)
from tests.examples import examples


def resized_pixel_by_pixel(grid, size):
    """Bilinear, pixel centres at half-integers, border cells repeated; written out in float64."""
    (h, w), (height, width) = grid.shape, size
    out = np.empty(size)
    for i in range(height):
        for j in range(width):
            y = min(max((i + 0.5) * h / height - 0.5, 0.0), h - 1.0)
            x = min(max((j + 0.5) * w / width - 0.5, 0.0), w - 1.0)
            y0, x0 = int(y), int(x)
            y1, x1 = min(y0 + 1, h - 1), min(x0 + 1, w - 1)
            top = grid[y0, x0] * (1 - (x - x0)) + grid[y0, x1] * (x - x0)
            bottom = grid[y1, x0] * (1 - (x - x0)) + grid[y1, x1] * (x - x0)
            out[i, j] = top * (1 - (y - y0)) + bottom * (y - y0)
    return out


def scores(*shape, seed=0):
    return np.random.default_rng(seed).gamma(2.0, 5.0, size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("cells", "size", "sigma"),
    [
        ((32, 32), (128, 128), 4.0),
        ((8, 12), (96, 64), 4.0),
        ((8, 8), (64, 64), 1.3),
        ((5, 7), (20, 9), 4.0),
        ((40, 30), (17, 23), 2.0),
        ((1, 1), (6, 10), 4.0),
        ((3, 4), (3, 4), 0.0),
    ],
)
def test_map_is_a_bilinear_resize_smoothed_as_scipy_does(cells, size, sigma):
    grid = scores(*cells)
    reference = resized_pixel_by_pixel(grid.astype(np.float64), size)
    if sigma:
        reference = ndimage.gaussian_filter(reference, sigma, mode="reflect", truncate=4.0)
    result = to_pixels(grid, size, sigma=sigma)
    assert result.dtype == np.float32
    assert result.shape == size
    assert np.abs(result - reference).max() <= 1e-5 * reference.max()


@pytest.mark.parametrize(("cells", "size"), [((16, 16), (64, 96)), ((64, 48), (32, 20))])
def test_resize_is_the_one_the_networks_use(cells, size):
    grid = scores(*cells)
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(grid)[None, None].double(), size=size, mode="bilinear", align_corners=False
    )[0, 0].numpy()
    np.testing.assert_allclose(to_pixels(grid, size, sigma=0), expected, rtol=2e-6)


def test_a_single_hot_cell_spreads_33_taps_wide():
    grid = np.zeros((101, 101), dtype=np.float32)
    grid[50, 50] = 1
    result = to_pixels(grid, (101, 101))
    assert np.flatnonzero(result[50]).tolist() == list(range(34, 67))
    taps = np.exp(-(np.arange(-16, 17) ** 2) / 32)
    np.testing.assert_allclose(result[50, 34:67] / result[50, 50], taps, rtol=1e-5)


@given(st.integers(1, 12), st.integers(0, 10_000))
@settings(deadline=None, max_examples=examples(30))
def test_a_map_does_not_depend_on_its_batch(count, seed):
    grids = scores(count, 32, 32, seed=seed)
    together = to_pixels(grids, (64, 96))
    for grid, result in zip(grids, together, strict=True):
        assert np.array_equal(to_pixels(grid, (64, 96)), result)
    assert np.array_equal(to_pixels(grids[::-1], (64, 96)), together[::-1])


def test_memory_layout_does_not_change_a_bit():
    grid = scores(64, 80)[::2, ::2]
    expected = to_pixels(grid.copy(), (256, 320))
    assert np.array_equal(to_pixels(grid, (256, 320)), expected)
    assert np.array_equal(to_pixels(np.asfortranarray(grid), (256, 320)), expected)


@given(st.integers(1, 40), st.integers(1, 60), st.sampled_from([0.0, 0.5, 4.0, 30.0]))
@settings(deadline=None, max_examples=examples(60))
def test_every_pixel_is_a_weighted_mean_of_cells(cells, pixels, sigma):
    operator = pixel_operator(cells, pixels, sigma=sigma)
    assert operator.shape == (pixels, cells)
    assert operator.dtype == np.float64
    assert (operator >= 0).all()
    np.testing.assert_allclose(operator.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(operator, operator[::-1, ::-1], atol=1e-12)


def test_map_of_a_batch_without_images_is_empty():
    assert to_pixels(np.empty((0, 4, 4)), (8, 8)).shape == (0, 8, 8)


@pytest.mark.parametrize(
    ("grid", "size", "sigma", "message"),
    [
        (np.zeros(4), (8, 8), 4.0, r"patch_scores has shape \(4,\)"),
        (np.zeros((2, 0)), (8, 8), 4.0, "patch_scores has shape"),
        (np.array([[0.0, np.nan]]), (8, 8), 4.0, r"not finite at \(0, 1\)"),
        (np.zeros((2, 2)), (8, 0), 4.0, "pixels is 0"),
        (np.zeros((2, 2)), (8.5, 8), 4.0, "pixels is 8.5"),
        (np.zeros((2, 2)), (8, 8), -1.0, "sigma is -1.0"),
        (np.zeros((2, 2)), (8, 8), np.nan, "sigma is nan"),
    ],
)
def test_bad_input_is_named(grid, size, sigma, message):
    with pytest.raises(ValueError, match=message):
        to_pixels(grid, size, sigma=sigma)


def test_image_score_is_the_maximum_of_the_map():
    maps = scores(3, 5, 7)
    assert image_score(maps).tolist() == [m.max() for m in maps]
    assert image_score(maps[1]) == maps[1].max()
    with pytest.raises(ValueError, match="anomaly_map has shape"):
        image_score(maps[0, 0])


@given(st.integers(0, 10_000), st.lists(st.integers(1, 35), min_size=1, max_size=4), st.booleans(), st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=examples(60))
def test_score_map_and_regions_say_the_same(seed, areas, ties, limit):
    rng = np.random.default_rng(seed)
    maps = (rng.integers(0, 4, (3, 5, 7)) / 4 if ties else rng.random((3, 5, 7))).astype(np.float32)
    by_area = scores_by_area(maps, areas)
    assert by_area.shape == (3, len(areas))
    assert by_area.dtype == np.float32
    for area, row in zip(areas, by_area.T, strict=True):
        assert row.tolist() == image_score(maps, area=area).tolist() == [np.sort(m, None)[-area] for m in maps]
        for pixel_map, score in zip(maps, row, strict=True):
            rejected = float(score) > limit
            assert rejected == (np.count_nonzero(pixel_map > np.float64(limit)) >= area)
            assert rejected == bool(regions(pixel_map, limit, area=area))


def test_rejected_part_has_all_regions_and_an_accepted_none():
    pixel_map = np.zeros((4, 4))
    pixel_map[0, :3] = pixel_map[3, 3] = 2
    assert regions(pixel_map, 1.0, area=5) == []
    assert [region.area for region in regions(pixel_map, 1.0, area=4)] == [3, 1]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_area_hides_a_map_that_is_not_finite(value):
    maps = scores(2, 4, 4)
    maps[1, 2, 2] = value
    for area in (1, 3):
        assert np.isfinite(image_score(maps, area=area)).tolist() == [True, False]


@pytest.mark.parametrize("area", [0, -1, 36, 1.5])
def test_an_area_outside_the_map_is_refused(area):
    with pytest.raises(ValueError, match=r"area is .*, outside 1\.\.35"):
        image_score(scores(5, 7), area=area)
    with pytest.raises(ValueError, match=r"area is .*, outside 1\.\.35"):
        regions(scores(5, 7), 100.0, area=area)


def test_regions_by_hand():
    pixel_map = np.zeros((6, 8), dtype=np.float32)
    pixel_map[1, 1], pixel_map[2, 2] = 5, 3  # touch at a corner: one region
    pixel_map[4:6, 5:8] = 4
    pixel_map[0, 7] = 5
    assert regions(pixel_map, 1.0) == [
        Region(area=2, peak=5.0, box=(1, 1, 3, 3)),
        Region(area=1, peak=5.0, box=(7, 0, 8, 1)),
        Region(area=6, peak=4.0, box=(5, 4, 8, 6)),
    ]


def test_a_pixel_at_the_limit_belongs_to_no_region():
    assert regions(np.full((3, 3), 2.0), 2.0) == []
    assert regions(np.full((3, 3), 2.0), np.nextafter(2.0, 0)) == [Region(area=9, peak=2.0, box=(0, 0, 3, 3))]


def test_the_limit_is_not_rounded_to_the_precision_of_the_map():
    pixel_map = np.full((2, 2), 0.1, dtype=np.float32)
    limit = 0.1  # below float32(0.1), and equal to it once rounded to float32
    assert limit < float(pixel_map[0, 0])
    assert len(regions(pixel_map, limit)) == 1


@given(st.integers(0, 10_000), st.floats(0.1, 0.9))
@settings(deadline=None, max_examples=examples(30))
def test_regions_account_for_every_pixel_above_the_limit(seed, limit):
    pixel_map = np.random.default_rng(seed).random((12, 15)).astype(np.float32)
    boxes = regions(pixel_map, limit)
    assert sum(region.area for region in boxes) == (pixel_map.astype(np.float64) > limit).sum()
    assert [region.peak for region in boxes] == sorted((region.peak for region in boxes), reverse=True)
    assert bool(boxes) == (float(image_score(pixel_map)) > limit)
    for region in boxes:
        x0, y0, x1, y1 = region.box
        window = pixel_map[y0:y1, x0:x1]
        assert region.area <= window.size
        assert region.peak in window


@pytest.mark.parametrize(
    ("pixel_map", "limit", "message"),
    [
        (np.zeros((2, 2, 2)), 0.0, "give one map"),
        (np.full((2, 2), np.inf), 0.0, "anomaly_map is not finite"),
        (np.zeros((2, 2)), np.nan, "limit is nan"),
    ],
)
def test_regions_refuse_bad_input(pixel_map, limit, message):
    with pytest.raises(ValueError, match=message):
        regions(pixel_map, limit)


def test_scaled_box_covers_the_region_and_no_more():
    region = Region(area=6, peak=4.0, box=(5, 4, 8, 6))
    assert scale_region(region, (6, 8), (6, 8)) == region
    assert scale_region(region, (6, 8), (12, 24)) == Region(area=36, peak=4.0, box=(15, 8, 24, 12))
    assert scale_region(region, (6, 8), (4, 5)) == Region(area=2, peak=4.0, box=(3, 2, 5, 4))
    assert scale_region(Region(area=1, peak=1.0, box=(0, 0, 1, 1)), (100, 100), (1, 1)).area == 1


def test_scale_region_refuses_a_box_of_another_map():
    with pytest.raises(ValueError, match="outside from_size"):
        scale_region(Region(area=1, peak=1.0, box=(0, 0, 9, 1)), (8, 8), (16, 16))
    with pytest.raises(ValueError, match="at least 1"):
        scale_region(Region(area=1, peak=1.0, box=(0, 0, 1, 1)), (8, 8), (0, 16))
