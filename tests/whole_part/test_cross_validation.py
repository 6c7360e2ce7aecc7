from functools import partial

import numpy as np
import pytest

from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.judge.metrics import expected_calibration_error
from inspect_core.whole_part.cross_validation import cross_validate, deal_folds


def test_groups_stay_whole_and_every_type_is_spread():
    rng = np.random.default_rng(1)
    groups, numbers = rng.integers(0, 12, 40), rng.integers(0, 3, 40)
    fold = deal_folds(numbers, groups, folds=5, seed=3)
    assert all(len(set(fold[groups == group])) == 1 for group in set(groups.tolist()))
    assert all(len(set(fold[numbers == number])) > 1 for number in range(3))
    assert np.array_equal(fold, deal_folds(numbers, groups, folds=5, seed=3))


def test_types_that_share_their_only_groups_cannot_be_dealt():
    with pytest.raises(ValueError, match="groups hold the same types together"):
        deal_folds(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), folds=2, seed=0)


def test_calibrations_are_learned_on_the_other_folds():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 15)
    points = (3.0 * y[:, None] + 0.5 * rng.normal(size=(45, 6))).astype(np.float32)
    classes = np.array(["dent", "scratch", "stain"], dtype=object)
    unseen = cross_validate(points, y, classes, np.arange(45), partial(fit_kdf, trees=40), seed=0)
    for proba in (unseen.isotonic(), unseen.sigmoid()):
        assert proba.sum(axis=1) == pytest.approx(1.0)
        assert expected_calibration_error(proba, unseen.y) < 0.2
    assert unseen.isotonic(unseen.parent[:4]).shape == (4, 3)
