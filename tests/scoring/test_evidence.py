"""Parts and all that decides about them, taken whole by everything that counts."""

import numpy as np
import pytest

from inspect_core.scoring.counts import RepeatabilityCounts, UnscoredCounts, VerdictCounts
from inspect_core.scoring.evidence import Evidence
from inspect_core.verdict import Limits


def counts(good, defects, limits: Limits, **more) -> VerdictCounts:
    return Evidence.from_scores(good, defects, **more).counts(limits)


def test_counts_with_one_limit_and_with_two():
    good, defects = [1, 2, 3, 4, 5], [2, 4, 6, 8]
    assert counts(good, defects, Limits(4, 4)) == VerdictCounts(1, 5, 2, 4)
    assert counts(good, defects, Limits(2, 4)) == VerdictCounts(1, 5, 1, 4, 2, 1, two_limits=True)
    assert counts(good, [], Limits(4, 4)) == VerdictCounts(1, 5, 0, 0)


def test_counts_compare_as_a_verdict_does():
    score = np.array([0.1], dtype=np.float32)
    assert counts(score, score, Limits(0.1, 0.1)) == VerdictCounts(1, 1, 0, 1)


def test_defect_counts_where_detected_and_unscored_remain():
    defects, hit_limits = [2, 4, 6, 8, 9], [1, np.nan, 4, 7, 5]
    unscored = {"good_unscored": UnscoredCounts(1, 2), "defects_unscored": UnscoredCounts(3)}
    of_all = counts([1, 5], defects, Limits(4, 5), hit_limits=hit_limits, **unscored)
    assert of_all == VerdictCounts(0, 5, 2, 8, 1, 0, True, 4, 2, 1, UnscoredCounts(1, 2), UnscoredCounts(3))
    assert of_all.defects_caught == 3
    assert counts([], defects, Limits(3, 3), hit_limits=hit_limits).caught_elsewhere == 0
    assert counts([], defects, Limits(3, 3)).with_mask == 0


def test_what_decides_beside_the_score_is_counted():
    parts = Evidence.from_scores([1, 1, 1], [1, 1, 9], stopped=[1, 0, 0, 1, 0, 0], never_accepted=[0, 1, 0, 0, 1, 0])
    limits = Limits(4, 5)
    assert parts.ranks(limits).tolist() == [2, 1, 0, 2, 1, 2]
    assert parts.missed(limits).sum() == 0
    assert parts.counts(limits) == VerdictCounts(1, 3, 0, 3, 1, 1, two_limits=True)
    assert [parts.verdict(i, limits) for i in range(6)] == ["reject", "review", "accept", "reject", "review", "reject"]
    assert parts.verdict(1, limits, score=9.0) == "reject"
    assert parts.select(np.array([2, 5])).counts(limits) == VerdictCounts(0, 1, 0, 1, two_limits=True)


def test_parts_of_which_nothing_is_known_count_as_neither():
    parts = Evidence(scores=np.array([9.0, 1.0]), good=np.array([False, True]), defect=np.zeros(2, bool))
    assert parts.counts(Limits(4, 4)) == VerdictCounts(0, 1, 0, 0)
    assert parts.with_good([9.0]).counts(Limits(4, 4)) == VerdictCounts(1, 2, 0, 0)


def test_changes_when_photographed_again_are_of_whole_verdicts():
    repeat_scores = [9, 1, 9, 1, np.nan]
    parts = Evidence.from_scores([1, 1, 1], [9, 9], repeat_scores=repeat_scores, never_accepted=[0, 0, 1, 0, 0])
    assert parts.repeatability(Limits(4, 4)) == RepeatabilityCounts(changed=3, stopped=1, accepted=1, total=4)
    assert parts.repeatability(Limits(10, 10)) == RepeatabilityCounts(0, 0, 0, 4)
    assert Evidence.from_scores([1], [9]).repeatability(Limits(4, 4)) is None


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_score_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="scores is"):
        Evidence.from_scores([1.0, value], [2.0])
