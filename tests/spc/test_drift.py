"""Drift: charts whose false alarms come as seldom as said, and that see what changed."""

import math

import numpy as np
import pytest

from inspect_core.spc import drift
from inspect_core.spc.drift import RAMP, REJECTS, SPREAD, STEP, Monitor, RejectMonitor, limit, normal_scores, run_length

EVERY = 400


def alarms(monitor, values):
    return [alarm for value in values for alarm in monitor.add(value)]


def simulated_run_length(chart, size, most, *, share, off, runs, seed):
    """From simulated runs, each until its chart leaves the limit, side by side."""
    steps, odds, _ = drift._unchanged(chart, size, share, off)
    cumulative = np.cumsum(odds) / np.sum(odds)
    rng, total, number = np.random.default_rng(seed), 0, runs
    up = down = np.zeros(runs)
    while number:
        drawn = steps[cumulative.searchsorted(rng.random(number), side="right")]
        up = drift._next(chart, up, drawn)
        down = drift._next(chart, down, -drawn) if chart == RAMP else down
        total += number
        stay = (np.abs(up) if chart == STEP else np.maximum(up, down)) <= most
        up, down = up[stay], down[stay]
        number = len(up)
    return total / runs


def test_normal_scores_are_places_among_the_good_parts():
    known = np.arange(99.0)
    scores = normal_scores([49, -5, 1e9], known)
    assert scores[0] == pytest.approx(0, abs=1e-12)
    assert scores[1] == pytest.approx(-scores[2])
    assert scores[2] == pytest.approx(2.5758, abs=1e-3), "half a part beyond 99"
    with pytest.raises(ValueError, match="too few"):
        normal_scores([1.0], known[:19])


def plain(chart, scores, squares):
    """The definition, part by part."""
    value, up, down, alarms = 0.0, 0.0, 0.0, []
    for score in scores:
        if chart == RAMP:
            up, down = max(up + score - 0.25, 0), max(down - score - 0.25, 0)
            value = max(up, down)
        else:
            weight, new = (0.1, score) if chart == STEP else (0.05, score**2 - squares)
            value = (1 - weight) * value + weight * new
        alarms.append(abs(value) if chart != SPREAD else value)
    return np.array(alarms)


@pytest.mark.parametrize("chart", [STEP, RAMP, SPREAD])
def test_charts_are_their_definitions(chart):
    rng, known = np.random.default_rng(1), np.random.default_rng(2).normal(size=60)
    values = rng.normal(size=50)
    monitor = Monitor(known)
    monitor.limits = dict.fromkeys(monitor.limits, math.inf)  # so that no chart begins anew
    drawn = [(monitor.add(value), monitor.values[chart])[1] for value in values]
    scores = normal_scores(values, known)
    places = normal_scores(np.sort(known)[:1] - 1, known)  # the lowest place, for the variance of places
    squares = drift._variance(len(known))
    assert squares < 1 < places[0] ** 2
    charted = drawn if chart == SPREAD else np.abs(drawn)
    assert charted == pytest.approx(plain(chart, scores, squares), abs=1e-12)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
@pytest.mark.parametrize("size", [30, 200])
@pytest.mark.parametrize("chart", [STEP, RAMP, SPREAD, REJECTS])
def test_unchanged_parts_raise_an_alarm_as_seldom_as_wanted(chart, size):
    most = limit(chart, size, every=EVERY, share=0.02)
    for off in (0.0, 1.0):
        expected = run_length(chart, size, most, share=0.02, off=off)
        assert expected >= 0.99 * EVERY
        actual = simulated_run_length(chart, size, most, share=0.02, off=off, runs=1000, seed=7)
        assert actual == pytest.approx(expected, rel=0.1)
    assert expected == pytest.approx(EVERY, rel=0.01), "off by a standard error"


def test_step_ramp_spread_and_rejects_raise_alarms():
    rng, known = np.random.default_rng(3), np.random.default_rng(4).normal(size=80)
    steady = rng.normal(size=400)
    assert not alarms(Monitor(known), steady)
    first = alarms(Monitor(known), np.append(steady, rng.normal(1.5, 1, 60)))[0]
    assert (first.is_rising, 400 <= first.position < 440) == (True, True)
    ramp = alarms(Monitor(known), np.append(steady, rng.normal(size=600) - np.linspace(0, 1.2, 600)))[0]
    assert (ramp.chart, ramp.is_rising) == (RAMP, False)
    wide = alarms(Monitor(known), np.append(steady, rng.normal(0, 2.5, 200)))
    assert SPREAD in {alarm.chart for alarm in wide}
    stuck = alarms(Monitor(known), np.full(200, 9.0))
    assert len(stuck) > 3, "an alarm that is not answered comes again"
    parts = np.arange(1500)
    rejects = np.where(parts < 800, parts % 100 == 50, parts % 15 == 0)
    assert 800 < alarms(RejectMonitor(0.01), rejects)[0].position < 900
    with pytest.raises(ValueError, match="share of rejects"):
        RejectMonitor(0.0)
