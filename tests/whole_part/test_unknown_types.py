import numpy as np
import pytest

from inspect_core.whole_part.type_training import fit
from inspect_core.whole_part.unknown_types import confidence_away, leave_types_out


def clusters(count: int) -> tuple[np.ndarray, list[str]]:
    """`count` examples of each of three kinds that lie well apart."""
    defect_types = np.repeat(["dent", "scratch", "stain"], count)
    points = 0.5 * np.random.default_rng(0).normal(size=(len(defect_types), 6))
    points[defect_types == "scratch"] += 3
    points[defect_types == "stain"] -= 3
    return points.astype(np.float32), defect_types.tolist()


@pytest.mark.slow
def test_a_kind_left_out_is_less_sure_than_a_known_one():
    points, labels = clusters(10)
    points[20:] = 40.0 + points[20:]  # stain lies far from the others
    sure = leave_types_out(points, labels)
    assert sure.shape == (30,)
    assert sure[20:] == pytest.approx(0.5, abs=0.05)
    assert fit(points, labels).unseen.kernel().max(axis=1).mean() > 0.8


def test_two_kinds_leave_nothing_to_tell_a_third_from():
    points, labels = clusters(4)
    assert leave_types_out(points[:8], labels[:8]).shape == (0,)


@pytest.mark.slow
def test_judged_rows_only_are_returned_with_a_kind_left_out():
    points, labels = clusters(6)
    judged = [i % 3 > 0 for i in range(len(labels))]
    assert leave_types_out(points, labels, judged=judged).shape == (sum(judged),)


def test_far_from_the_examples_the_kernel_falls_to_the_prior_and_its_parent_does_not():
    points, labels = clusters(20)
    classifier = fit(points, labels).defect_types.classifier
    kernel, parent = confidence_away(classifier, points, (1.0, 30.0))
    assert kernel[0] == pytest.approx(classifier.predict_proba(points).max(axis=1).mean())
    assert kernel[1] == pytest.approx(classifier.prior.max(), abs=0.02)
    assert parent[1] > kernel[1] + 0.2
