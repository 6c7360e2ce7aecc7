"""The audit log as the record of one recipe's inspections; a module of its own, since only it needs SQLAlchemy."""

from dataclasses import dataclass

from inspect_core.audit import life_cycle
from inspect_core.audit.entry import INSPECTION
from inspect_core.audit.log import AuditLog
from inspect_core.line.inspector import Inspector
from inspect_core.line.record import Facts


@dataclass(frozen=True)
class AuditRecord:
    """A `line.record.Record`. user: who started the work."""

    log: AuditLog
    inspector: Inspector
    user: str

    def find(self, key: str) -> Facts | None:
        entry = self.log.find(key)
        return None if entry is None else entry.facts

    def append(self, key: str, facts: Facts) -> Facts:
        product, recipe = self.inspector.product, self.inspector.digest
        return self.log.append(INSPECTION, facts, user=self.user, product=product, recipe=recipe, key=key).facts

    def approval(self) -> str:
        return life_cycle.approval(self.log, self.inspector.digest)
