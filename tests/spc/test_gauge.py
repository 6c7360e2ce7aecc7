"""The gauge study against the analysis of variance written out, and against parts of known spread."""

import math

import numpy as np
import pytest

from inspect_core.spc.gauge import gauge

SPREAD = {"part": 0.5, "trial": 0.1, "mixed": 0.15, "repeat": 0.05}


def made(parts=40, trials=30, repeats=3, seed=0, **spread):
    rng, spread = np.random.default_rng(seed), SPREAD | spread
    part, trial = rng.normal(0, spread["part"], (parts, 1, 1)), rng.normal(0, spread["trial"], (1, trials, 1))
    mixed = rng.normal(0, spread["mixed"], (parts, trials, 1))
    return np.exp(1 + part + trial + mixed + rng.normal(0, spread["repeat"], (parts, trials, repeats)))


def test_variances_are_those_of_the_analysis_written_out():
    scores = made(6, 3, 2)
    result, values = gauge(scores), np.log(scores)
    p, t, r = values.shape
    grand = values.mean()
    part = sum(t * r * (values[i].mean() - grand) ** 2 for i in range(p)) / (p - 1)
    trial = sum(p * r * (values[:, j].mean() - grand) ** 2 for j in range(t)) / (t - 1)
    mixed = error = 0.0
    for i in range(p):
        for j in range(t):
            mixed += r * (values[i, j].mean() - values[i].mean() - values[:, j].mean() + grand) ** 2
            error += sum((values[i, j, k] - values[i, j].mean()) ** 2 for k in range(r))
    mixed, error = mixed / ((p - 1) * (t - 1)), error / (p * t * (r - 1))
    assert result.repeatability == pytest.approx(error)
    assert result.part_trial == pytest.approx((mixed - error) / r)
    assert result.trial == pytest.approx(max((trial - mixed) / (p * r), 0))
    assert result.part == pytest.approx((part - mixed) / (t * r))
    assert result.study_variation["measuring"] == pytest.approx(
        100 * math.sqrt(result.measuring / (result.measuring + result.part))
    )


def test_known_spreads_are_found_again():
    result = gauge(made(200))
    for name, share in (("repeat", result.repeatability), ("mixed", result.part_trial), ("part", result.part)):
        assert math.sqrt(share) == pytest.approx(SPREAD[name], rel=0.15)
    assert math.sqrt(result.trial) == pytest.approx(SPREAD["trial"], rel=0.4)
    assert result.distinct == math.floor(math.sqrt(2) * math.sqrt(result.part / result.measuring))


def test_one_repeat_pools_interaction_and_accepts_zero_scores():
    once = gauge(made(repeats=1)[..., 0])
    assert once.part_trial == 0
    assert math.sqrt(once.repeatability) == pytest.approx(math.hypot(0.15, 0.05), rel=0.15)
    flat = gauge(made(mixed=0.0))
    assert flat.part_trial == 0
    raw = gauge(np.array([[0.0, 1.0], [5.0, 6.0], [9.0, 9.5]]))
    assert not raw.on_log
    for few in (np.ones((1, 3)), np.ones((3, 1)), np.array([[1.0, np.nan], [2.0, 3.0]])):
        with pytest.raises(ValueError, match=r"parts|complete"):
            gauge(few)


def test_outside_the_guard_band_nineteen_of_twenty_repeats_agree():
    result, limit = gauge(made(60, 40, 1, seed=1)[..., 0]), 3.0
    low, high = result.guard_band(limit)
    assert low < limit < high
    rng, sigma = np.random.default_rng(5), math.sqrt(result.measuring)
    repeated = high * np.exp(rng.normal(0, sigma, 20000))
    assert (repeated > limit).mean() == pytest.approx(0.95, abs=0.01)
