import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from inspect_core.scoring import limits
from inspect_core.scoring.limits import (
    DEFAULT_OVERKILL,
    clopper_pearson,
    is_surprising,
    limit_for_overkill,
    limits_from_good,
    overkill_at,
    rescale_limit,
    upper_bound,
    with_contradicting,
)
from tests.examples import examples

POPULATIONS = [stats.gumbel_r(20, 3), stats.norm(20, 3), stats.lognorm(0.5), stats.expon(), stats.t(4)]


@pytest.mark.parametrize(
    ("scores", "rate", "limit"),
    [
        ([1, 2, 3, 4], 0.25, 3.5),
        ([4, 2, 1, 3], 0.5, 2.5),
        ([1, 2, 4], 0.0, 5.0),
        ([1, 2, 4], 0.3, 5.0),
        (range(1, 101), DEFAULT_OVERKILL, 99.5),
        (range(1, 100), DEFAULT_OVERKILL, 99.5),
        ([1, 2, 5, 5, 5, 9], 0.5, 7.0),
        ([1, 2, 5, 5], 0.25, 6.5),
    ],
)
def test_limit_by_hand(scores, rate, limit):
    assert limit_for_overkill(list(scores), rate=rate) == limit


def test_the_share_meant_is_the_share_rejected():
    scores = np.arange(100.0)
    assert 0.29 * 100 < 29
    assert (scores > limit_for_overkill(scores, rate=0.29)).sum() == 29


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=60, unique=True), st.floats(0, 0.99))
@settings(deadline=None, max_examples=examples(50))
def test_exactly_the_allowed_number_is_rejected_without_ties(scores, rate):
    if len(scores) == 1:
        with pytest.warns(UserWarning, match="the limit is set to that score."):
            limit = limit_for_overkill(scores, rate=rate)
    else:
        limit = limit_for_overkill(scores, rate=rate)
    allowed = min(int(np.floor(rate * len(scores) + 1e-9)), len(scores) - 1)
    assert (np.array(scores) > limit).sum() == allowed
    assert np.isfinite(limit)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=30), st.floats(0, 0.99))
@settings(deadline=None, max_examples=examples(50))
@pytest.mark.filterwarnings("ignore:all")
def test_ties_never_reject_more_than_allowed(scores, rate):
    limit = limit_for_overkill(scores, rate=rate)
    assert (np.array(scores) > limit).sum() <= np.floor(rate * len(scores) + 1e-9)
    assert limit_for_overkill(scores[::-1], rate=rate) == limit


def test_neighbouring_numbers_are_still_told_apart():
    low = np.nextafter(1.0, 2.0)
    high = np.nextafter(low, 2.0)
    assert limit_for_overkill([low, high], rate=0.5) == low


def test_equal_scores_warn_and_accept_themselves():
    with pytest.warns(UserWarning, match="all 3 good scores equal 7"):
        assert limit_for_overkill([7, 7, 7], rate=0.5) == 7


@pytest.mark.parametrize(
    ("scores", "rate", "message"),
    [
        ([], 0.1, "good_scores is empty"),
        ([1, np.nan], 0.1, r"good_scores is NaN at \(1,\)"),
        ([1, np.inf], 0.1, "good_scores is inf"),
        ([1, 2], 1.0, "rate is 1.0"),
        ([1, 2], -0.1, "rate is -0.1"),
        ([1, 2], np.nan, "rate is nan"),
    ],
)
def test_bad_input_is_named(scores, rate, message):
    with pytest.raises(ValueError, match=message):
        limit_for_overkill(scores, rate=rate)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 20), (3, 120), (60, 120), (120, 120), (7, 5000)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_interval_is_scipys_exact_one(k, n, confidence):
    expected = stats.binomtest(k, n).proportion_ci(confidence, method="exact")
    np.testing.assert_allclose(clopper_pearson(k, n, confidence=confidence), expected, rtol=1e-9, atol=1e-12)
    one_sided = stats.binomtest(k, n, alternative="less").proportion_ci(confidence, method="exact")
    np.testing.assert_allclose(upper_bound(k, n, confidence=confidence), one_sided.high, rtol=1e-9)


def test_bound_by_hand():
    assert round(upper_bound(3, 120), 3) == 0.063
    assert upper_bound(0, 20) == pytest.approx(1 - 0.05 ** (1 / 20))
    assert upper_bound(0, 1) == pytest.approx(0.95)
    assert upper_bound(0, 0) == 1
    assert clopper_pearson(0, 0) == (0, 1)


