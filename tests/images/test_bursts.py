"""The gap up to which a burst of numbers goes on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.images.grouping import burst_gap


def test_clear_bursts():
    assert burst_gap([1, 1, 100] * 20) in (5, 10, 20)
    assert burst_gap([3, 2, 4000, 3, 3500] * 10) in (50, 100, 200)


@pytest.mark.parametrize("gaps", [[], [1], [1, 100, 1, 100], [1] * 50, [1, 2] * 30, [5, 6, 7] * 20, [0] * 10])
def test_no_bursts(gaps):
    assert burst_gap(gaps) is None


@pytest.mark.parametrize(("count", "most"), [(10, 6), (30, 2), (100, 0)])
def test_independent_arrivals_are_hardly_ever_bursts(count, most):
    """Geometric gaps, as of numbers drawn at random. Without the information criterion, 10 to 22 of 50 are taken."""
    draws = (np.random.default_rng(seed).geometric(1 / 500, count) for seed in range(50))
    assert sum(burst_gap(gaps) is not None for gaps in draws) <= most


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
