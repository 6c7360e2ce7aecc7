"""A watched folder: photos are judged as they come and moved into the folder of their verdict.

The order keeps log and folders consistent, whenever the process is killed: a photo is judged, recorded once under its
own key, then moved to the place named in the record. At the next start, a photo that was recorded but not moved is
moved by its record; one that was not recorded is judged.
"""

import hashlib
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from inspect_core.images.listing import is_image, walk
from inspect_core.line.inspector import Inspector
from inspect_core.line.overlap import in_order
from inspect_core.line.placing import free_name, move
from inspect_core.line.record import Facts, Record, facts_of, key_of
from inspect_core.line.row import file_digest, judge
from inspect_core.package.place import PlaceError, check_folder
from inspect_core.runtime import workspace
from inspect_core.runtime.unfinished import lock
from inspect_core.verdict import NOT_JUDGED, OUTCOMES

FOLDERS = {outcome: outcome.replace(" ", "_") for outcome in OUTCOMES}
STEADY, PATIENCE = 1.0, 10.0
"""Seconds without a change after which a photo is taken, and after which an unreadable one is recorded as not
judged.
"""


class _Seen(NamedTuple):
    size: int
    written: int
    since: float


class _Arrival(NamedTuple):
    """A photo ready to be moved; file: SHA-256 of its file; facts: as recorded, or about to be under the key."""

    name: str
    file: str
    key: str
    facts: Facts


class Watch:
    """Judges what comes into `folder`, at any depth, and moves it into the folders of `out`. Use inside `watching`.

    waiting: photos that the last poll saw but did not take, since they still change or cannot be read yet.
    """

    def __init__(
        self, inspector: Inspector, folder: Path, out: Path, record: Record,
        *, steady: float = STEADY, patience: float = PATIENCE,
    ) -> None:  # fmt: skip
        self.inspector, self.folder, self.out, self.record = inspector, folder, Path(os.path.realpath(out)), record
        self.steady, self.patience = steady, patience
        self.waiting = 0
        self._seen: dict[str, _Seen] = {}

    def poll(self, told: Callable[[Facts], None] = lambda facts: None) -> int:
        """Take every photo that no longer changes; return how many were moved. `told` is called after each move.

        Raises OSError, naming folder and remedy, when a folder is missing or read-only, the disk is full or the log
        cannot be written. Nothing is lost then, and the next call goes on.
        """
        now = time.monotonic()
        self._seen = {name: self._since(name, found, now) for name, found in self._found()}
        ready = [name for name, seen in self._seen.items() if now - seen.since >= self.steady]
        self.waiting, taken = len(self._seen), 0
        for arrival in in_order(self._judge, ready):
            if arrival is not None:
                told(self._settle(arrival))
                del self._seen[arrival.name]
                self.waiting, taken = self.waiting - 1, taken + 1
        return taken

    def _found(self) -> Iterator[tuple[str, os.stat_result]]:
        for name, problem in walk(self.folder):
            if problem:
                raise OSError(f"{self.folder / name}: {problem}")
            if is_image(name) and (facts := workspace.ordinary(self.folder / name)) is not None:
                yield name, facts

    def _since(self, name: str, found: os.stat_result, now: float) -> _Seen:
        before = self._seen.get(name)
        same = before is not None and (before.size, before.written) == (found.st_size, found.st_mtime_ns)
        return before if before is not None and same else _Seen(found.st_size, found.st_mtime_ns, now)

    def _judge(self, name: str) -> _Arrival | None:
        """The photo with its record in the log, else the inspector's result; None when it must wait or has gone."""
        path, seen, file = self.folder / name, self._seen[name], ""
        try:
            file = file_digest(path)
        except FileNotFoundError:
            return None
        except OSError:
            pass  # `judge` gives the reason why it cannot be read
        key = key_of("watch", self.inspector.digest, file, str(seen.written), name)
        known = self.record.find(key)
        if known is not None:
            return _Arrival(name, file, key, known)
        row = judge(self.inspector, name, path, file=file).row
        now = workspace.ordinary(path)
        if now is None or (now.st_size, now.st_mtime_ns) != (seen.size, seen.written):
            return None
        if row.verdict == NOT_JUDGED and time.monotonic() - seen.since < self.patience:
            return None
        return _Arrival(name, file, key, facts_of(row, path="", source="watch"))

    def _settle(self, arrival: _Arrival) -> Facts:
        """Record the photo, then move it to where the record says."""
        self._require_out()
        facts = arrival.facts
        if not facts["path"]:
            target = self._target(arrival)
            facts = self.record.append(arrival.key, {**facts, "path": str(target)})
        target = Path(str(facts["path"]))
        if not target.is_relative_to(self.out):  # recorded when photos went elsewhere
            target = self._target(arrival)
        target.parent.mkdir(parents=True, exist_ok=True)
        move(self.folder / arrival.name, target, arrival.file)
        return facts

    def _target(self, arrival: _Arrival) -> Path:
        below = self.out / FOLDERS[str(arrival.facts["verdict"])]
        return below / free_name(below, arrival.name, arrival.file)

    def _require_out(self) -> None:
        """A missing folder may be a drive that was removed: anything written in its place would be lost."""
        if not self.out.is_dir():
            raise OSError(f"the output folder {self.out} is gone; put it back, and photos are moved again")


@contextmanager
def watching(folder: Path, out: Path) -> Generator[None]:
    """Hold both folders for one watch of this workspace; `out` and the folders of the verdicts are made.

    Raises PlaceError when one lies in the other or another watch holds one, OSError when they cannot be used.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; check the path")
    if workspace.lies_in(out, folder) or workspace.lies_in(folder, out):
        raise PlaceError(
            f"{out} is the watched folder {folder}, contains it or lies in it; choose another output folder"
        )
    check_folder(out / FOLDERS[NOT_JUDGED])
    with _held(folder), _held(out):
        for name in FOLDERS.values():
            (out / name).mkdir(parents=True, exist_ok=True)
        yield


@contextmanager
def _held(folder: Path) -> Generator[None]:
    workspace.held_folder().mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    with (workspace.held_folder() / name).open("ab") as file:
        if not lock(file, wait=False):
            raise PlaceError(f"{folder} is used by another watch; stop that one first")
        yield