@given(st.integers(1, 400), st.data())
@settings(deadline=None, max_examples=examples(60))
def test_bound_is_the_share_at_which_so_few_are_unlikely(n, data):
    k = data.draw(st.integers(0, n - 1))
    assert stats.binom.cdf(k, n, upper_bound(k, n)) == pytest.approx(0.05, rel=1e-6)
    assert upper_bound(k + 1, n) > upper_bound(k, n) > k / n
    low, high = clopper_pearson(k, n)
    assert low <= k / n < upper_bound(k, n) < high


@pytest.mark.parametrize(
    ("k", "n", "confidence", "message"),
    [
        (-1, 3, 0.95, "k is -1 of n = 3"),
        (4, 3, 0.95, "k is 4"),
        (0.5, 3, 0.95, "k is 0.5"),
        (1, 3, 1.0, "confidence is 1.0"),
        (1, 3, 0.0, "confidence is 0.0"),
    ],
)
def test_bad_counts_are_named(k, n, confidence, message):
    with pytest.raises(ValueError, match=message):
        clopper_pearson(k, n, confidence=confidence)
    with pytest.raises(ValueError, match=message):
        upper_bound(k, n, confidence=confidence)


def test_limits_of_many_scores_follow_the_gumbel_tail():
    scores = np.random.default_rng(0).gamma(20.0, 1.0, 100_000)
    low, middle, high = np.quantile(scores, (0.25, 0.5, 0.85))
    scale = (high - low) / (stats.gumbel_r.ppf(0.85) - stats.gumbel_r.ppf(0.25))
    tail = stats.gumbel_r(middle - scale * stats.gumbel_r.ppf(0.5), scale)
    counted = np.quantile(scores, (0.95, 0.8))
    review, reject = limits_from_good(scores)
    assert (review, reject) == pytest.approx((min(tail.ppf(0.95), counted[0]), tail.ppf(0.99)), rel=0.005)
    review, reject = limits_from_good(scores, review=0.2, reject=0.1)
    assert (review, reject) == pytest.approx((min(tail.ppf(0.8), counted[1]), tail.ppf(0.9)), rel=0.005)


@pytest.mark.parametrize("count", [30, 60, 200])
def test_good_parts_of_two_kinds_are_stopped_as_often_as_stated(count):
    """Two fifths of them score much higher: the tail lies above all of both kinds, and nearly no defect above that."""
    rng, above, expected = np.random.default_rng(4), [], []
    coming = np.where(rng.uniform(size=20_000) < 0.4, 8, 0) + rng.gumbel(size=20_000)
    for _ in range(100):
        scores = np.where(rng.uniform(size=count) < 0.4, 8, 0) + rng.gumbel(size=count)
        review, _ = limits_from_good(scores)
        above.append(100 * (coming > review).mean())
        expected.append(overkill_at(review, scores).expected)
    assert np.mean(above) == pytest.approx(5, abs=1)
    assert np.mean(expected) == pytest.approx(5, abs=1)


@pytest.mark.parametrize("count", [8, 12, 30, 100])
def test_limits_reject_as_many_good_parts_as_stated(count):
    rng, above = np.random.default_rng(3), []
    for _ in range(800):
        limits = limits_from_good(rng.gumbel(size=count))
        above.append([100 * stats.gumbel_r.sf(limit) for limit in limits])
    assert np.mean(above, axis=0) == pytest.approx((5, 1), rel=0.2)


def test_odd_parts_among_the_good_ones_do_not_move_the_limits():
    scores = np.sort(np.random.default_rng(1).gumbel(10, 1, size=60))
    odd = np.concatenate([scores[:-6], scores[-6:] + 40])
    assert limits_from_good(odd)[1] == limits_from_good(scores)[1]
    assert limits_from_good(odd)[0] < scores.max() + 1


@pytest.mark.parametrize("ceiling", [1.0, 0.3])
def test_limits_of_bounded_scores_stay_below_the_bound(ceiling):
    """Scores whose -ln(1 - s / c) is Gumbel's; the tail without an end lies above all that can be found."""
    rng, true = np.random.default_rng(0), []
    drawn = -ceiling * np.expm1(-(3 + rng.gumbel(size=(400, 60))))
    for scores in drawn:
        review, reject = limits_from_good(scores, ceiling=ceiling)
        assert review < reject < ceiling
        true.append(100 * (drawn > review).mean())
    stated = [overkill_at(limits_from_good(s, ceiling=ceiling)[0], s, ceiling=ceiling).expected for s in drawn[:20]]
    assert np.mean(true) == pytest.approx(np.mean(stated), abs=1)
    assert np.mean([limits_from_good(scores)[1] for scores in drawn]) > ceiling
    assert limits_from_good([0.5 * ceiling, ceiling], ceiling=ceiling)[0] <= ceiling


