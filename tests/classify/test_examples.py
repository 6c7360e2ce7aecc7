"""What labelled examples may be, and which of them are held out."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.classify.examples import LabelledSample, as_classes, as_points, hold_out
from tests.examples import examples


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros(3), r"x has shape \(3,\); give \(n, d\)"),
        (np.zeros((2, 0)), r"x has shape \(2, 0\)"),
        (np.array([[0.0], [np.inf]]), "x is not finite in row 1"),
    ],
)
def test_points_are_checked(x, message):
    with pytest.raises(ValueError, match=message):
        as_points(x)


@pytest.mark.parametrize(
    ("y", "count", "message"),
    [
        ([0, 1, 1], 2, "y has 3 labels for 2 examples"),
        ([], 0, "y is empty"),
        (["a", 1], 2, "labels of types int, str"),
        ([["a"], ["b"]], 2, "labels of types list"),
        ([None, 1.0], 2, "labels of types NoneType, float"),
        ([float("nan"), 1.0], 2, "NaN, which is not a label"),
        (np.zeros((2, 1)), 2, r"y has shape \(2, 1\)"),
    ],
)
def test_labels_are_checked(y, count, message):
    with pytest.raises(ValueError, match=message):
        as_classes(y, count=count)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["b", "a", "b"], ["a", "b"]),
        (np.array([7, 3, 7]), [3, 7]),
        ([("b", 1), ("a", 2), ("b", 1)], [("a", 2), ("b", 1)]),
        ((True, False, True), [False, True]),
        ([1, 0.5, 1], [0.5, 1]),
        (["\0", "", "\0"], ["", "\0"]),
    ],
)
def test_labels_keep_their_type_and_are_sorted(y, classes):
    with pytest.warns(UserWarning, match="fewer than 5 examples"):
        labels, numbers = as_classes(y, count=3)
    assert labels.tolist() == classes
    assert [type(label) for label in labels.tolist()] == [type(label) for label in classes]
    np.testing.assert_array_equal(numbers, [1, 0, 1])


def test_enough_examples_of_two_kinds_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_classes(["a", "b"] * 5, count=10)


@settings(deadline=None, max_examples=examples(50))
@given(st.integers(0, 2**31), st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_a_fifth_is_held_out_and_every_class_stays(seed, sizes):
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    if max(sizes) == 1:
        with pytest.raises(ValueError, match="label at least two of one class,"):
            hold_out(numbers, np.random.default_rng(seed))
        return
    held_out = hold_out(numbers, np.random.default_rng(seed))
    assert set(numbers[~held_out]) == set(range(len(sizes)))
    assert 1 <= held_out.sum() == min(max(1, round(0.2 * len(numbers))), len(numbers) - len(sizes))


def test_every_example_is_held_out_by_some_seed():
    numbers = np.arange(20) % 2
    assert np.any([hold_out(numbers, np.random.default_rng(seed)) for seed in range(60)], axis=0).all()


@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
def test_scale_is_the_largest_norm_even_where_squares_overflow(factor):
    x = factor * np.array([[3.0, 4.0], [1.0, 0.0]] * 5)
    sample = LabelledSample.from_labelled(x, [0, 1] * 5, None, seed=0)
    assert sample.scale == pytest.approx(5 * factor, rel=1e-14)
    np.testing.assert_allclose(np.linalg.norm(sample.all[0], axis=1).max(), 1)


def test_the_held_out_part_is_measured_in_the_same_unit():
    x, y = np.array([[4.0], [1.0]] * 5), ["a", "b"] * 5
    points, numbers = LabelledSample.from_labelled(x, y, ([[8.0]], ["b"]), seed=0).split()[1]
    np.testing.assert_array_equal(points, [[2.0]])
    np.testing.assert_array_equal(numbers, [1])
