"""Inspections from the log, with the operators' overrides; counted, and judged again under other limits."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from inspect_core.audit.entry import INSPECTION, KINDS, OVERRIDE, PART, LogEntry
from inspect_core.audit.log import AuditLog
from inspect_core.inspection import Inspection
from inspect_core.verdict import ALL_VERDICTS

ACCEPT, REVIEW, REJECT = "accept", "review", "reject"
NOTCH = 0.05  # share of the limit for rejection by which both limits are moved, to see what that would have done


@dataclass(frozen=True, kw_only=True)
class LoggedInspection(Inspection):
    """An inspection with its entry. number: of the entry; time: of it; recipe: its digest; user: who inspected;
    override: the entry of the operator's verdict on it.
    """

    number: int
    product: str
    user: str
    override: LogEntry | None = None

    @classmethod
    def of_entry(cls, entry: LogEntry, override: LogEntry | None = None) -> Self:
        """The inspection of an entry, whatever its facts hold (`Inspection.from_facts`)."""
        others = {name: getattr(entry, name) for name in ("number", "product", "recipe", "user", "time")}
        return cls.from_facts(entry.facts, **others, override=override)

    @property
    def moment(self) -> datetime:
        """Its time, with the time zone."""
        return datetime.fromisoformat(self.time)

    @property
    def final_verdict(self) -> str:
        """The operator's verdict when there is one, else that of Loupe."""
        override_verdict = None if self.override is None else self.override.facts.get("verdict")
        return override_verdict if override_verdict in ALL_VERDICTS else self.verdict

    def verdict_at(self, notches: int) -> str:
        """Loupe's verdict if both limits had been so many notches higher; what decided besides the score still does."""
        by = notches * NOTCH * abs(self.reject)
        try:
            return self.decide_at(self.review + by, self.reject + by)[0]
        except ValueError:  # without a score, or limits that are not in order, or too large to be moved
            return self.verdict


def read(
    log: AuditLog, *, recipe: str | None = None, since: datetime | None = None, until: datetime | None = None, most: int
) -> list[LoggedInspection]:
    """The inspections of a period, latest first, at most `most`, with their last override. Raises LogError.

    recipe: digest of the one whose inspections count, None for all.
    """
    overrides = {str(entry.facts.get("entry")): entry for entry in log.entries(kind=OVERRIDE, since=since)}
    entries = log.entries(kind=INSPECTION, recipe=recipe, since=since, until=until, newest=most)
    return [LoggedInspection.of_entry(entry, overrides.get(str(entry.number))) for entry in entries]


def other_entries(
    log: AuditLog, *, since: datetime | None = None, until: datetime | None = None, most: int
) -> list[LogEntry]:
    """All entries of that period except inspections and parts, the latest first. Raises LogError."""
    kinds = (kind for kind in KINDS if kind not in (INSPECTION, PART))
    entries = [entry for kind in kinds for entry in log.entries(kind=kind, since=since, until=until, newest=most)]
    return sorted(entries, key=lambda entry: -entry.number)[:most]


def counts(inspections: Iterable[LoggedInspection]) -> Counter[str]:
    """The number of inspections by final verdict."""
    return Counter(inspection.final_verdict for inspection in inspections)


def verdicts_at_limits(inspections: Sequence[LoggedInspection]) -> dict[int, Counter[str]]:
    """Verdicts of Loupe with the limits one notch lower (-1), as they were (0), and one notch higher (1)."""
    return {step: Counter(inspection.verdict_at(step) for inspection in inspections) for step in (-1, 0, 1)}


def defect_types(inspections: Iterable[LoggedInspection]) -> dict[str, list[LoggedInspection]]:
    """The parts that were finally not accepted, by defect type, the most frequent first.

    Those without a type are counted by the reason: stopped by the product check, or no defect type named.
    """
    by_type = defaultdict(list)
    for inspection in inspections:
        if inspection.final_verdict in (REVIEW, REJECT):
            by_type[inspection.defect_type or inspection.reason or "no defect type"].append(inspection)
    return dict(sorted(by_type.items(), key=lambda item: -len(item[1])))
