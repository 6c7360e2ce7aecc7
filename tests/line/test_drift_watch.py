"""Drift of a watched folder: from the log on, recorded, and no verdict changed."""

from types import SimpleNamespace

import numpy as np

from inspect_core.audit.entry import DRIFT
from inspect_core.audit.log import AuditLog
from inspect_core.inspection import Inspection
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.drift_watch import DriftMonitor

GOOD = np.random.default_rng(0).normal(5, 1, 60)


def inspected(number: int, score: float) -> Inspection:
    limits = {"review": 9.0, "reject": 9.0, "area": 1}
    return Inspection(name=f"{number}.png", score=score, verdict="accept", **limits, recipe="r", source="watch")


def test_signals_go_on_from_the_log_and_are_recorded(workspace):
    inspector = SimpleNamespace(product="tile", digest="a" * 64, good_scores=GOOD)
    with AuditLog.open() as log:
        record = AuditRecord(log, inspector, "Ann")
        scores = np.random.default_rng(1).normal(6.2, 1, 80)
        before = DriftMonitor(record)
        alarms = [before.add(record.append(str(i), inspected(i, float(scores[i])))) for i in range(80)]
        where = next(i for i, left in enumerate(alarms) if left)
        assert 3 < where < 40, "a step of more than a standard deviation is seen soon"
        (first, *_) = log.entries(kind=DRIFT)
        assert first.facts["name"] == f"{where}.png"
        assert first.facts["words"].startswith("Scores have shifted")
        monitor = DriftMonitor(record)
        assert monitor._signals._position == 79
        assert not monitor.alarms
