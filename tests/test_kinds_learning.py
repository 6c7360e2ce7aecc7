from functools import partial

import numpy as np
import pytest

from inspect_core import kinds_learning
from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.judge.metrics import accuracy, expected_calibration_error
from inspect_core.kinds import least_limit
from inspect_core.kinds_learning import (
    FOREST,
    NETWORK,
    confidence_away,
    deal_folds,
    fit,
    leave_kinds_out,
    suggested_limit,
)

CENTRES = {"dent": 0.0, "scratch": 3.0, "stain": -3.0}


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setitem(kinds_learning.FITS, FOREST, partial(fit_kdf, trees=40))


def examples(count: int, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    points = [centre + 0.5 * rng.normal(size=(count, 6)) for centre in CENTRES.values()]
    return np.concatenate(points).astype(np.float32), [kind for kind in CENTRES for _ in range(count)]


@pytest.mark.parametrize("parent", [FOREST, NETWORK])
def test_examples_are_judged_by_models_that_had_not_seen_them(parent):
    points, labels = examples(12)
    shuffled = np.random.default_rng(5).permutation(labels).tolist()
    told, guessed = (fit(points, words, parent=parent).unseen for words in (labels, shuffled))
    assert accuracy(told.kernel(), told.y) > 0.9
    assert accuracy(guessed.kernel(), guessed.y) < 0.6


def test_groups_stay_whole_and_every_kind_is_spread():
    rng = np.random.default_rng(1)
    groups, numbers = rng.integers(0, 12, 40), rng.integers(0, 3, 40)
    fold = deal_folds(numbers, groups, folds=5, seed=3)
    assert all(len(set(fold[groups == group])) == 1 for group in set(groups.tolist()))
    assert all(len(set(fold[numbers == kind])) > 1 for kind in range(3))
    assert np.array_equal(fold, deal_folds(numbers, groups, folds=5, seed=3))


def test_kinds_that_share_their_only_groups_cannot_be_dealt():
    with pytest.raises(ValueError, match="groups hold the same kinds together"):
        deal_folds(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), folds=2, seed=0)


def test_only_judged_examples_are_counted_but_all_are_learned():
    points, labels = examples(8)
    judged = [i % 2 == 0 for i in range(len(labels))]
    learned = fit(points, labels, judged=judged)
    assert len(learned.unseen.y) == sum(judged)
    assert learned.kinds.classifier.prior == pytest.approx([1 / 3] * 3)
    assert len(learned.kinds.classifier.gaussians.mu) == len(fit(points, labels).kinds.classifier.gaussians.mu)


def test_a_kind_without_a_judged_example_is_named():
    points, labels = examples(4)
    with pytest.raises(ValueError, match="'stain'"):
        fit(points, labels, judged=[label != "stain" for label in labels])
    with pytest.raises(ValueError, match="judged has 2 entries"):
        fit(points, labels, judged=[True, False])


def test_the_suggested_limit_keeps_nine_right_names_of_ten_above_the_prior():
    prior, y = np.array([0.5, 0.5]), np.zeros(11, int)
    sure = np.linspace(0.8, 0.9, 11)
    assert suggested_limit(np.c_[sure, 1 - sure], y, prior) == pytest.approx(0.81)
    unsure = np.full(11, 0.55)
    assert suggested_limit(np.c_[unsure, 1 - unsure], y, prior) == least_limit(prior) == 0.75


def test_a_kind_left_out_is_less_sure_than_a_known_one():
    points, labels = examples(10)
    points[20:] = 40.0 + points[20:]  # stain lies far from the others
    sure = leave_kinds_out(points, labels)
    assert sure.shape == (30,)
    assert sure[20:] == pytest.approx(0.5, abs=0.05)
    assert fit(points, labels).unseen.kernel().max(axis=1).mean() > 0.8


def test_two_kinds_leave_nothing_to_tell_a_third_from():
    points, labels = examples(4)
    assert leave_kinds_out(points[:8], labels[:8]).shape == (0,)


def test_judged_rows_only_are_returned_with_a_kind_left_out():
    points, labels = examples(6)
    judged = [i % 3 > 0 for i in range(len(labels))]
    assert leave_kinds_out(points, labels, judged=judged).shape == (sum(judged),)


def test_far_from_the_examples_the_kernel_falls_to_the_prior_and_its_parent_does_not():
    points, labels = examples(20)
    classifier = fit(points, labels).kinds.classifier
    kernel, parent = confidence_away(classifier, points, (1.0, 30.0))
    assert kernel[0] == pytest.approx(classifier.predict_proba(points).max(axis=1).mean())
    assert kernel[1] == pytest.approx(classifier.prior.max(), abs=0.02)
    assert parent[1] > kernel[1] + 0.2


def test_the_network_learns_with_its_output_layer():
    """On wide embeddings the hidden units alone hardly part the kinds."""
    assert fit(*examples(4), parent=NETWORK).kinds.classifier.parent.with_output


def test_calibrations_are_learned_on_the_other_folds():
    unseen = fit(*examples(15)).unseen
    for proba in (unseen.isotonic(), unseen.sigmoid()):
        assert proba.sum(axis=1) == pytest.approx(1.0)
        assert expected_calibration_error(proba, unseen.y) < 0.2
    assert unseen.isotonic(unseen.parent[:4]).shape == (4, 3)


def test_progress_rises_and_a_report_can_stop_it():
    class Stop(RuntimeError):
        pass

    shares = []
    fit(*examples(4), report=lambda share, step: shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0

    def stop(share: float, step: str) -> None:
        raise Stop

    with pytest.raises(Stop):
        fit(*examples(4), report=stop)


def test_identical_examples_are_refused_with_a_cure():
    with pytest.raises(ValueError, match="all alike"):
        fit(np.ones((8, 5), np.float32), ["dent", "stain"] * 4)


def test_few_examples_warn_nobody_here(recwarn):
    fit(*examples(3))
    assert not recwarn.list
