"""Drift while a folder is watched: the signals of the recipe, recorded and told, never a changed verdict."""

from inspect_core.audit.entry import DRIFT, INSPECTION
from inspect_core.audit.inspections import REJECT, LoggedInspection
from inspect_core.inspection import Inspection
from inspect_core.line.audit_record import AuditRecord
from inspect_core.spc.drift_signals import DriftSignals, SignalAlarm

BEFORE = 5000
"""Parts of the recipe from which the signals go on."""


class DriftMonitor:
    """The signals of the recipe that is watched, from the parts in the log on.

    record: of the recipe; alarms: the signals that left their limits.
    """

    def __init__(self, record: AuditRecord):
        self.record = record
        self.alarms = list[SignalAlarm]()
        self._signals = DriftSignals(record.inspector.good_scores.tolist())
        earlier = record.log.entries(kind=INSPECTION, recipe=record.inspector.digest, newest=BEFORE)
        for entry in reversed(list(earlier)):
            self._follow(LoggedInspection.of_entry(entry))

    def add(self, inspection: Inspection) -> list[SignalAlarm]:
        """The signals that leave their limits with this part; each is recorded. Raises OSError as the log."""
        alarms = self._follow(inspection)
        for alarm in alarms:
            alarm_facts = {
                "signal": alarm.signal,
                "chart": alarm.alarm.chart,
                "words": alarm.words,
                "name": inspection.name,
            }
            inspector = self.record.inspector
            log_context = {"user": self.record.user, "product": inspector.product, "recipe": inspector.digest}
            self.record.log.append(DRIFT, alarm_facts, **log_context)
        self.alarms += alarms
        return alarms

    def _follow(self, inspection: Inspection) -> list[SignalAlarm]:
        rejected = inspection.verdict == REJECT
        return self._signals.add(inspection.score, rejected=rejected, inputs=inspection.inputs)