@given(
    st.lists(st.floats(-1e3, 1e3, width=32), min_size=2, max_size=40, unique=True), st.floats(0.5, 4), st.floats(-9, 9)
)
@settings(deadline=None, max_examples=examples(60))
def test_limits_move_with_unit_and_origin(scores, unit, origin):
    scores = np.array(scores)
    review, reject = limits_from_good(scores)
    assert review <= reject
    assert limits_from_good(scores[::-1]) == (review, reject)
    moved = limits_from_good(unit * scores + origin)
    np.testing.assert_allclose(moved, unit * np.array([review, reject]) + origin, rtol=1e-6, atol=1e-3)


@given(st.lists(st.floats(0, 1e3, width=32), min_size=2, max_size=19, unique=True))
@settings(deadline=None, max_examples=examples(60))
def test_with_few_good_scores_none_of_them_is_rejected(scores):
    assert limits_from_good(scores)[1] >= max(scores)


def test_limits_from_equal_scores_warn_and_accept_them():
    for scores in ([7.0], [7.0] * 30):
        with pytest.warns(UserWarning, match=f"all {len(scores)} good scores equal 7"):
            assert limits_from_good(scores) == (7, 7)


def test_manual_limit_keeps_its_ratio_below_a_ceiling():
    assert rescale_limit(3.0, before=2.0, after=4.0) == 6.0
    assert rescale_limit(3.0, before=-1.0, after=4.0) == 3.0
    assert rescale_limit(3.0, before=2.0, after=0.0) == 3.0
    assert rescale_limit(0.9, before=0.5, after=0.5, ceilings=(1.0, 1.0)) == pytest.approx(0.9)
    result = rescale_limit(0.9, before=0.5, after=0.6, ceilings=(1.0, 1.0))
    assert 0.9 < result < 1
    assert math.log(1 - result) / math.log(1 - 0.6) == pytest.approx(math.log(0.1) / math.log(0.5))


def test_no_limit_is_nearer_to_a_ceiling_than_scores_are():
    review, reject = limits_from_good([0.2] * 25 + [1.19999] * 5, ceiling=1.2)
    assert review <= reject <= 1.2 * (1 - 0.99e-6)
    assert np.float32(1.2) > reject


@pytest.mark.parametrize(
    ("scores", "fractions", "message"),
    [
        ([], {}, "good_scores is empty"),
        ([1, np.inf], {}, "good_scores is inf"),
        ([1, 2], {"review": 0.01, "reject": 0.05}, "review is 0.01, reject 0.05"),
        ([1, 2], {"reject": 0.0}, "reject 0.0"),
        ([1, 2], {"review": 1.0}, "review is 1.0"),
    ],
)
def test_limits_from_good_refuse_what_they_cannot_answer(scores, fractions, message):
    with pytest.raises(ValueError, match=message):
        limits_from_good(scores, **fractions)


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("count", [8, *(pytest.param(count, marks=pytest.mark.slow) for count in (30, 60, 200))])
def test_the_stated_interval_holds_as_often_as_it_says(population, count):
    rng = np.random.default_rng(5)
    coverage = []
    for _ in range(100):
        scores = population.rvs(count, random_state=rng)
        coming = population.rvs(100, random_state=rng)
        for limit in limits_from_good(scores):
            stated = overkill_at(limit, scores)
            coverage.append(stated.low <= (coming > limit).sum() <= stated.high)
    assert np.mean(coverage) >= 0.95


@pytest.mark.parametrize(("count", "limit"), [(12, 3.0), (60, 3.0)])
def test_expected_overkill_allows_for_few_scores(count, limit):
    """The rate above a limit whose place in the fitted tail is `limit` scales above its location."""
    rng, true, stated = np.random.default_rng(2), [], []
    for _ in range(200):
        scores = rng.gumbel(size=count)
        low, middle, high = np.quantile(scores, (0.25, 0.5, 0.85))
        below, centre, above = stats.gumbel_r.ppf([0.25, 0.5, 0.85])
        scale = (high - low) / (above - below)
        placed = middle - scale * centre + scale * limit
        true.append(100 * stats.gumbel_r.sf(placed))
        stated.append(overkill_at(placed, scores).expected)
    assert np.mean(stated) == pytest.approx(np.mean(true), abs=1)
    assert np.mean(stated) > 100 * stats.gumbel_r.sf(limit)


