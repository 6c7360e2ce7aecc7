"""What batch and watch folder ask of the log of inspections, and what they put into it."""

from collections.abc import Mapping
from typing import Protocol

from inspect_core.line.row import Row

Facts = Mapping[str, str | float | int | None]


class Record(Protocol):
    """A log in which a key stands once: recorded again, an inspection is found and not doubled."""

    def find(self, key: str) -> Facts | None:
        """What was recorded under the key, None when nothing was."""
        ...

    def append(self, key: str, facts: Facts) -> None:
        """Record the facts, durably, unless the key is there. Raises OSError when they cannot be kept."""
        ...


def batch_key(run: str, row: Row) -> str:
    """One photo in one run of a batch: a second run is recorded again, one that goes on is not."""
    return f"batch/{run}/{row.recipe}/{row.digest}/{row.name}"


def facts_of(row: Row, *, path: str, source: str) -> Facts:
    """The row as the log keeps it; path: where the photo lies, or is about to; source: "batch" or "watch"."""
    return {
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
    }
