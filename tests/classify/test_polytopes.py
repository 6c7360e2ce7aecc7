"""Codes and kernels against enumeration: pairs of leaves for a forest, paths for a net."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.classify import polytopes
from inspect_core.classify.polytopes import forest_kernel, network_kernel, number_polytopes
from tests.examples import examples

seeds = st.integers(0, 2**32 - 1)


def test_forest_kernel_is_the_share_of_trees_by_hand():
    a = np.array([[0, 5, 9], [1, 5, 9]])
    b = np.array([[0, 5, 8], [2, 2, 2], [1, 5, 9]])
    np.testing.assert_array_equal(forest_kernel(a, b), [[2 / 3, 0, 2 / 3], [1 / 3, 0, 1]])


@pytest.mark.parametrize("trees", [1, 255, 256, 600])
def test_forest_kernel_counts_past_a_byte(trees):
    leaves = np.zeros((3, trees), dtype=np.int32)
    np.testing.assert_array_equal(forest_kernel(leaves, leaves), np.ones((3, 3)))


def test_forest_kernel_separates_leaves_with_equal_low_16_bits():
    a, b = np.array([[70_000, -1]]), np.array([[70_000 - (1 << 16), (1 << 16) - 1]])
    assert forest_kernel(a, b) == 0


@settings(deadline=None, max_examples=examples(30))
@given(seeds, st.integers(1, 40), st.integers(1, 40), st.integers(1, 9))
def test_forest_kernel_is_the_mean_of_equal_leaves(seed, n_a, n_b, trees):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(4, size=(n_a, trees)), rng.integers(4, size=(n_b, trees))
    slow = [[sum(p == q for p, q in zip(row_a, row_b, strict=True)) / trees for row_b in b] for row_a in a]
    np.testing.assert_allclose(forest_kernel(a, b), slow, rtol=1e-15)


def test_forest_kernel_does_not_depend_on_its_tiles(monkeypatch):
    rng = np.random.default_rng(0)
    leaves = rng.integers(5, size=(37, 300))
    whole = forest_kernel(leaves, leaves)
    monkeypatch.setattr(polytopes, "_TILE", 40)
    np.testing.assert_array_equal(forest_kernel(leaves, leaves), whole)


@settings(deadline=None, max_examples=20)
@given(seeds, st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_network_kernel_is_the_share_of_paths(seed, widths):
    rng = np.random.default_rng(seed)
    a = [rng.integers(2, size=(3, width)) for width in widths]
    b = [rng.integers(2, size=(4, width)) for width in widths]
    kernel = network_kernel(a, b)
    paths = list(itertools.product(*(range(width) for width in widths)))
    for i, j in itertools.product(range(3), range(4)):
        agree = sum(all(a[layer][i, unit] == b[layer][j, unit] for layer, unit in enumerate(path)) for path in paths)
        assert kernel[i, j] == agree / len(paths)


def test_network_kernel_takes_booleans():
    codes = np.array([[True, False, True], [True, True, True]])
    np.testing.assert_array_equal(network_kernel([codes], [codes]), [[1, 2 / 3], [2 / 3, 1]])


def test_equal_shares_of_paths_tie_exactly():
    # 2 x 6 and 3 x 4 of 7 x 7 paths: multiplying the rounded shares would tell them apart.
    on = [np.ones((1, 7)), np.ones((1, 7))]
    agree = [np.arange(7) < np.array([[2], [3]]), np.arange(7) < np.array([[6], [4]])]
    first, second = network_kernel(on, agree)[0]
    assert first == second == 12 / 49


@settings(deadline=None, max_examples=20)
@given(seeds)
def test_kernels_are_symmetric_and_one_on_the_diagonal(seed):
    rng = np.random.default_rng(seed)
    layers = [rng.integers(2, size=(12, 5)), rng.integers(2, size=(12, 9))]
    for kernel in (network_kernel(layers, layers), forest_kernel(layers[0], layers[0])):
        np.testing.assert_array_equal(kernel, kernel.T)
        np.testing.assert_array_equal(np.diag(kernel), 1)
        assert kernel.min() >= 0


def test_polytopes_are_numbered_by_first_appearance():
    codes = np.array([[3, 1], [0, 1], [3, 1], [0, 2], [0, 1]])
    first, member = number_polytopes(codes)
    np.testing.assert_array_equal(first, [0, 1, 3])
    np.testing.assert_array_equal(member, [0, 1, 0, 2, 1])


@pytest.mark.parametrize("units", [1, 8, 9, 17])
def test_one_differing_unit_makes_another_polytope(units):
    codes = np.zeros((units + 1, units), dtype=bool)
    codes[np.arange(1, units + 1), np.arange(units)] = True
    assert len(number_polytopes(codes)[0]) == units + 1


@pytest.mark.parametrize(
    ("kernel", "a", "b", "message"),
    [
        (forest_kernel, np.zeros((2, 3)), np.zeros((2, 4)), r"\(2, 3\).*\(2, 4\)"),
        (forest_kernel, np.zeros(3), np.zeros((2, 3)), r"give \(n, trees\)"),
        (network_kernel, [np.zeros((2, 3))], [np.zeros((2, 3))] * 2, "from one net"),
        (network_kernel, [np.zeros((2, 3))], [np.zeros((2, 4))], "from one net"),
        (network_kernel, [], [], "one .* array a layer"),
    ],
)
def test_codes_that_do_not_match_are_refused(kernel, a, b, message):
    with pytest.raises(ValueError, match=message):
        kernel(a, b)
