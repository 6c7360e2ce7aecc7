"""Attribute agreement against the example of AIAG, Measurement Systems Analysis, 4th edition, table III-C 1."""

import math

import numpy as np
import pytest
from scipy import stats

from inspect_core.spc.agreement import (
    ACCEPTABLE,
    MARGINAL,
    TOO_FEW,
    UNACCEPTABLE,
    Appraisal,
    AppraiserResult,
    Proportion,
    agreement,
    cohen,
    fleiss,
    parts_to_prove,
)

BAD = {3, 4, 5, 9, 12, 22, 25, 26, 30, 34, 37, 39, 42, 45, 48, 50}
"""Parts outside the tolerance, of 50."""
WRONG = {
    "A": {6: "3", 14: "3", 21: "3", 22: "3", 26: "2", 34: "3", 36: "3", 43: "2"},
    "B": {6: "3", 21: "2", 22: "2", 30: "3", 34: "3"},
    "C": {6: "23", 7: "2", 12: "2", 14: "23", 21: "13", 22: "12", 26: "3", 34: "23", 36: "2", 43: "3"},
}
"""By appraiser and part, the trials in which it was called what it is not."""


@pytest.fixture(scope="module")
def published():
    return agreement(
        Appraisal(str(part), part in BAD, name, trial, (part in BAD) != (str(trial) in wrong.get(part, "")))
        for name, wrong in WRONG.items()
        for part in range(1, 51)
        for trial in (1, 2, 3)
    )


def test_shares_are_those_published(published):
    shares = {
        name: [
            (shares.count, shares.total)
            for shares in (appraiser.parts, appraiser.readings, appraiser.misses, appraiser.false_alarms)
        ]
        for name, appraiser in published.appraisers.items()
    }
    assert shares["A"] == [(42, 50), (142, 150), (3, 48), (5, 102)]
    assert [shares[name][0] for name in "BC"] == [(45, 50), (40, 50)]
    assert [round(100 * appraiser.misses.value, 1) for appraiser in published.appraisers.values()] == [6.2, 6.2, 12.5]
    assert [round(100 * appraiser.false_alarms.value, 1) for appraiser in published.appraisers.values()] == [
        4.9,
        2.0,
        8.8,
    ]
    assert (published.together.count, published.all_correct.count) == (39, 39)


def test_kappas_are_those_published(published):
    truth = [round(appraiser.kappa_vs_truth.value, 2) for appraiser in published.appraisers.values()]
    assert published.appraisers["A"].kappa_vs_truth.value == pytest.approx(0.879, abs=5e-4)
    assert truth == [0.88, 0.92, 0.77]
    assert [round(kappa.value, 2) for kappa in published.pairwise_kappas.values()] == [0.86, 0.78, 0.79]


def test_bands_are_those_of_aiag(published):
    bands = {name: list(appraiser.bands.values()) for name, appraiser in published.appraisers.items()}
    assert bands["A"] == [MARGINAL, UNACCEPTABLE, ACCEPTABLE]
    assert bands["B"] == [ACCEPTABLE, UNACCEPTABLE, ACCEPTABLE]
    assert bands["C"] == [MARGINAL, UNACCEPTABLE, MARGINAL]


@pytest.mark.parametrize(("count", "total"), [(0, 149), (3, 48), (142, 150), (50, 50)])
def test_intervals_are_exact(count, total):
    low, high = Proportion(count, total).interval
    exact = stats.binomtest(count, total).proportion_ci(0.95, method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high))


def test_how_many_defects_prove_a_share_of_misses():
    assert parts_to_prove(0.02) == 149
    assert 0.98**149 <= 0.05 < 0.98**148
    with pytest.raises(ValueError, match="rate is 0"):
        parts_to_prove(0)


def test_kappa_is_one_when_perfect_and_zero_by_chance():
    rng = np.random.default_rng(0)
    calls = rng.random(500) < 0.3
    assert cohen(calls, calls).value == 1
    assert abs(cohen(calls, rng.permutation(calls)).value) < 0.1
    assert math.isnan(cohen(np.ones(5, bool), np.ones(5, bool)).value)
    both = np.column_stack([calls, calls ^ (rng.random(500) < 0.1)])
    assert fleiss(both).value == pytest.approx(cohen(*both.T).value, abs=0.01)


def test_an_incomplete_or_contradictory_study_is_refused_by_name():
    whole = [Appraisal(part, part == "b", "A", trial, part == "b") for part in "ab" for trial in (1, 2)]
    for readings, why in (
        (whole[:-1], "A has not appraised part b in trial 2"),
        ([*whole, whole[0]], "appraised part a twice in trial 1"),
        ([*whole[:-1], whole[-1]._replace(defective=False)], "part b is once good and once defective"),
        (whole[::2], "at least twice"),
    ):
        with pytest.raises(ValueError, match=why):
            agreement(readings)


def test_few_parts_give_no_band_but_always_an_interval():
    def appraiser_of(good: int, defective: int) -> AppraiserResult:
        parts = [(str(n), n >= good) for n in range(good + defective)]
        appraisals = [Appraisal(name, bad, "Ann", trial, bad) for trial in (1, 2) for name, bad in parts]
        return agreement(appraisals).appraisers["Ann"]

    assert set(appraiser_of(2, 2).bands.values()) == {TOO_FEW}
    assert appraiser_of(30, 75).bands == {"effectiveness": ACCEPTABLE, "misses": ACCEPTABLE, "false alarms": ACCEPTABLE}
    assert appraiser_of(30, 30).bands["misses"] == MARGINAL
    kappa = appraiser_of(2, 2).kappa_vs_truth
    assert kappa.value == kappa.high == 1.0
    assert kappa.low < 0.5
