"""Signals of a recipe on the line: each says what left and where, and rejects are never what is usual."""

import numpy as np

from inspect_core.spc.drift import REJECTS
from inspect_core.spc.drift_signals import REFERENCE, SCORE, DriftSignals


def follow(scores, rejected=None, **inputs):
    signals = DriftSignals(np.random.default_rng(0).normal(5, 1, 80))
    rejected = np.zeros(len(scores), bool) if rejected is None else rejected
    left = []
    for i, score in enumerate(scores):
        part_inputs = {name: float(values[i]) for name, values in inputs.items()}
        left += signals.add(float(score), rejected=bool(rejected[i]), inputs=part_inputs)
    return signals, left


def test_ageing_lamp_is_named_with_the_part_where_it_began():
    rng = np.random.default_rng(1)
    light = rng.normal(120, 1, 600) - np.maximum(np.arange(600) - 300, 0) * 0.04
    signals, left = follow(rng.normal(5, 1, 600), brightness=light)
    assert {alarm.signal for alarm in left} == {"brightness"}
    assert "Brightness has" in left[0].words
    assert "down" in left[0].words
    assert 300 < left[0].position < 400
    assert [part for part, _ in signals.levels["brightness"]] == list(range(REFERENCE, 600))
    assert len(signals.levels[SCORE]) == 600


def test_more_rejects_signal_and_never_become_usual():
    rejected = np.zeros(500, bool)
    rejected[300::8] = True
    _, left = follow(np.full(500, 5.0) + np.random.default_rng(2).normal(0, 1, 500), rejected)
    assert REJECTS in {alarm.signal for alarm in left}
    assert "The reject rate has increased" in next(alarm.words for alarm in left if alarm.signal == REJECTS)
    dark = np.where(np.arange(400) % 2 == 0, 20.0, 120.0) + np.random.default_rng(3).normal(0, 1, 400)
    signals, _ = follow(np.full(400, 5.0), dark < 60, brightness=dark)
    assert signals._monitors["brightness"]._known.min() > 100


def test_without_good_scores_the_first_parts_show_what_is_usual():
    signals, rng = DriftSignals([]), np.random.default_rng(4)
    left = [alarm for score in rng.normal(3, 1, 300) for alarm in signals.add(score, rejected=False, inputs={})]
    assert left == []
    assert signals.levels[SCORE][0][0] == REFERENCE
