"""Inspections from the log, with the operators' overrides; counted, and judged again under other limits."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from inspect_core.audit.entry import INSPECTION, KINDS, OVERRIDE, LogEntry
from inspect_core.audit.log import AuditLog
from inspect_core.verdict import ALL_VERDICTS, INPUTS, NOT_JUDGED, OTHER_PRODUCT, Limits

_TEXTS = ("name", "digest", "reason", "product_check", "source", "path", "release", "photo_deviation", "never_accepted")
_JUDGED = ("score", "review", "reject")
_NUMBERS = (*_JUDGED, "area", "region_x", "region_y")
ACCEPT, REVIEW, REJECT = "accept", "review", "reject"
NOTCH = 0.05  # share of the limit for rejection by which both limits are moved, to see what that would have done


@dataclass(frozen=True)
class Inspection:
    """One inspected photo. number: of its entry; time: with its time zone; digest: of the pixels; score: None where it
    could not be judged; verdict: one of ALL_VERDICTS, of Loupe; review, reject: limits in force; path: where the photo
    lay; release: digest of the export that judged it, "" for the recipe itself; photo_deviation: how the photo differs
    from those taught; never_accepted: what spoke against it whatever its score; region_x, region_y: middle of the most
    anomalous region, as shares of the photo; trial: whether it was no production; override: the entry of the operator's
    verdict on it; inputs: what else was measured on the photo, by name. A text that was not recorded is "".
    """

    number: int
    time: datetime
    product: str
    recipe: str
    user: str
    name: str
    digest: str
    score: float | None
    verdict: str
    review: float | None
    reject: float | None
    area: float | None
    reason: str
    defect_type: str
    product_check: str
    source: str
    path: str
    release: str = ""
    photo_deviation: str = ""
    never_accepted: str = ""
    region_x: float | None = None
    region_y: float | None = None
    trial: bool = False
    inputs: Mapping[str, float] = field(default_factory=dict)
    override: LogEntry | None = None

    @property
    def final_verdict(self) -> str:
        """The operator's verdict when there is one, else that of Loupe."""
        override_verdict = None if self.override is None else self.override.facts.get("verdict")
        return override_verdict if override_verdict in ALL_VERDICTS else self.verdict

    def verdict_at(self, notches: int) -> str:
        """Loupe's verdict if both limits had been so many notches higher; what decided besides the score still does."""
        if self.score is None or self.review is None or self.reject is None:
            return self.verdict
        by, stopped = notches * NOTCH * abs(self.reject), self.reason == OTHER_PRODUCT
        try:
            limits = Limits(self.review + by, self.reject + by)
            return limits.decide(self.score, stopped=stopped, never_accepted=self.never_accepted)[0]
        except ValueError:  # limits that are not in order, or too large to be moved
            return self.verdict


def of_entry(entry: LogEntry, overridden: LogEntry | None = None) -> Inspection:
    """The inspection of an entry, with its override; values missing in its facts are empty or None.

    The reason names what is there and is no number.
    """
    facts = entry.facts
    numbers = {name: _number(facts.get(name)) for name in _NUMBERS}
    texts = {name: str(facts.get(name) or "") for name in _TEXTS}
    unread = [name for name, value in numbers.items() if value is None and facts.get(name) is not None]
    reasons = [texts["reason"], *(f"its {name} is not a number" for name in unread if name in _JUDGED)]
    values = {name: getattr(entry, name) for name in ("number", "product", "recipe", "user")}
    values |= {"verdict": facts.get("verdict") if facts.get("verdict") in ALL_VERDICTS else NOT_JUDGED}
    values["inputs"] = {name: value for name in INPUTS if (value := _number(facts.get(name))) is not None}
    values |= numbers | texts | {"reason": "; ".join(filter(None, reasons))}
    values |= {"defect_type": str(facts.get("kind") or ""), "trial": facts.get("trial") == 1}
    return Inspection(**values, time=datetime.fromisoformat(entry.time), override=overridden)


def read(log: AuditLog, *, since: datetime | None = None, until: datetime | None = None, most: int) -> list[Inspection]:
    """The inspections of a period, latest first, at most `most`, with their last override. Raises LogError."""
    overrides = {str(entry.facts.get("entry")): entry for entry in log.entries(kind=OVERRIDE, since=since)}
    entries = log.entries(kind=INSPECTION, since=since, until=until, newest=most)
    return [of_entry(entry, overrides.get(str(entry.number))) for entry in entries]


def other_entries(
    log: AuditLog, *, since: datetime | None = None, until: datetime | None = None, most: int
) -> list[LogEntry]:
    """All entries of that period except inspections, the latest first. Raises LogError."""
    kinds = (kind for kind in KINDS if kind != INSPECTION)
    entries = [entry for kind in kinds for entry in log.entries(kind=kind, since=since, until=until, newest=most)]
    return sorted(entries, key=lambda entry: -entry.number)[:most]


def counts(inspections: Iterable[Inspection]) -> Counter[str]:
    """The number of inspections by final verdict."""
    return Counter(inspection.final_verdict for inspection in inspections)


def verdicts_at_limits(inspections: Sequence[Inspection]) -> dict[int, Counter[str]]:
    """Verdicts of Loupe with the limits one notch lower (-1), as they were (0), and one notch higher (1)."""
    return {step: Counter(inspection.verdict_at(step) for inspection in inspections) for step in (-1, 0, 1)}


def defect_types(inspections: Iterable[Inspection]) -> dict[str, list[Inspection]]:
    """The parts that were finally not accepted, by defect type, the most frequent first.

    Those without a type are counted by the reason: stopped by the product check, or no defect type named.
    """
    by_type = defaultdict(list)
    for inspection in inspections:
        if inspection.final_verdict in (REVIEW, REJECT):
            by_type[inspection.defect_type or inspection.reason or "no defect type"].append(inspection)
    return dict(sorted(by_type.items(), key=lambda item: -len(item[1])))


def _number(value: object) -> float | None:
    """The value if it is a number that a float can hold."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) <= sys.float_info.max else None
