"""The trial that detectors are compared on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from inspect_core.tuning.synthetic_trial import is_better


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.integers(0, 99))
def test_better_is_what_a_one_sided_paired_t_test_says(qualities, seed):
    first = np.array(qualities)
    second = first + np.random.default_rng(seed).normal(-0.02, 0.05, len(first))
    assert is_better(first, second) == (stats.ttest_rel(first, second, alternative="greater").pvalue < 0.05)
    assert not is_better(first, first)
    assert not (is_better(first, second) and is_better(second, first))
