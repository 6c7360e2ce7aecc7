import numpy as np
import pytest

from inspect_core.scoring.input_checks import as_scores


@pytest.mark.parametrize(
    ("values", "dtype"), [([1, 2], np.float64), (np.float32([1, 2]), np.float32), ([True], np.float64)]
)
def test_scores_are_floats_and_float32_stays_so(values, dtype):
    scores = as_scores(values, name="scores")
    assert scores.dtype == dtype
    assert np.array_equal(scores, values)


def test_scores_name_the_first_that_is_missing():
    assert as_scores([np.inf], name="scores") == np.inf
    with pytest.raises(ValueError, match="scores is NaN at"):
        as_scores([1.0, np.nan], name="scores")
    with pytest.raises(ValueError, match=r"scores has dtype .*; give real numbers"):
        as_scores(["a"], name="scores")
