"""The gap up to which a burst of numbers goes on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.images.bursts import burst_gap


def test_clear_bursts():
    assert burst_gap([1, 1, 100] * 20) in (5, 10, 20)
    assert burst_gap([3, 2, 4000, 3, 3500] * 10) in (50, 100, 200)


@pytest.mark.parametrize("gaps", [[], [1], [1, 100, 1, 100], [1] * 50, [1, 2] * 30, [5, 6, 7] * 20, [0] * 10])
def test_no_bursts(gaps):
    assert burst_gap(gaps) is None


@given(st.integers(0, 10**6), st.integers(10, 400), st.floats(1, 10**5))
@settings(deadline=None, max_examples=40, derandomize=True)
def test_independent_arrivals_are_no_bursts(seed, count, mean):
    """Geometric gaps, as of numbers drawn at random. The criterion may err at times, so the examples are fixed."""
    gaps = np.random.default_rng(seed).geometric(1 / mean, count)
    gap = burst_gap(gaps)
    assert gap is None or (gaps > gap).mean() > 0.5


@given(st.integers(0, 10**6), st.floats(2, 50), st.floats(1.8, 4))
@settings(deadline=None, max_examples=40, derandomize=True)
def test_the_gap_lies_between_the_heaps(seed, within, decades):
    rng = np.random.default_rng(seed)
    inner, outer = rng.lognormal(np.log(within), 0.3, 120), rng.lognormal(np.log(within * 10**decades), 0.3, 80)
    gaps = rng.permutation(np.ceil(np.concatenate([inner, outer])).astype(int))
    gap = burst_gap(gaps)
    assert np.quantile(inner, 0.97) <= gap <= np.quantile(outer, 0.03)


def test_order_does_not_matter():
    gaps = np.array([2, 3, 2, 500, 4, 800, 3, 2, 900, 2] * 5)
    assert burst_gap(gaps) == burst_gap(np.sort(gaps)) == burst_gap(list(gaps[::-1]))
