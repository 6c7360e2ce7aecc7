"""A watch that goes on, for command line and app: what it has counted, what it saw last, what is in its way."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from inspect_core.audit.challenges import why_blocked
from inspect_core.line.audit_record import Logged
from inspect_core.line.drift_watch import Following
from inspect_core.line.record import Facts
from inspect_core.line.watch import Watch
from inspect_core.process.drift_signals import Left

EVERY = 0.5
"""Seconds between two looks at the folder."""
KEPT = 8


class _Paused(Exception):
    """Leaves a look at the folder after the photo that was moved."""


@dataclass(eq=False)
class Shift:
    """told: called with every photo that was moved, and the signals that left their limits with it.

    counts: photos by verdict; last: facts of the latest photo; stopped: of the latest that were not accepted, the
    newest first; problem: what is in the way now, "" for nothing; paused: set from outside, ends a look after a photo.
    """

    watch: Watch
    following: Following
    told: Callable[[Facts, list[Left]], None] = lambda facts, left: None
    counts: Counter[str] = field(default_factory=Counter)
    last: Facts | None = None
    stopped: tuple[Facts, ...] = ()
    problem: str = ""
    paused: bool = False

    def look(self) -> None:
        """Look at the folder once, unless it is paused. Errors of the folder or of the log become the problem."""
        if self.paused:
            return
        try:
            self.watch.poll(self.take)
            self.problem = ""
        except _Paused:
            pass
        except OSError as error:
            self.problem = str(error)

    def take(self, facts: Facts) -> None:
        """Count one photo that was moved."""
        self.counts[str(facts["verdict"])] += 1
        self.last = facts
        if facts["verdict"] != "accept":
            self.stopped = (facts, *self.stopped)[:KEPT]
        self.told(facts, self.following.add(facts))
        if self.paused:
            raise _Paused


def require_challenge(record: Logged) -> None:
    """Raise ValueError when the recipe has challenge parts whose last challenge was missed, LogError."""
    inspector = record.inspector
    if inspector.challenge and (why := why_blocked(record.log, inspector.digest)):
        raise ValueError(f"{inspector.product} cannot be used for watching: {why}")
