import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from inspect_core.images.photo_quality import FEWEST_COMPARED as FEWEST
from inspect_core.images.photo_quality import STANDS_OUT, distances

values = arrays(float, st.integers(FEWEST, 40), elements=st.floats(-1e6, 1e6))


def test_by_hand():
    """Median 5, median absolute deviation 2.5 to either side of it."""
    found = distances(np.arange(11.0), least=0.1)
    assert found[5] == 0
    assert found[10] == pytest.approx(5 / (1.4826 * 3))


@given(values)
def test_never_more_than_half_stand_out(numbers):
    assert (distances(numbers, least=1e-3) > STANDS_OUT).sum() <= len(numbers) / 2


def test_a_difference_that_does_not_matter_does_not_stand_out():
    numbers = np.full(20, 3.0)
    numbers[7] = 3.3
    assert distances(numbers, least=0.1)[7] < STANDS_OUT
    assert distances(numbers, least=0.01)[7] > STANDS_OUT


def test_one_among_few_is_not_accused():
    assert not distances(np.array([0.0] * (FEWEST - 2) + [100.0]), least=0.1).any()
    assert len(distances(np.array([]), least=0.1)) == 0
