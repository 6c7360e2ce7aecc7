import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from inspect_core.scoring.metrics import (
    accuracy,
    expected_calibration_error,
    hellinger,
    mean_max_confidence,
    ood_calibration_error,
    reliability_curve,
)
from tests.examples import examples


def posteriors(seed, n, classes):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(classes, 0.7), size=n), rng.integers(0, classes, size=n)


def ece_bin_by_bin(proba, y, bins):
    total = 0.0
    for b in range(bins):
        members = [i for i, row in enumerate(proba) if b / bins < max(row) <= (b + 1) / bins]
        if members:
            confidence = sum(max(proba[i]) for i in members) / len(members)
            right = sum(int(np.argmax(proba[i])) == y[i] for i in members) / len(members)
            total += len(members) / len(proba) * abs(right - confidence)
    return total


@given(st.integers(0, 10_000), st.integers(1, 80), st.integers(1, 5), st.sampled_from([1, 3, 20]))
@settings(deadline=None, max_examples=examples(80))
def test_ece_is_the_weighted_gap_of_its_bins(seed, n, classes, bins):
    proba, y = posteriors(seed, n, classes)
    expected = ece_bin_by_bin(proba, y, bins)
    assert expected_calibration_error(proba, y, bins=bins) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 10_000), st.integers(2, 60))
@settings(deadline=None, max_examples=examples(40))
def test_ece_does_not_depend_on_order_or_on_the_names_of_classes(seed, n):
    proba, y = posteriors(seed, n, 4)
    rows = np.random.default_rng(seed).permutation(n)
    columns = np.array([2, 0, 3, 1])
    ece = expected_calibration_error(proba, y)
    assert expected_calibration_error(proba[rows], y[rows]) == pytest.approx(ece, abs=1e-12)
    assert expected_calibration_error(proba[:, columns], np.argsort(columns)[y]) == pytest.approx(ece, abs=1e-12)


def test_a_bin_holds_its_upper_edge():
    proba = np.array([[0.85, 0.15], [0.9, 0.1], [0.15, 0.85]])
    curve = reliability_curve(proba, [0, 0, 0])
    assert np.flatnonzero(curve.count).tolist() == [16, 17]  # (0.80, 0.85] and (0.85, 0.90]
    assert curve.count.sum() == 3
    np.testing.assert_allclose(curve.accuracy[[16, 17]], [0.5, 1.0])
    np.testing.assert_allclose(curve.confidence[[16, 17]], [0.85, 0.9])
    assert np.isnan(curve.accuracy[0])


def test_twenty_bins_are_twenty():
    # Confidences .51 and .54 share the eleventh of 20 bins, and would not share one of 19.
    proba = [[0.51, 0.49], [0.54, 0.46]]
    assert expected_calibration_error(proba, [0, 1]) == pytest.approx(abs(0.5 - 0.525))


def test_reliability_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, size=400)
    right = rng.random(400) < p
    curve = reliability_curve(np.stack([p, 1 - p], axis=1), np.where(right, 0, 1))
    accuracies, confidences = calibration_curve(right, p, n_bins=20)
    filled = curve.count > 0
    np.testing.assert_allclose(curve.accuracy[filled], accuracies)
    np.testing.assert_allclose(curve.confidence[filled], confidences)


def test_calibrated_coin_has_a_smaller_error_than_a_sure_one():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, size=20_000)
    y = (rng.random(p.size) > p).astype(int)
    assert expected_calibration_error(np.stack([p, 1 - p], axis=1), y) < 0.015
    certain = np.tile([1.0, 0.0], (p.size, 1))
    assert expected_calibration_error(certain, y) == pytest.approx(y.mean())


def test_accuracy_takes_the_first_of_equals():
    assert accuracy([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]], [0, 1, 1]) == pytest.approx(2 / 3)
    assert accuracy([[0.5, 0.5]], [1]) == 0


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 5))
@settings(deadline=None, max_examples=examples(40))
def test_confidence_out_of_distribution(seed, n, classes):
    proba, _ = posteriors(seed, n, classes)
    prior = np.random.default_rng(seed + 1).dirichlet(np.ones(classes))
    largest = [max(row) for row in proba]
    assert mean_max_confidence(proba) == pytest.approx(sum(largest) / n)
    assert 1 / classes - 1e-12 <= mean_max_confidence(proba) <= 1
    expected = sum(abs(value - max(prior)) for value in largest) / n
    assert ood_calibration_error(proba, prior) == pytest.approx(expected)
    assert ood_calibration_error(np.tile(prior, (n, 1)), prior) == pytest.approx(0, abs=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 5))
@settings(deadline=None, max_examples=examples(40))
def test_hellinger_is_the_mean_distance(seed, n, classes):
    p, _ = posteriors(seed, n, classes)
    q, _ = posteriors(seed + 1, n, classes)
    # 1 - H^2 is the Bhattacharyya coefficient
    expected = np.mean(
        [
            math.sqrt(max(0.0, 1 - sum(math.sqrt(a * b) for a, b in zip(*rows, strict=True))))
            for rows in zip(p, q, strict=True)
        ]
    )
    assert hellinger(p, q) == pytest.approx(expected, abs=1e-7)
    assert hellinger(p, q) == hellinger(q, p)
    assert hellinger(p, p) == 0


def test_hellinger_by_hand():
    assert hellinger([1.0, 0.0], [0.0, 1.0]) == pytest.approx(1)
    assert hellinger([[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]) == pytest.approx(0.5)


def test_float32_posteriors_are_probabilities():
    logits = np.random.default_rng(0).standard_normal((50, 1000)).astype(np.float32)
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert proba.dtype == np.float32
    assert mean_max_confidence(proba) == pytest.approx(proba.max(axis=1).mean(), rel=1e-6)


@pytest.mark.parametrize(
    "measure",
    [
        lambda none: accuracy(none, np.empty(0, dtype=int)),
        lambda none: expected_calibration_error(none, np.empty(0, dtype=int)),
        lambda none: ood_calibration_error(none, [0.5, 0.5]),
        mean_max_confidence,
        lambda none: hellinger(none, none),
    ],
)
def test_no_sample_is_nan_with_a_warning(measure):
    with pytest.warns(UserWarning, match="no sample to measure on"):
        assert math.isnan(measure(np.empty((0, 2))))


@pytest.mark.parametrize(
    ("proba", "y", "bins", "message"),
    [
        ([[0.5, 0.6]], [0], 20, "proba is not a probability in row 0"),
        ([[1.0, 0.0], [1.5, -0.5]], [0, 0], 20, "proba is not a probability in row 1"),
        ([[np.nan, 1.0]], [0], 20, "proba is not a probability in row 0"),
        ([0.5, 0.5], [0], 20, "proba has shape"),
        ([[0.5, 0.5]], [0, 1], 20, "y has shape"),
        ([[0.5, 0.5]], [2], 20, "y holds"),
        ([[0.5, 0.5]], ["scratch"], 20, "y holds"),
        ([[0.5, 0.5]], [0], 0, "bins is 0"),
    ],
)
def test_bad_input_is_named(proba, y, bins, message):
    with pytest.raises(ValueError, match=message):
        expected_calibration_error(proba, y, bins=bins)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="prior has shape"):
        ood_calibration_error([[0.5, 0.5]], [1.0])
    with pytest.raises(ValueError, match="prior is not a probability"):
        ood_calibration_error([[0.5, 0.5]], [0.7, 0.7])
    with pytest.raises(ValueError, match="q has shape"):
        hellinger([[0.5, 0.5]], [0.5, 0.5])
