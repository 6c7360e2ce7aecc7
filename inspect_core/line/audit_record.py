"""The audit log as the record of one recipe's inspections; a module of its own, since only it needs SQLAlchemy."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspect_core.audit import life_cycle
from inspect_core.audit.entry import INSPECTION, NewLogEntry
from inspect_core.audit.inspections import LoggedInspection
from inspect_core.audit.log import AuditLog
from inspect_core.inspection import Inspection
from inspect_core.line.inspector import Inspector


@dataclass(frozen=True)
class AuditRecord:
    """A `line.record.Record`. user: who started the work."""

    log: AuditLog
    inspector: Inspector
    user: str

    def find(self, key: str) -> Inspection | None:
        entry = self.log.find(key)
        return None if entry is None else LoggedInspection.of_entry(entry)

    def append(self, key: str, inspection: Inspection) -> Inspection:
        return self.append_all([(key, inspection)])[0]

    def append_all(self, inspections: Sequence[tuple[str, Inspection]]) -> list[Inspection]:
        whose = self.user, self.inspector.product, self.inspector.digest
        new = [NewLogEntry(INSPECTION, inspection.facts(), *whose, key) for key, inspection in inspections]
        return [LoggedInspection.of_entry(entry) for entry in self.log.append_all(new)]

    def approval(self) -> str:
        return life_cycle.approval(self.log, self.inspector.digest)
