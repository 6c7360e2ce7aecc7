import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from inspect_core.images.manifests.coco import decoded

masks = arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=40))


def runs_of(mask: np.ndarray) -> list[int]:
    """Pixel by pixel, column by column, as COCO describes it."""
    runs, now = [0], False
    for marked in mask.T.ravel().tolist():
        if marked != now:
            runs.append(0)
            now = marked
        runs[-1] += 1
    return runs


def compressed(runs: list[int]) -> str:
    """Signed groups of five bits, least significant first, as cocoapi writes them."""
    text = ""
    for place, run in enumerate(runs):
        value = run - (runs[place - 2] if place > 2 else 0)
        more = True
        while more:
            group, value = value & 31, value >> 5
            more = value != (-1 if group & 16 else 0)
            text += chr(48 + group + (32 if more else 0))
    return text


@given(masks)
def test_runs_are_read_plain_and_compressed(mask):
    runs = runs_of(mask)
    assert (decoded(runs, mask.shape) == mask).all()
    assert (decoded(compressed(runs), mask.shape) == mask).all()


def test_an_example_by_hand():
    """Two columns of three: the lower two of the first and the first of the second."""
    assert decoded([1, 3, 2], (3, 2)).tolist() == [[False, True], [True, False], [True, False]]


def test_long_runs_take_several_signs():
    mask = np.zeros((300, 400), bool)
    mask[100:200, 50:350] = True
    assert (decoded(compressed(runs_of(mask)), mask.shape) == mask).all()


@pytest.mark.parametrize(
    "counts",
    [[1, 3], [7], [-1, 7], [1.0, 5], [True, 5], [10**30], "", "z" * 9, "P" * 40, "é", "\x00", "o" * 100_000],
)
def test_runs_that_do_not_fit_are_refused(counts):
    with pytest.raises(ValueError, match="run"):
        decoded(counts, (3, 2))


@given(st.text(max_size=30))
def test_no_text_does_worse_than_be_refused(text):
    with contextlib.suppress(ValueError):
        assert decoded(text, (4, 5)).shape == (4, 5)
