"""The forest of arrays against scikit-learn's own: the same leaves and the same posterior."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from inspect_core.classify import forest
from inspect_core.classify.forest import Forest, grow_forest


def both(x, y, *, trees=20, seed=3):
    ours = grow_forest(x, y, classes=int(y.max()) + 1, trees=trees, seed=seed)
    theirs = RandomForestClassifier(n_estimators=trees, random_state=seed).fit(x.astype(np.float32), y)
    return ours, theirs


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**31), st.integers(1, 6), st.integers(1, 4))
def test_leaves_and_posterior_are_those_of_scikit_learn(seed, d, classes):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((80, d)), rng.integers(classes, size=80)
    y[:classes] = np.arange(classes)
    ours, theirs = both(x, y)
    new = np.concatenate([x, rng.standard_normal((200, d)) * 3])
    np.testing.assert_array_equal(ours.codes(new), theirs.apply(new))
    np.testing.assert_allclose(ours.proba(new), theirs.predict_proba(new), rtol=0, atol=1e-12)


def test_values_at_every_threshold_fall_as_in_scikit_learn():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((60, 1)), rng.integers(2, size=60)
    ours, theirs = both(x, y)
    thresholds = ours.threshold[ours.left >= 0]
    new = np.concatenate([thresholds, np.nextafter(thresholds, 9), np.nextafter(thresholds, -9)])
    new = np.concatenate(
        [new, thresholds.astype(np.float32), np.nextafter(thresholds.astype(np.float32), np.float32(9))]
    )
    np.testing.assert_array_equal(ours.codes(new[:, None]), theirs.apply(new[:, None]))


def test_a_feature_past_float32_goes_right_at_every_split():
    x = np.arange(20.0)[:, None]
    ours, _ = both(x, (x[:, 0] > 9).astype(int))
    np.testing.assert_array_equal(ours.codes(np.array([[1e300]])), ours.codes(np.array([[1e30]])))


def test_blocks_of_samples_change_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((50, 3)), rng.integers(3, size=50)
    ours, _ = both(x, y)
    whole = ours.codes(x)
    monkeypatch.setattr(forest, "_VISITS_AT_ONCE", 7)
    np.testing.assert_array_equal(ours.codes(x), whole)


def test_one_class_is_a_forest_of_roots():
    x = np.arange(5.0)[:, None]
    ours = grow_forest(x, np.zeros(5, dtype=int), classes=1, trees=4, seed=0)
    np.testing.assert_array_equal(ours.codes(x), np.zeros((5, 4)))
    np.testing.assert_array_equal(ours.proba(x), np.ones((5, 1)))


def test_a_class_without_a_sample_has_no_share():
    x = np.arange(6.0)[:, None]
    ours = grow_forest(x, np.array([0, 0, 0, 2, 2, 2]), classes=3, trees=8, seed=0)
    np.testing.assert_array_equal(ours.proba(x)[:, 1], 0)
    np.testing.assert_allclose(ours.proba(x).sum(axis=1), 1)


def test_arrays_are_enough():
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((50, 3)), rng.integers(3, size=50)
    ours, _ = both(x, y)
    restored = Forest.from_arrays(ours.arrays() | {"other": np.zeros(1)}, {})
    np.testing.assert_array_equal(restored.proba(x), ours.proba(x))
    assert all(array.dtype != object for array in ours.arrays().values())


@pytest.mark.parametrize("seed", [0, 5])
def test_the_seed_decides(seed):
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((50, 3)), rng.integers(3, size=50)
    first, second, other = (grow_forest(x, y, classes=3, trees=5, seed=s) for s in (seed, seed, seed + 1))
    np.testing.assert_array_equal(first.threshold, second.threshold)
    assert not np.array_equal(first.threshold, other.threshold)
