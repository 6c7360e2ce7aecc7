import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.scoring.masks import label_regions, mask_at
from tests.examples import examples


def nearest_pixel_by_pixel(mask, size):
    (h, w), (height, width) = mask.shape, size
    return np.array(
        [[mask[int((i + 0.5) * h / height), int((j + 0.5) * w / width)] for j in range(width)] for i in range(height)]
    )


def touched_pixel_by_pixel(mask, size):
    """Target pixels whose rectangle overlaps a marked source pixel."""
    (h, w), (height, width) = mask.shape, size
    out = np.zeros(size, dtype=bool)
    for i in range(height):
        for j in range(width):
            rows = [y for y in range(h) if y * height < (i + 1) * h and (y + 1) * height > i * h]
            columns = [x for x in range(w) if x * width < (j + 1) * w and (x + 1) * width > j * w]
            out[i, j] = mask[np.ix_(rows, columns)].any()
    return out


def random_mask(seed, shape, fraction):
    return np.random.default_rng(seed).random(shape) < fraction


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12), st.floats(0.02, 0.5))
@settings(deadline=None, max_examples=examples(60))
def test_small_regions_survive_reduction(seed, height, width, fraction):
    mask = random_mask(seed, (9, 11), fraction)
    size = (height, width)
    expected = np.zeros(size, dtype=bool)
    labels, count = label_regions(mask)
    for number in range(1, count + 1):
        region = labels == number
        resized = nearest_pixel_by_pixel(region, size)
        expected |= resized if resized.any() else touched_pixel_by_pixel(region, size)
    assert np.array_equal(mask_at(mask, size), expected)


@given(st.integers(0, 10_000), st.integers(9, 30), st.integers(11, 30))
@settings(deadline=None, max_examples=examples(30))
def test_enlarging_is_nearest(seed, height, width):
    mask = random_mask(seed, (9, 11), 0.2)
    assert np.array_equal(mask_at(mask, (height, width)), nearest_pixel_by_pixel(mask, (height, width)))


def test_a_scratch_one_pixel_wide_survives_between_the_samples():
    mask = np.zeros((64, 64), dtype=np.uint8)
    mask[10:50, 33] = 255
    assert not nearest_pixel_by_pixel(mask, (16, 16)).any()
    reduced = mask_at(mask, (16, 16))
    assert reduced.dtype == bool
    assert np.argwhere(reduced).tolist() == [[row, 8] for row in range(2, 13)]


def test_same_size_and_empty_mask_come_back_as_they_are():
    mask = random_mask(1, (7, 5), 0.3)
    assert np.array_equal(mask_at(mask, (7, 5)), mask)
    assert not mask_at(np.zeros((7, 5)), (3, 3)).any()


def test_regions_touching_at_a_corner_are_one():
    labels, count = label_regions(np.eye(4, dtype=bool))
    assert count == 1
    assert np.array_equal(labels > 0, np.eye(4, dtype=bool))


@pytest.mark.parametrize(
    ("mask", "size", "message"),
    [
        (np.zeros((4, 4, 3)), (2, 2), r"mask has shape \(4, 4, 3\)"),
        (np.zeros((0, 4)), (2, 2), "mask has shape"),
        (np.zeros((4, 4)), (0, 2), "size is"),
    ],
)
def test_bad_input_is_named(mask, size, message):
    with pytest.raises(ValueError, match=message):
        mask_at(mask, size)
