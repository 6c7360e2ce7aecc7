"""patch_grid.join against resizing written as float64 matrices, one for each axis."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.features.patch_grid import join_taps
from tests.examples import examples


def linear_rows(cells: int, count: int) -> np.ndarray:
    """(wanted, cells): half-pixel centres, the ends held."""
    rows = np.zeros((count, cells))
    for i in range(count):
        place = min(max((i + 0.5) * cells / count - 0.5, 0.0), cells - 1.0)
        low = int(place)
        rows[i, low] += 1 - (place - low)
        rows[i, min(low + 1, cells - 1)] += place - low
    return rows


def mean_rows(cells: int, count: int) -> np.ndarray:
    rows = np.zeros((count, cells))
    for i in range(count):
        inner = slice(i * cells // count, -(-(i + 1) * cells // count))
        rows[i, inner] = 1 / (inner.stop - inner.start)
    return rows


def axis_rows(cells: int, count: int, nearest: bool) -> np.ndarray:
    if cells > count:
        return mean_rows(cells, count)
    if nearest:
        return np.eye(cells)[[int((i + 0.5) * cells / count) for i in range(count)]]
    return linear_rows(cells, count)


def slow_join(maps, grid, projection=None, nearest=False) -> np.ndarray:
    """All channels on the grid first, in float64, the projection last."""
    resized = []
    for values in maps:
        down, across = (axis_rows(values.shape[axis], grid[axis - 1], nearest) for axis in (1, 2))
        resized.append(np.einsum("yh,nhwd,xw->nyxd", down, values.astype(np.float64), across))
    joined = np.concatenate(resized, axis=3)
    return joined if projection is None else joined @ projection


def draw(rng, *shapes) -> list[np.ndarray]:
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def test_a_map_of_the_grids_size_comes_back_as_it_is():
    (values,) = draw(np.random.default_rng(0), (2, 4, 6, 3))
    assert np.array_equal(join_taps([values], grid=(4, 6)).numpy(), values)


def test_channels_stand_in_the_order_of_the_taps():
    first, two = np.full((1, 2, 2, 1), 1, np.float32), np.full((1, 1, 1, 2), 2, np.float32)
    assert join_taps([first, two], grid=(2, 2))[0, 1, 0].tolist() == [1, 2, 2]
    assert join_taps([two, first], grid=(2, 2))[0, 1, 0].tolist() == [2, 2, 1]


def test_a_row_of_two_cells_and_three_cells_on_two_by_hand():
    values = np.array([0, 4], np.float32).reshape(1, 1, 2, 1)
    assert join_taps([values], grid=(1, 4)).flatten().tolist() == [0, 1, 3, 4]
    assert join_taps([values], grid=(1, 4), nearest=True).flatten().tolist() == [0, 0, 4, 4]
    assert join_taps([values], grid=(1, 1)).flatten().tolist() == [2]
    values = np.array([0, 6, 12], np.float32).reshape(1, 3, 1, 1)
    assert join_taps([values], grid=(2, 1)).flatten().tolist() == [3, 9], "both take in the middle one"


@settings(deadline=None, max_examples=examples(40))
@given(
    cells=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=3),
    grid=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    k=st.one_of(st.none(), st.integers(1, 5)),
    nearest=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_projecting_first_equals_resizing_first(cells, grid, k, nearest, seed):
    rng = np.random.default_rng(seed)
    maps = draw(rng, *((2, h, w, d + 1) for d, (h, w) in enumerate(cells)))
    width = sum(values.shape[3] for values in maps)
    projection = None if k is None else rng.standard_normal((width, k))
    got = join_taps(maps, grid=grid, projection=projection, nearest=nearest)
    assert got.dtype == torch.float32
    assert got.shape == (2, *grid, width if k is None else k)
    np.testing.assert_allclose(got.numpy(), slow_join(maps, grid, projection, nearest), atol=2e-5)


def test_pool_averages_neighbours_and_counts_zeros_outside():
    values = np.stack([np.arange(9), np.full(9, 3.5)], axis=1).astype(np.float32).reshape(1, 3, 3, 2)
    pooled, constant = join_taps([values], grid=(3, 3), pool=3)[0].unbind(-1)
    assert constant[1, 1] == pytest.approx(3.5)
    assert constant[0, 1] == pytest.approx(3.5 * 6 / 9)
    assert pooled[1, 1] == 4
    assert pooled[0, 0] == pytest.approx((0 + 1 + 3 + 4) / 9)
    assert pooled[0, 1] == pytest.approx((0 + 1 + 2 + 3 + 4 + 5) / 9)
    assert pooled[2, 2] == pytest.approx((4 + 5 + 7 + 8) / 9)


@pytest.mark.parametrize("pool", [1, 3])
def test_an_image_does_not_depend_on_its_neighbours_to_the_bit(pool):
    rng = np.random.default_rng(1)
    maps = draw(rng, (5, 16, 16, 13), (5, 8, 8, 7), (5, 5, 5, 31))
    projection = rng.standard_normal((51, 9))
    together = join_taps(maps, grid=(8, 8), projection=projection, pool=pool)
    for i in range(5):
        single = join_taps([values[i : i + 1].copy() for values in maps], grid=(8, 8), projection=projection, pool=pool)
        assert torch.equal(single[0], together[i])
    backwards = join_taps([values[::-1].copy() for values in maps], grid=(8, 8), projection=projection, pool=pool)
    assert torch.equal(backwards.flip(0), together)


def test_tensors_and_arrays_give_the_same_and_carry_no_gradient():
    maps = draw(np.random.default_rng(2), (2, 4, 4, 3), (2, 2, 2, 5))
    tensors = [torch.from_numpy(values).requires_grad_() for values in maps]
    got = join_taps(tensors, grid=(4, 4))
    assert torch.equal(got, join_taps(maps, grid=(4, 4)))
    assert not got.requires_grad
    assert got.is_contiguous()


def test_no_images_give_no_rows():
    maps = [np.zeros((0, 4, 4, 3), np.float32)]
    assert join_taps(maps, grid=(2, 2)).shape == (0, 2, 2, 3)
    assert join_taps(maps, grid=(2, 2), projection=np.zeros((3, 2))).shape == (0, 2, 2, 2)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tap_maps": []}, "tap_maps is empty"),
        ({"tap_maps": [np.zeros((4, 4, 3))]}, r"tap_maps\[0\] has shape \(4, 4, 3\)"),
        ({"tap_maps": [np.zeros((1, 2, 2, 3)), np.zeros((2, 2, 2, 3))]}, r"tap_maps holds \[1, 2\] images"),
        ({"grid": (0, 4)}, r"grid is \(0, 4\)"),
        ({"pool": 2}, "pool is 2"),
        ({"pool": 0}, "pool is 0"),
        ({"projection": np.zeros((4, 2))}, r"projection has shape \(4, 2\), the taps have 3 = 3"),
    ],
)
def test_what_does_not_fit_is_named(changed, message):
    arguments = {"tap_maps": [np.zeros((1, 4, 4, 3))], "grid": (4, 4)} | changed
    with pytest.raises(ValueError, match=message):
        join_taps(arguments.pop("tap_maps"), **arguments)
