import numpy as np
import pytest

from inspect_core.classify import net_training
from inspect_core.scoring.metrics import accuracy
from inspect_core.whole_part.defect_type_training import (
    FOREST,
    NETWORK,
    confidence_by_distance,
    fit,
    leave_types_out,
    suggested_limit,
)
from inspect_core.whole_part.defect_types import least_limit

pytestmark = pytest.mark.usefixtures("unhurried")

CENTRES = {"dent": 0.0, "scratch": 3.0, "stain": -3.0}


@pytest.fixture(autouse=True)
def few_epochs(monkeypatch):
    monkeypatch.setattr(net_training, "LARGEST_EPOCHS", 40)
    monkeypatch.setattr(net_training, "_LEARNING_RATE", 5e-3)


def examples(count: int, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    points = [centre + 0.5 * rng.normal(size=(count, 6)) for centre in CENTRES.values()]
    return np.concatenate(points).astype(np.float32), [name for name in CENTRES for _ in range(count)]


@pytest.mark.parametrize("parent", [FOREST, pytest.param(NETWORK, marks=pytest.mark.slow)])
def test_examples_are_judged_by_models_that_had_not_seen_them(parent):
    points, labels = examples(12)
    shuffled = np.random.default_rng(5).permutation(labels).tolist()
    named, guessed = (fit(points, words, parent=parent).unseen for words in (labels, shuffled))
    assert accuracy(named.kernel(), named.y) > 0.9
    assert accuracy(guessed.kernel(), guessed.y) < 0.6


@pytest.mark.slow
def test_only_judged_examples_are_counted_but_all_are_learned():
    points, labels = examples(8)
    is_counted = [i % 2 == 0 for i in range(len(labels))]
    learned = fit(points, labels, is_tested=is_counted)
    assert len(learned.unseen.y) == sum(is_counted)
    assert learned.defect_types.classifier.prior == pytest.approx([1 / 3] * 3)
    assert len(learned.defect_types.classifier.gaussians.mu) == len(
        fit(points, labels).defect_types.classifier.gaussians.mu
    )


def test_a_type_without_a_judged_example_is_named():
    points, labels = examples(4)
    with pytest.raises(ValueError, match="'stain'"):
        fit(points, labels, is_tested=[label != "stain" for label in labels])
    with pytest.raises(ValueError, match="judged has 2 entries"):
        fit(points, labels, is_tested=[True, False])


def test_suggested_limit_keeps_nine_right_names_of_ten():
    prior, y = np.array([0.5, 0.5]), np.zeros(11, int)
    sure = np.linspace(0.8, 0.9, 11)
    assert suggested_limit(np.c_[sure, 1 - sure], y, prior) == pytest.approx(0.81)
    unsure = np.full(11, 0.55)
    assert suggested_limit(np.c_[unsure, 1 - unsure], y, prior) == least_limit(prior) == 0.75


@pytest.mark.slow
def test_the_network_learns_with_its_output_layer():
    """On wide embeddings the hidden units alone hardly part the types."""
    assert fit(*examples(4), parent=NETWORK).defect_types.classifier.parent.with_output


def test_progress_rises_and_a_report_can_stop_it():
    class Stop(RuntimeError):
        pass

    fractions = []
    fit(*examples(4), report=lambda fraction, step: fractions.append(fraction))
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0

    def stop(fraction: float, step: str) -> None:
        raise Stop

    with pytest.raises(Stop):
        fit(*examples(4), report=stop)


def test_identical_examples_are_refused_with_a_cure():
    with pytest.raises(ValueError, match="all alike"):
        fit(np.ones((8, 5), np.float32), ["dent", "stain"] * 4)


def test_few_examples_warn_nobody_here(recwarn):
    fit(*examples(3))
    assert not recwarn.list


@pytest.mark.slow
def test_a_type_left_out_is_less_sure_than_a_known_one():
    points, labels = examples(10)
    points[20:] = 40.0 + points[20:]  # stain lies far from the others
    sure = leave_types_out(points, labels)
    assert sure.shape == (30,)
    assert sure[20:] == pytest.approx(0.5, abs=0.05)
    assert fit(points, labels).unseen.kernel().max(axis=1).mean() > 0.8


def test_two_types_leave_nothing_to_tell_a_third_from():
    points, labels = examples(4)
    assert leave_types_out(points[:8], labels[:8]).shape == (0,)


@pytest.mark.slow
def test_judged_rows_only_are_returned_with_a_type_left_out():
    points, labels = examples(6)
    is_counted = [i % 3 > 0 for i in range(len(labels))]
    assert leave_types_out(points, labels, is_tested=is_counted).shape == (sum(is_counted),)


def test_kernel_falls_to_the_prior_far_away_and_parents_do_not():
    points, labels = examples(20)
    classifier = fit(points, labels).defect_types.classifier
    kernel, parent = confidence_by_distance(classifier, points, (1.0, 30.0))
    assert kernel[0] == pytest.approx(classifier.predict_proba(points).max(axis=1).mean())
    assert kernel[1] == pytest.approx(classifier.prior.max(), abs=0.02)
    assert parent[1] > kernel[1] + 0.2
