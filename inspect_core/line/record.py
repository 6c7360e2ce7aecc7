"""The log of inspections as batch and watch folder use it."""

import hashlib
from collections.abc import Sequence
from typing import Protocol

from inspect_core.inspection import Inspection


class Record(Protocol):
    """A log with unique keys: an inspection that is recorded again is found and not duplicated."""

    def find(self, key: str) -> Inspection | None:
        """The inspection recorded under the key, None when there is none."""
        ...

    def append(self, key: str, inspection: Inspection) -> Inspection:
        """Record it, durably, and return it; if the key exists already, return what was recorded first.

        Raises OSError when it cannot be stored.
        """
        ...

    def append_all(self, inspections: Sequence[tuple[str, Inspection]]) -> list[Inspection]:
        """The same for several, each with its key, all of which are recorded or none."""
        ...

    def approval(self) -> str:
        """The state of the recipe that inspects, and who gave it, in words. Raises OSError as `append`."""
        ...


def key_of(*parts: str) -> str:
    """A key of everything that distinguishes inspections, of a length that every database takes."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()
