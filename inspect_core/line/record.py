"""What batch and watch folder ask of the log of inspections, and what they put into it."""

import hashlib
from collections.abc import Mapping
from typing import Protocol

from inspect_core.line.row import Row

Facts = Mapping[str, str | float | int | None]


class Record(Protocol):
    """A log in which a key stands once: recorded again, an inspection is found and not doubled."""

    def find(self, key: str) -> Facts | None:
        """What was recorded under the key, None when nothing was."""
        ...

    def append(self, key: str, facts: Facts) -> Facts:
        """Record the facts, durably, and return them; those recorded first when the key is there already.

        Raises OSError when they cannot be kept.
        """
        ...


def key_of(*parts: str) -> str:
    """A key of whatever tells one inspection from another, of a length that every database takes."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


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
