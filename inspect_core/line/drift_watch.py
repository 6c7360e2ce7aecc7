"""Drift while a folder is watched: the signals of the recipe, recorded and told, never a changed verdict."""

from inspect_core.audit.entry import DRIFT, INSPECTION
from inspect_core.audit.inspections import REJECT, of_entry
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.record import Facts
from inspect_core.spc.drift_signals import DriftSignals, SignalAlarm
from inspect_core.verdict import INPUTS

BEFORE = 5000
"""Parts of the log from which the signals go on."""


class DriftMonitor:
    """The signals of the recipe that is watched, from the parts in the log on. alarms: those that left their limits."""

    def __init__(self, record: AuditRecord):
        self._record = record
        self.alarms = list[SignalAlarm]()
        self._signals = DriftSignals(record.inspector.good_scores.tolist())
        earlier = [of_entry(entry) for entry in record.log.entries(kind=INSPECTION, newest=BEFORE)]
        for inspection in reversed(earlier):
            if inspection.recipe == record.inspector.digest:
                self._signals.add(inspection.score, rejected=inspection.verdict == REJECT, inputs=inspection.inputs)

    def add(self, facts: Facts) -> list[SignalAlarm]:
        """The signals that leave their limits with this part; each is recorded. Raises OSError as the log."""
        inputs = {name: float(value) for name in INPUTS if isinstance(value := facts.get(name), int | float)}
        score = facts["score"]
        score = float(score) if isinstance(score, int | float) else None
        alarms = self._signals.add(score, rejected=facts["verdict"] == REJECT, inputs=inputs)
        for alarm in alarms:
            alarm_facts = {
                "signal": alarm.signal,
                "chart": alarm.alarm.chart,
                "words": alarm.words,
                "name": facts["name"],
            }
            inspector = self._record.inspector
            log_context = {"user": self._record.user, "product": inspector.product, "recipe": inspector.digest}
            self._record.log.append(DRIFT, alarm_facts, **log_context)
        self.alarms += alarms
        return alarms
