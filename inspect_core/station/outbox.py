"""Recorded parts sent elsewhere, in order and none left out: a reader of the audit log that remembers its place.

A part is sent until the receiver has confirmed it, then the place moves on; after a kill it goes on from there. Between
a confirmation and the note of it a kill sends one message again, with the same `id`, by which a receiver knows it. A
receiver that is gone delays nothing but its own messages.
"""

import json
import threading
import time
from typing import Any, Protocol

from inspect_core.audit.entry import PART, LogEntry
from inspect_core.audit.log import AuditLog
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.runtime.json_text import from_json
from inspect_core.runtime.program_log import log_unexpected
from inspect_core.runtime.workspace import file_name

LOOK_SECONDS = 0.1
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
"""Seconds before a message is sent again; each time twice as long."""


class Receiver(Protocol):
    """Where messages go."""

    name: str

    def send(self, message: dict[str, Any]) -> None:
        """Send one, and return once it is confirmed. Raises OSError, with the reason."""
        ...

    def close(self) -> None: ...


class Outbox:
    """Sends the parts of a station to a receiver until it is closed. state: of the connection, in words."""

    def __init__(self, station: str, receiver: Receiver, log: AuditLog) -> None:
        self._station, self._receiver, self._log, self._name = station, receiver, log, receiver.name
        self._place = workspace.root() / "outboxes" / f"{file_name(station)}-{file_name(receiver.name)}.json"
        self._last = self._remembered()
        self._closing = threading.Event()
        self.sent = 0
        self.state = "nothing sent yet"
        self._thread = threading.Thread(target=self._run, name=f"loupe-outbox-{receiver.name}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send no more; the rest is sent after the next start."""
        self._closing.set()
        self._thread.join()
        self._receiver.close()

    def _remembered(self) -> int:
        """The entry that was confirmed last; for a receiver that is new, the last one there is."""
        try:
            return int(from_json(self._place.read_bytes())["entry"])
        except FileNotFoundError:
            number, _ = self._log.head()
            self._remember(number)
            return number
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self._place} is damaged ({error}); remove it, and messages begin with new parts"
            ) from error

    def _remember(self, number: int) -> None:
        self._place.parent.mkdir(parents=True, exist_ok=True)
        with atomic_replace(self._place) as new:
            new.write_text(json.dumps({"entry": number}), encoding="utf-8")
        self._last = number

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._closing.is_set():
            try:
                for entry in self._log.entries(kind=PART, after=self._last):
                    if self._closing.is_set():
                        return
                    if entry.facts.get("station") == self._station:
                        self._receiver.send(message_of(entry))
                        self.sent += 1
                        self.state = f"connected, {self.sent} sent"
                    self._remember(entry.number)
                    pause = FIRST_PAUSE
            except Exception as error:  # whatever a receiver raises: what is recorded must not stop being sent
                words = str(error) if isinstance(error, OSError) else log_unexpected(error, f"sending to {self._name}")
                self.state = f"no connection since {time.strftime('%H:%M:%S')}: {words}"
                self._closing.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            self._closing.wait(LOOK_SECONDS)


def message_of(entry: LogEntry) -> dict[str, Any]:
    """What is sent of a part: its facts, with the time and digest of its entry; `id` is the same each time."""
    return {"id": entry.digest, "time": entry.time, "product": entry.product, **entry.facts}
