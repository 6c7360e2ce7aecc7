import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.scoring.cost_limit import cost_limit, limit_for_cost, limits_with_defects
from inspect_core.scoring.counts import UnscoredCounts, VerdictCounts
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.limits import limits_from_good
from inspect_core.verdict import Limits
from tests.examples import examples


def cost(good, defects, limit, escape_cost):
    counts = Evidence.from_scores(good, defects).counts(Limits(limit, limit))
    return counts.good_rejected + escape_cost * counts.defects_missed


@pytest.mark.parametrize(
    ("good", "defects", "escape_cost", "limit"),
    [
        ([1, 2, 3], [6, 7], 1, 4.5),
        ([1, 2, 5, 8], [4, 9], 3, 3.0),
        ([1, 2, 5, 8], [4, 9], 0.5, 8.5),
        ([5, 5], [1, 1], 0.5, 5.0),
    ],
)
def test_limit_by_hand(good, defects, escape_cost, limit):
    assert limit_for_cost(good, defects, escape_cost=escape_cost) == limit


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.floats(0.1, 30),
)
@settings(deadline=None, max_examples=examples(100))
def test_no_limit_is_cheaper(good, defects, escape_cost):
    limit = limit_for_cost(good, defects, escape_cost=escape_cost)
    others = [cost(good, defects, other, escape_cost) for other in np.arange(-1, 10, 0.5)]
    assert cost(good, defects, limit, escape_cost) <= min(others) * (1 + 1e-9)


def test_a_dear_escape_and_many_defects_lower_the_limit():
    rng = np.random.default_rng(0)
    good, defects = rng.normal(0, 1, 300), rng.normal(1.5, 1, 300)
    by_cost = [limit_for_cost(good, defects, escape_cost=c) for c in (0.2, 1, 20)]
    by_share = [limit_for_cost(good[:n], defects, escape_cost=1) for n in (300, 100, 30)]
    assert by_cost == sorted(by_cost, reverse=True)
    assert by_share == sorted(by_share, reverse=True)
    assert by_cost[0] > by_cost[2] + 1


def test_neighbouring_numbers_are_still_told_apart():
    low = np.nextafter(1.0, 2.0)
    assert limit_for_cost([low], [np.nextafter(low, 2.0)], escape_cost=5) == low


def test_counts_are_of_parts_that_had_no_share_in_their_limit():
    """Scores that tell nothing: a limit set on all of them still finds a lucky cut, and the counts do not follow it."""
    rng = np.random.default_rng(1)
    flattered, honest = [], []
    for seed in range(40):
        good, defects = rng.random(15), rng.random(15)
        result = cost_limit(Evidence.from_scores(good, defects), escape_cost=1, seed=seed)
        flattered.append(cost(good, defects, result.limit, 1))
        honest.append(result.counts.good_rejected + result.counts.defects_missed)
        assert (result.counts.good_total, result.counts.defects_total) == (15, 15)
        assert result.limit == limit_for_cost(good, defects, escape_cost=1)
    assert np.mean(flattered) < 12.5
    assert np.mean(honest) > 14


def test_parts_without_a_score_are_counted_and_move_no_limit():
    good, defects = [1.0, 1.1, 1.2], [2.0, 2.1, 2.2]
    without = {"good_unscored": UnscoredCounts(1, 2), "defects_unscored": UnscoredCounts(2)}
    result = cost_limit(Evidence.from_scores(good, defects, **without), escape_cost=1)
    assert result.limit == cost_limit(Evidence.from_scores(good, defects), escape_cost=1).limit
    assert result.counts == VerdictCounts(0, 6, 0, 5, **without)


def test_a_group_is_judged_as_a_whole():
    # Two lots of other levels: the limit of one misses every defect, or rejects every good part, of the other.
    lots = ["a", "a", "b", "b"]
    good, defects = [1.0, 1.1, 5.0, 5.1], [2.0, 2.1, 6.0, 6.1]
    result = cost_limit(Evidence.from_scores(good, defects, groups=lots * 2), escape_cost=1, folds=2)
    assert (result.counts.good_rejected, result.counts.defects_missed) == (2, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"escape_cost": 0}, "escape_cost is 0"),
        ({"good": []}, "are in one group"),
        ({"folds": 1}, "folds is 1"),
        ({"groups": ["a", "a", "b", "c"]}, "are in one group"),
    ],
)
def test_bad_input_is_named(change, message):
    known = {"good": [1.0, 2.0], "defects": [3.0, 4.0], "groups": (), "escape_cost": 2.0} | change
    parts = Evidence.from_scores(known.pop("good"), known.pop("defects"), groups=known.pop("groups"))
    with pytest.raises(ValueError, match=message):
        cost_limit(parts, **known)


def test_only_parts_whose_score_decides_move_the_limit():
    """A defect that is partly out of view is caught at any limit, and one of another product is stopped at any."""
    good, defects = [1.0, 1.1, 1.2], [2.0, 2.1, 2.2]
    flags = {"never_accepted": [0, 0, 0, 0, 0, 0, 1, 0], "stopped": [0, 0, 0, 0, 0, 0, 0, 1]}
    more = Evidence.from_scores(good, [*defects, 0.1, 0.2], **flags)
    result = cost_limit(more, escape_cost=10)
    assert result.limit == cost_limit(Evidence.from_scores(good, defects), escape_cost=10).limit
    assert (result.counts.defects_missed, result.counts.defects_total) == (0, 5)


def test_known_defects_lower_the_review_limit_within_bounds():
    good = np.random.default_rng(0).gumbel(10, 1, size=60)
    lowest, highest, reject = (*limits_from_good(good, review=0.1)[:1], *limits_from_good(good))
    between = np.linspace(lowest, highest, 5)[1:-1]
    assert limits_with_defects(good, [highest + 5] * 12) == (highest, reject)
    assert limits_with_defects(good, [lowest - 5] * 12) == (highest, reject)
    review, same = limits_with_defects(good, [*between, *([highest + 5] * 9)])
    assert same == reject
    assert lowest <= review < between[0]


@given(st.lists(st.floats(-20, 60), min_size=1, max_size=30))
@settings(deadline=None, max_examples=examples(40))
def test_known_defects_never_raise_a_limit_and_stay_in_its_range(defects):
    good = np.random.default_rng(1).gumbel(10, 2, size=40)
    (lowest, _), (highest, reject) = limits_from_good(good, review=0.1), limits_from_good(good)
    result = limits_with_defects(good, defects)
    assert lowest <= result[0] <= highest
    assert result[1] == reject
    assert sum(score <= result[0] for score in defects) <= sum(score <= highest for score in defects)
