"""The log of inspections as batch and watch folder use it, and the facts they put into it."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from inspect_core.line.common_cause import Remark
from inspect_core.line.result_row import ResultRow
from inspect_core.verdict import INPUTS

Facts = Mapping[str, str | float | int | None]
REMARKS = ("photo_deviation", "region_x", "region_y")
OPTIONAL = ("release", "never_accepted", *REMARKS, *INPUTS)
"""Facts that are recorded only where there are any."""


class Record(Protocol):
    """A log with unique keys: an inspection that is recorded again is found and not duplicated."""

    def find(self, key: str) -> Facts | None:
        """The facts recorded under the key, None when there are none."""
        ...

    def append(self, key: str, facts: Facts) -> Facts:
        """Record the facts, durably, and return them; if the key exists already, return those recorded first.

        Raises OSError when they cannot be stored.
        """
        ...

    def approval(self) -> str:
        """The state of the recipe that inspects, and who gave it, in words. Raises OSError as `append`."""
        ...


def key_of(*parts: str) -> str:
    """A key of everything that distinguishes inspections, of a length that every database takes."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


def facts_of(row: ResultRow, *, path: str, source: str, trial: bool = False) -> Facts:
    """The row as stored in the log; path: where the photo lies or will lie; source: "batch" or "watch"; trial:
    whether it is no production.
    """
    facts = {
        "name": row.name,
        "path": path,
        "digest": row.digest,
        "score": row.score,
        "verdict": row.verdict,
        "reason": row.reason,
        "review": row.review,
        "reject": row.reject,
        "area": row.area,
        "kind": row.defect_type,
        "product_check": row.product_check,
        "source": source,
    } | {name: value for name in OPTIONAL if (value := getattr(row, name)) not in ("", None)}
    return facts | ({"trial": 1} if trial else {})


def remark_of(facts: Facts) -> Remark:
    """What of a recorded photo may have a cause in common with others."""
    x, y = (value if isinstance(value := facts.get(name), float | int) else None for name in ("region_x", "region_y"))
    return Remark(str(facts.get("photo_deviation") or ""), x, y)


def is_recorded(row: ResultRow, facts: Facts | None) -> bool:
    """Whether the facts in the log are those of this row, wherever its photo lies."""
    if facts is None:
        return False
    row_facts = facts_of(row, path="", source="batch")
    apart = {"path", "source", *REMARKS, *INPUTS}
    return all(facts.get(name) == value for name, value in row_facts.items() if name not in apart)


def as_recorded(row: ResultRow, facts: Facts) -> ResultRow:
    """The row with the verdict that the log has of it, recorded before a stop and perhaps on another machine."""
    recorded = {name: facts[name] for name in ("score", "verdict", "reason")}
    return replace(row, **recorded, never_accepted=facts.get("never_accepted") or "")