def test_interval_becomes_that_of_a_share_for_many_parts():
    scores = np.random.default_rng(0).gumbel(size=60)
    limit = np.sort(scores)[-6]
    stated = overkill_at(limit, scores, sample_size=1_000_000)
    assert (stated.low / 1e6, stated.high / 1e6) == pytest.approx(clopper_pearson(5, 60), rel=0.01)


def test_photos_of_one_group_count_as_one_part():
    scores = np.repeat(np.random.default_rng(0).gumbel(size=20), 5)
    groups = [str(i) for i in np.repeat(np.arange(20), 5)]
    limit = np.sort(scores)[-8]
    together, single = overkill_at(limit, scores, groups=groups), overkill_at(limit, scores[::5])
    assert (together.low, together.high) == (single.low, single.high)
    assert together.expected == pytest.approx(single.expected, rel=0.1)
    assert overkill_at(limit, scores).high < together.high


@pytest.mark.parametrize("sample_size", [1, 100, 1000])
@pytest.mark.parametrize(("above", "count"), [(0, 12), (3, 60), (30, 60), (59, 60), (60, 60), (200, 5000)])
def test_bounds_of_the_next_parts_are_those_of_beta_binomials(above, count, sample_size):
    scores = np.r_[np.zeros(count - above), np.ones(above)]
    low, high = stats.betabinom.ppf(0.025, sample_size, above, count - above + 1), sample_size
    if above < count:
        high = stats.betabinom.ppf(0.975, sample_size, above + 1, count - above)
    stated = overkill_at(0.5, scores, sample_size=sample_size)
    assert (stated.low, stated.high) == (low if above else 0, high)


def test_overkill_of_equal_scores_and_bad_arguments():
    assert overkill_at(1.0, [1.0, 1.0]).expected == 0
    assert overkill_at(0.5, [1.0]).low > 0
    assert overkill_at(0.5, [1.0]).high == 100
    with pytest.raises(ValueError, match="limit is nan"):
        overkill_at(np.nan, [1.0])
    with pytest.raises(ValueError, match="groups has 1 entries for 2"):
        overkill_at(1.0, [1.0, 2.0], groups=["a"])
    with pytest.raises(ValueError, match="sample_size is 0"):
        overkill_at(1.0, [1.0, 2.0], sample_size=0)


def test_what_is_surprising_is_the_binomial_tail():
    for above, count, share in ((2, 12, 0.01), (1, 12, 0.01), (4, 20, 0.05), (0, 5, 0.01)):
        tail = sum(math.comb(count, i) * share**i * (1 - share) ** (count - i) for i in range(above, count + 1))
        assert is_surprising(above, count, share) == (above > 0 and tail < 0.05)


def test_tested_scores_count_only_where_they_contradict():
    good = POPULATIONS[0].rvs(60, random_state=0)
    review, reject = limits_from_good(good)
    alike, one_high = np.full(20, review - 1), np.array([*[review - 1] * 19, review + 0.01])
    two_rejected, five_above = one_high.copy(), one_high.copy()
    two_rejected[-2:], five_above[-5:] = reject + 1, review + 0.01
    for tested in (np.zeros(0), alike, one_high):
        assert np.array_equal(with_contradicting(good, tested), good)
    for tested in (two_rejected, five_above):
        assert np.array_equal(with_contradicting(good, tested), np.concatenate([good, tested]))


def test_a_limit_by_hand_stays_where_no_ratio_can_be_kept():
    assert rescale_limit(3.0, before=2.0, after=4.0) == 6.0
    assert rescale_limit(3.0, before=0.0, after=4.0) == 3.0
    assert rescale_limit(3.0, before=2.0, after=0.0) == 3.0


def test_equal_quantiles_take_the_spread_of_all_scores():
    scores = np.array([1.0] * 40 + [1.5])
    location, scale = limits._gumbel(scores)
    assert scale == pytest.approx(scores.std() * math.sqrt(6) / math.pi)
    assert location < 1.0
