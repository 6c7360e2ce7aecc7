import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics
from sklearn.metrics import roc_auc_score

from inspect_core.scoring.metrics import auroc, fpr95_of_foreign, fpr_at_tpr, roc_curve
from tests.examples import examples

# Whole numbers: ties are frequent, and increasing functions of them are exact.
tied_scores = st.lists(st.integers(-6, 6), min_size=1, max_size=25)


def auroc_pair_by_pair(good, defects):
    wins = [1.0 if d > g else 0.5 if d == g else 0.0 for g in good for d in defects]
    return sum(wins) / len(wins)


def joined(good, defects):
    return np.array(good + defects), np.array([False] * len(good) + [True] * len(defects))


@given(tied_scores, tied_scores)
@settings(deadline=None, max_examples=examples(50))
def test_auroc_is_the_share_of_pairs_in_order(good, defects):
    scores, labels = joined(good, defects)
    assert auroc(scores, labels) == pytest.approx(auroc_pair_by_pair(good, defects), abs=1e-12)
    assert auroc(scores, labels) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


@given(tied_scores, tied_scores)
@settings(deadline=None, max_examples=examples(50))
def test_auroc_is_invariant_under_increasing_functions(good, defects):
    scores, labels = joined(good, defects)
    assert auroc(np.exp(scores / 3.0), labels) == auroc(scores, labels)
    assert auroc(scores.astype(np.float32), labels.astype(int)) == auroc(scores, labels)
    assert auroc(-scores, labels) == pytest.approx(1 - auroc(scores, labels), abs=1e-12)
    assert auroc(scores, ~labels) == pytest.approx(1 - auroc(scores, labels), abs=1e-12)
    shuffled = np.random.default_rng(0).permutation(len(scores))
    assert auroc(scores[shuffled], labels[shuffled]) == auroc(scores, labels)


def test_auroc_of_maps_and_masks_is_the_pixel_auroc():
    rng = np.random.default_rng(3)
    maps, masks = rng.random((4, 9, 8)).astype(np.float32), rng.random((4, 9, 8)) < 0.1
    before = maps.copy()
    assert auroc(maps, masks) == pytest.approx(roc_auc_score(masks.ravel(), maps.ravel()), abs=1e-12)
    assert np.array_equal(maps, before)


def test_auroc_ranks_infinity():
    assert auroc([0, 1, np.inf, -np.inf], [False, True, True, False]) == 1


@given(tied_scores, tied_scores, st.sampled_from([0.05, 0.5, 0.8, 0.95, 1.0]))
@settings(deadline=None, max_examples=examples(50))
def test_fpr_at_tpr_is_the_lowest_that_any_threshold_reaches(good, defects, tpr):
    scores, labels = joined(good, defects)
    rates = [np.mean([g >= t for g in good]) for t in set(scores) if np.mean([d >= t for d in defects]) >= tpr - 1e-12]
    assert fpr_at_tpr(scores, labels, tpr=tpr) == pytest.approx(min(rates))
    assert fpr_at_tpr(2.0**scores, labels, tpr=tpr) == fpr_at_tpr(scores, labels, tpr=tpr)


def test_fpr_at_tpr_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    labels = rng.random(500) < 0.3
    scores = rng.standard_normal(500) + labels
    false_rates, true_rates, _ = sklearn_metrics.roc_curve(labels, scores, drop_intermediate=False)
    assert fpr_at_tpr(scores, labels) == pytest.approx(false_rates[np.argmax(true_rates >= 0.95)])


def test_fpr_at_tpr_by_hand():
    scores = [1, 2, 3, 4, 5, 3, 6, 7, 8]
    labels = [False] * 5 + [True] * 4
    assert fpr_at_tpr(scores, labels) == pytest.approx(3 / 5)
    assert fpr_at_tpr(scores, labels, tpr=0.75) == 0


@given(tied_scores, tied_scores)
@settings(deadline=None, max_examples=examples(50))
def test_fpr95_is_the_papers_with_the_sign_turned(good, foreign):
    normality, foreign_normality = sorted(-g for g in good), [-f for f in foreign]
    threshold = normality[math.floor(0.05 * len(normality))]
    expected = np.mean([f >= threshold for f in foreign_normality])
    assert fpr95_of_foreign(good, foreign) == pytest.approx(expected)


def test_fpr95_by_hand():
    good = list(range(20))  # floor(0.05 * 20) = 1: one good image lies beyond the threshold 18
    assert fpr95_of_foreign(good, [17, 18, 18.5, 30]) == 0.5
    assert fpr95_of_foreign(good[:19], [17, 18, 18.5, 30]) == 0.5
    assert fpr95_of_foreign(good, [100.0]) == 0


@pytest.mark.parametrize("labels", [[True, True], [False, False]])
def test_one_class_is_nan_with_a_warning(labels):
    with pytest.warns(UserWarning, match="needs good and defective samples") as caught:
        assert math.isnan(auroc([1, 2], labels))
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="needs good and defective samples"):
        assert math.isnan(fpr_at_tpr([1, 2], labels))
    with pytest.warns(UserWarning, match="there are 0 and 2"):
        assert math.isnan(fpr95_of_foreign([], [1, 2]))


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([1, np.nan], [True, False], r"scores is NaN at \(1,\)"),
        ([1, 2], [True], "labels has shape"),
        ([1, 2], [1, 2], r"labels is .*2.* at \(1,\)"),
        ([1, 2], ["good", "defect"], "labels is"),
        (["a", "b"], [True, False], "scores has dtype"),
    ],
)
def test_bad_input_is_named(scores, labels, message):
    with pytest.raises(ValueError, match=message):
        auroc(scores, labels)


@pytest.mark.parametrize("tpr", [0, -1, 1.5, np.nan])
def test_tpr_outside_its_range_is_refused(tpr):
    with pytest.raises(ValueError, match="tpr is"):
        fpr_at_tpr([1, 2], [True, False], tpr=tpr)


@given(good=tied_scores, defects=tied_scores)
def test_roc_curve_has_every_score_and_the_auroc_area(good, defects):
    scores, labels = joined(good, defects)
    fpr, tpr = roc_curve(scores, labels)
    expected = sklearn_metrics.roc_curve(labels, scores, drop_intermediate=False)
    np.testing.assert_allclose((fpr, tpr), expected[:2], atol=1e-12)
    assert np.trapezoid(tpr, fpr) == pytest.approx(auroc(scores, labels))


def test_a_roc_curve_needs_both_classes():
    with pytest.raises(ValueError, match="2 good and 0 defective"):
        roc_curve([1.0, 2.0], [False, False])
