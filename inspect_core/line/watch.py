"""A watched folder: photos are judged as they come and moved into the folder of their verdict.

The order keeps log and folders consistent, whenever the process is killed: a photo is claimed (`line.photo_claims`),
judged, recorded once under its own key, then moved to the place named in the record. At the next start, a photo that
was recorded but not moved is moved by its record; one that was not recorded is judged.
"""

import errno
import hashlib
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from inspect_core.datasets.listing import is_clutter, is_picture, walk
from inspect_core.inspection import Inspection
from inspect_core.line.batch import BatchInspector
from inspect_core.line.inspector import Inspector
from inspect_core.line.photo_claims import (
    CLAIMED,
    claim,
    free_name,
    is_claim,
    is_released,
    move,
    name_of,
    release_claim,
    remove_if_empty,
)
from inspect_core.line.photo_inspection import PhotoInspection, compute, finish, prepare
from inspect_core.line.record import Record, key_of
from inspect_core.recipe_format.output_paths import OutputPathError, check_folder
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import lock
from inspect_core.runtime.ordered_pool import in_batches, in_order
from inspect_core.runtime.workspace import file_digest
from inspect_core.verdict import ALL_VERDICTS, NOT_JUDGED

FOLDERS = {outcome: outcome.replace(" ", "_") for outcome in ALL_VERDICTS}
SOURCE = "watch"
"""Of what is recorded here (`Inspection.source`)."""
SETTLE_SECONDS = 1.0
"""Without a change, after which a photo is taken."""
BACKLOG = 500
"""Photos that lie there at once from which on it is worth to ask others (`sharding.worker_selection`)."""
GIVE_UP_SECONDS = 10.0
"""After which an unreadable photo is recorded as not judged."""
_FOR_ALL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""Errors of one photo that all others would meet as well."""


class UnprocessedPhotos(OSError):
    """Photos that cannot be taken; all others were."""


class _FileState(NamedTuple):
    """is_unreadable: whether the photo could not be read, as it is."""

    size: int
    written: int
    since: float
    is_unreadable: bool = False


class _Arrival(NamedTuple):
    """A claimed photo.

    file: SHA-256 of its file; row: as recorded, or about to be; None as long as the inspection is under way.
    """

    path: str
    claimed: Path
    name: str
    file: str
    key: str
    row: Inspection | None
    inspection: PhotoInspection | None = None


@dataclass(eq=False)
class Watch:
    """Judges what comes into `folder`, at any depth, and moves it into the folders of `out`. Use inside `watching`.

    strict, trial: as `batch.run` takes them; judging: who judges BACKLOG photos or more at once, None for this process.
    waiting: photos that the last poll saw but did not take, since they still change or cannot be read yet.
    """

    inspector: Inspector
    folder: Path
    out: Path
    record: Record
    _: KW_ONLY
    settle_seconds: float = SETTLE_SECONDS
    give_up_seconds: float = GIVE_UP_SECONDS
    strict: bool = False
    trial: bool = False
    judging: BatchInspector | None = None
    waiting: int = field(default=0, init=False)
    _seen: dict[str, _FileState] = field(default_factory=dict, init=False)
    _claims: dict[Path, bool] = field(default_factory=dict, init=False)
    _problems: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.out = Path(os.path.realpath(self.out))

    def poll(self, on_moved: Callable[[Inspection], None] = lambda row: None) -> int:
        """Take every photo that no longer changes; return how many were moved. `on_moved` is called after each move.

        Raises OSError, naming folder and remedy, when a folder is missing, the disk is full or the log cannot be
        written; UnprocessedPhotos, once all others are moved, for photos that cannot be. Nothing is lost then,
        and the next call goes on.
        """
        now = time.monotonic()
        moved_count = 0
        self._problems = {}
        self._seen = {path: self._since(path, state, now) for path, state in self._files()}
        ready = [
            path
            for path, file_state in self._seen.items()
            if now - file_state.since >= (self.give_up_seconds if file_state.is_unreadable else self.settle_seconds)
        ]
        if ready:
            self._require_out()
        try:
            with closing(self._arrivals(ready)) as arrivals:
                for path, arrival in arrivals:
                    if arrival is not None and (row := self._settle(path, arrival)) is not None:
                        del self._seen[path]
                        moved_count += 1
                        on_moved(row)
        finally:
            self.waiting = len(self._seen.keys() - self._problems.keys())
            self._give_back()
        if self._problems:
            first, *others = self._problems.values()
            raise UnprocessedPhotos(f"{first} (and {len(others):,} more photos)" if others else first)
        return moved_count

    def _arrivals(self, ready: list[str]) -> Generator[tuple[str, _Arrival | None]]:
        """Each of these photos with its verdict, in any order; None for one that must wait or is gone."""
        if self.judging is None or len(ready) < BACKLOG:
            steps = self._take, self._compute, self._judge
            with closing(in_batches(*steps, ready, at_once=self.inspector.at_once)) as arrivals:
                yield from zip(ready, arrivals, strict=True)
            return
        numbered: dict[str, _Arrival] = {}
        with closing(in_order(self._claim, ready)) as claimed:
            for number, (path, arrival) in enumerate(zip(ready, claimed, strict=True)):
                if arrival is None or arrival.row is not None:
                    yield path, arrival
                else:
                    numbered[str(number)] = arrival  # two folders may hold one name
        photos = [(number, arrival.claimed) for number, arrival in numbered.items()]
        for together in self.judging(self.inspector, photos, None):
            for row, *_ in together:
                arrival = numbered[row.name]
                yield arrival.path, self._with_verdict(arrival, replace(row, name=arrival.name))

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        for path, problem in walk(self.folder, passed_over=lambda name: is_clutter(name) and name != CLAIMED):
            if problem:
                self._problems[path] = f"{self.folder / path}: {problem}"
                continue
            lies = self.folder / path
            if not is_picture(lies) or (is_claim(lies) and is_released(lies)):
                continue
            if (facts := workspace.regular_file_stat(lies)) is not None:
                yield path, facts

    def _since(self, path: str, state: os.stat_result, now: float) -> _FileState:
        before = self._seen.get(path)
        file_state = _FileState(state.st_size, state.st_mtime_ns, now)
        return before if before is not None and before[:2] == file_state[:2] else file_state

    def _take(self, path: str) -> _Arrival | None:
        """The photo with its record, else read for inspection; None when it must wait or is gone."""
        arrival = self._claim(path)
        if arrival is None or arrival.row is not None:
            return arrival
        inspection = prepare(self.inspector, arrival.name, arrival.claimed, file=arrival.file, keep=False)
        return arrival._replace(inspection=inspection)

    def _claim(self, path: str) -> _Arrival | None:
        """The photo with its record if it has one; None when it must wait or is gone."""
        file_state = self._seen[path]
        name = name_of(path)
        file = ""
        try:
            claimed = claim(self.folder / path)
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = error.strerror or error
            self._problems[path] = (
                f"{self.folder / path} cannot be picked up ({reason}); check its folder and permissions"
            )
            return None
        if claimed is not None:
            self._claims[claimed] = False
        if claimed is None or not _is_as(file_state, claimed):
            return None
        with suppress(OSError):  # `judge` gives the reason why it cannot be read
            file = file_digest(claimed)
        judged_by = self.inspector.release or self.inspector.digest
        modes = [*["strict"] * self.strict, *["trial"] * self.trial]
        key = key_of(SOURCE, judged_by, file, str(file_state.written), name, *modes)
        if (known := self.record.find(key)) is not None:
            self._claims[claimed] = True
            return _Arrival(path, claimed, name, file, key, known)
        return _Arrival(path, claimed, name, file, key, None)

    def _compute(self, arrivals: list[_Arrival | None]) -> list[_Arrival | None]:
        inspections = [arrival and arrival.inspection for arrival in arrivals]
        compute(self.inspector, [inspection for inspection in inspections if inspection is not None])
        return arrivals

    def _judge(self, arrival: _Arrival | None) -> _Arrival | None:
        """The photo with its verdict; None when it must wait."""
        if arrival is None or arrival.inspection is None:
            return arrival
        return self._with_verdict(arrival, finish(self.inspector, arrival.inspection).row)

    def _with_verdict(self, arrival: _Arrival, row: Inspection) -> _Arrival | None:
        """The photo with this verdict; None when it must wait."""
        row = row.in_strict_mode() if self.strict else row
        file_state = self._seen[arrival.path]
        if row.verdict == NOT_JUDGED and time.monotonic() - file_state.since < self.give_up_seconds:
            self._seen[arrival.path] = file_state._replace(is_unreadable=True)
            return None
        return arrival._replace(row=replace(row, source=SOURCE, trial=self.trial), inspection=None)

    def _settle(self, path: str, arrival: _Arrival) -> Inspection | None:
        """Record the photo, then move it to where the record says; None when it must wait or cannot be moved."""
        self._require_out()
        row = arrival.row
        if row is None or not _is_as(self._seen[path], arrival.claimed):
            return None
        self._claims[arrival.claimed] = True
        if not row.path:
            row = self.record.append(arrival.key, replace(row, path=str(self._target(arrival, row))))
        target = Path(row.path)
        if not target.is_relative_to(self.out):  # recorded when photos went elsewhere
            target = self._target(arrival, row)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            move(arrival.claimed, target, arrival.file)
        except OSError as error:
            if error.errno in _FOR_ALL:
                raise
            reason = error.strerror or error
            self._problems[path] = (
                f"{arrival.claimed} cannot be moved to {target} ({reason}); make its folder writable and remove any "
                "conflicting file"
            )
            return None
        return row

    def _target(self, arrival: _Arrival, row: Inspection) -> Path:
        below = self.out / FOLDERS[row.verdict]
        return below / free_name(below, arrival.name, arrival.file)

    def _give_back(self) -> None:
        for claimed, recorded in self._claims.items():
            if not recorded:
                release_claim(claimed)
            remove_if_empty(claimed.parent)
        self._claims.clear()

    def _require_out(self) -> None:
        """Raise OSError for a missing folder: a removed drive, perhaps; what is written instead would be lost."""
        if not self.out.is_dir():
            raise OSError(f"the output folder {self.out} is missing; restore it and watching continues")


def _is_as(file_state: _FileState, path: Path) -> bool:
    now = workspace.regular_file_stat(path)
    return now is not None and (now.st_size, now.st_mtime_ns) == (file_state.size, file_state.written)


@contextmanager
def watching(folder: Path, out: Path) -> Generator[None]:
    """Hold both folders for one watch of this workspace; `out` and the folders of the verdicts are made.

    Raises OutputPathError when one lies in the other or another watch holds one, OSError when they cannot be used.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; check the path")
    if workspace.is_inside(out, folder) or workspace.is_inside(folder, out):
        raise OutputPathError(f"{out} overlaps the watched folder {folder}; choose another output folder")
    check_folder(out / FOLDERS[NOT_JUDGED])
    with _locked(folder), _locked(out):
        for name in FOLDERS.values():
            (out / name).mkdir(parents=True, exist_ok=True)
        for claimed in folder.rglob(CLAIMED):
            remove_if_empty(claimed)
        yield


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    workspace.locks_folder().mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    with (workspace.locks_folder() / name).open("ab") as file:
        if not lock(file, wait=False):
            raise OutputPathError(f"{folder} is already being watched; stop that watch first")
        yield
