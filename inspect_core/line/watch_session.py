"""A watch that goes on, for command line and app: what it has counted, what it saw last, what is in its way."""

from collections import Counter, deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from inspect_core.audit.challenges import why_blocked
from inspect_core.audit.entry import INSPECTION, WATCH
from inspect_core.audit.inspections import LoggedInspection
from inspect_core.audit.log import LogError
from inspect_core.inspection import Inspection
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.common_cause import common_causes
from inspect_core.line.drift_watch import DriftMonitor
from inspect_core.line.watch import SOURCE, Watch
from inspect_core.spc.drift_signals import SignalAlarm

POLL_SECONDS = 0.5
"""Seconds between two looks at the folder."""
MAX_RECENT_PHOTOS = 8
MOST_COMPARED = 30
"""Latest photos of which it is said what they have in common."""


@contextmanager
def recorded_watch(watch: Watch, record: AuditRecord, *, resumed: bool = False) -> Generator[None]:
    """Record that a watch is started, or resumed after a restart, and in the end that it was stopped.

    Raises LogError where the first cannot be recorded.
    """

    def note(event: str) -> None:
        facts = {"event": event, "folder": str(watch.folder), "out": str(watch.out), "trial": watch.trial}
        whose = {"user": record.user, "product": record.inspector.product, "recipe": record.inspector.digest}
        record.log.append(WATCH, facts, **whose)

    note("resumed" if resumed else "started")
    try:
        yield
    finally:
        with suppress(LogError):  # what ended the watch is the error to be told
            note("stopped")


class _Paused(Exception):
    """Leaves a look at the folder after the photo that was moved."""


@dataclass(eq=False)
class WatchSession:
    """on_photo: called with every photo that was moved, and the signals that left their limits with it.

    counts: photos by verdict; last_photo: the latest; not_accepted: the latest that were not accepted, the newest
    first; latest: the latest of all; problem: what is in the way now, "" for nothing; paused: set
    from outside, ends a look after a photo.
    """

    watch: Watch
    following: DriftMonitor
    on_photo: Callable[[Inspection, list[SignalAlarm]], None] = lambda row, alarms: None
    counts: Counter[str] = field(default_factory=Counter)
    last_photo: Inspection | None = None
    not_accepted: tuple[Inspection, ...] = ()
    problem: str = ""
    paused: bool = False
    latest: deque[Inspection] = field(default_factory=lambda: deque(maxlen=MOST_COMPARED))

    @property
    def causes(self) -> list[str]:
        """What the latest photos have in common that may stop them all."""
        return common_causes(self.latest)

    def poll_folder(self) -> None:
        """Look at the folder once, unless it is paused. Errors of the folder or of the log become the problem."""
        if self.paused:
            return
        try:
            self.watch.poll(self.count_photo)
            self.problem = ""
        except _Paused:
            pass
        except OSError as error:
            self.problem = str(error)

    def count_photo(self, row: Inspection) -> None:
        """Count one photo that was moved."""
        self._count(row)
        self.on_photo(row, self.following.add(row))
        if self.paused:
            raise _Paused

    def continue_from(self, since: datetime) -> None:
        """Count first what this watch moved before it was interrupted, from the log. Raises LogError."""
        record = self.following.record
        for entry in record.log.entries(kind=INSPECTION, recipe=record.inspector.digest, since=since):
            row = LoggedInspection.of_entry(entry)
            if row.source == SOURCE and Path(row.path).is_relative_to(self.watch.out):
                self._count(row)

    def _count(self, row: Inspection) -> None:
        self.counts[row.verdict] += 1
        self.last_photo = row
        self.latest.append(row)
        if row.verdict != "accept":
            self.not_accepted = (row, *self.not_accepted)[:MAX_RECENT_PHOTOS]


def require_challenge(record: AuditRecord) -> None:
    """Raise ValueError when the recipe has challenge parts whose last challenge was missed, LogError."""
    inspector = record.inspector
    if inspector.challenge_parts and (reason := why_blocked(record.log, inspector.digest)):
        raise ValueError(f"{inspector.product} cannot be used for watching: {reason}")
