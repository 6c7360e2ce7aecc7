import numpy as np
import pytest

from inspect_core.whole_part.cross_validation import deal_folds


def test_groups_stay_whole_and_every_type_is_spread():
    rng = np.random.default_rng(1)
    groups, numbers = rng.integers(0, 12, 40), rng.integers(0, 3, 40)
    fold = deal_folds(numbers, groups, folds=5, seed=3)
    assert all(len(set(fold[groups == group])) == 1 for group in set(groups.tolist()))
    assert all(len(set(fold[numbers == number])) > 1 for number in range(3))
    assert np.array_equal(fold, deal_folds(numbers, groups, folds=5, seed=3))


def test_types_that_share_their_only_groups_cannot_be_dealt():
    with pytest.raises(ValueError, match="occurs in one group only"):
        deal_folds(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), folds=2, seed=0)
