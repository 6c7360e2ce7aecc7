"""A station: triggers in, one recorded verdict a part out. Everything that decides about a result stands here in order.

A part is photographed, judged, recorded in the log in one transaction, and only then is its result shown; its photos
are kept or removed after that, before the next part is taken. Whatever is killed on the way leaves a part without a
result, which its controller takes for bad; what was recorded stays recorded, and result numbers go on from the log.
"""

import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from inspect_core.audit.entry import INSPECTION, PART, NewLogEntry
from inspect_core.audit.log import AuditLog
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.inspection import Inspection
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.drift_watch import DriftMonitor
from inspect_core.line.inspector import Inspector
from inspect_core.line.photo_inspection import InspectedPhoto, inspect_photo, uninspected_row
from inspect_core.line.record import key_of
from inspect_core.runtime.program_log import log_unexpected
from inspect_core.station.handshake import Handshake, PartResult, PrepareRecipe, TakePart, Work
from inspect_core.station.parts import JudgedPart, code_on, number_in, number_of
from inspect_core.station.recipe_book import NO_RECIPE, RecipeBook
from inspect_core.station.retention import PhotoRetention
from inspect_core.station.settings import BY_CODE, BY_PRODUCT, COUNTED, FROM_CODE, FROM_NAME, StationSettings
from inspect_core.station.signals import Code, Commands, Signals
from inspect_core.station.status_board import RESET, StationStatus, StatusBoard
from inspect_core.station.view_photos import ViewPhotos

SOURCE = "station"
"""Of what is recorded here (`Inspection.source`)."""
VIEW_MISSING = "no photo came in time"
TICK_SECONDS, SHOWN_EVERY, CHALLENGE_LOOK_SECONDS = 0.1, 1.0, 60.0
PRUNE_SECONDS = 60.0


class Connection(Protocol):
    """What serves a station, or sends its results. state: in words."""

    @property
    def state(self) -> str: ...

    def close(self) -> None: ...


class Station:
    """Runs until it is closed. on_part: called with every part, once it is recorded; say: as of `ViewPhotos`.

    connections: by name, what serves it and who reads its results; stopped: set when somebody at the line asks for it.
    Raises OSError and ValueError as `RecipeBook` and `ViewPhotos`.
    """

    def __init__(
        self,
        settings: StationSettings,
        log: AuditLog,
        user: str,
        *,
        book: RecipeBook | None = None,
        on_part: Callable[[JudgedPart], None] = lambda part: None,
        say: Callable[[str], None] = lambda words: None,
    ) -> None:
        self.settings, self._log, self._user = settings, log, user
        self._on_part, self._say = on_part, say
        self._book = RecipeBook(settings, log, user) if book is None else book
        self._kept = PhotoRetention(settings.keep)
        self._photos = ViewPhotos(settings.views, self._tell)
        self._handshake = Handshake(result_number=last_number(log, settings.name))
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._recipe = settings.recipe
        self._lot = settings.lot
        self._pruned = self._challenge_seen = 0.0
        self._shown = time.monotonic()  # nothing is shown before its controller and receivers are served
        self._inspected: dict[str, InspectedPhoto] = {}
        self._last: dict[str, Any] = {}
        self._message = ""
        self._board = StatusBoard(settings.name)
        records = {inspector.digest: AuditRecord(log, inspector, user) for inspector in self._book.inspectors}
        self._drift = {digest: DriftMonitor(record) for digest, record in records.items()}
        self.connections: dict[str, Connection] = {}
        self.stopped = threading.Event()
        self._closing = threading.Event()
        self._threads = [threading.Thread(target=run, name="loupe-station") for run in (self._run, self._tick)]
        for thread in self._threads:
            thread.start()
        with self._lock:
            self._handshake.prepared(self._recipe, self._book.release_of(self._recipe))

    def close(self) -> None:
        """Stop after the part that is under way."""
        self._closing.set()
        self._work.put(None)
        for thread in self._threads:
            thread.join()
        self._photos.close()

    @property
    def signals(self) -> Signals:
        """What the controller is to see."""
        with self._lock:
            return self._handshake.signals

    def command(self, commands: Commands) -> None:
        """What the controller says now."""
        with self._lock:
            for work in self._handshake.read(commands, time.monotonic()):
                self._work.put(work)

    def _tick(self) -> None:
        while not self._closing.wait(TICK_SECONDS):
            now = time.monotonic()
            with self._lock:
                self._handshake.tick(now)
            if now - self._shown > SHOWN_EVERY:
                self._shown = now
                try:
                    self._look_around(now)
                except Exception as error:  # a board that cannot be written must not end the heartbeat
                    log_unexpected(error, f"the status of {self.settings.name}")

    def _look_around(self, now: float) -> None:
        """Look after the disk, the challenge and what people ask for, and show how things are."""
        if self.signals.ready and self._kept.is_full:
            self._fail(Code.DISK_FULL, "the disk is nearly full; free some space, then clear the error")
        for asked in self._board.requests():
            if asked == RESET:
                with self._lock:
                    self._handshake.reset_counters()
            else:
                self.stopped.set()
        if (lot := self._board.asked_lot()) is not None:
            self._lot = lot
        if now - self._challenge_seen > CHALLENGE_LOOK_SECONDS:
            self._challenge_seen = now
            due = self._book.challenge_due(self._recipe, self._log, self.settings.challenge_hours)
            with self._lock:
                self._handshake.challenge_due = due
        self._board.write(self._status())

    def _status(self) -> StationStatus:
        signals = self.signals
        states = {name: connection.state for name, connection in self.connections.items()}
        product = next(iter(self._book.views_of(self._recipe).values())).product
        facts = {place.name: int(getattr(signals, place.name)) for place in Signals.places()}
        return StationStatus(
            self.settings.name, time.time(), facts, states, product, self._last, self._message, self._lot
        )

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            if isinstance(work, PrepareRecipe):
                self._prepare(work.recipe)
                continue
            try:
                self._take(work)
            except Exception as error:  # whatever it is, the part has to have a result, and it is a bad one
                self._give_up(work, error)

    def _prepare(self, recipe: int) -> None:
        known = recipe in self._book.numbers
        with self._lock:
            if known:
                self._recipe = recipe
                self._handshake.prepared(recipe, self._book.release_of(recipe))
            else:
                self._handshake.refused()

    def _take(self, work: TakePart) -> None:
        triggered = time.time() - (time.monotonic() - work.since)
        until = triggered + self.settings.view_seconds
        photos = self._photos.take(triggered, until)
        is_whole = len(photos) == len(self.settings.views)
        if is_whole:
            with self._lock:
                self._handshake.photographed()
        part = self._inspect_part(work, photos)
        if not is_whole:
            # A photo that comes now must not be taken for one of the next part.
            time.sleep(max(0.0, until + self.settings.view_seconds - time.time()))
        self._photos.leftovers()
        part = replace(part, milliseconds=round(1000 * (time.monotonic() - work.since)))
        part = self._recorded(part, photos)
        self._show(part, work)
        try:
            self._after(part, photos)
        except Exception as error:  # the part has its result; nothing that follows may give it another
            self._tell(f"{error} ({log_unexpected(error, f'after part {part.part} at {self.settings.name}')})")

    def _inspect_part(self, work: TakePart, photos: Mapping[str, Path]) -> JudgedPart:
        pixels = {}
        if self.settings.choose in (BY_CODE, BY_PRODUCT) or self.settings.part_number == FROM_CODE:
            with suppress(ImageError):  # the reason is that of its row
                pixels = {view: read(photo).pixels for view, photo in photos.items()}
        codes = {code_on(values) for values in pixels.values()} - {""} if self._reads_codes else set()
        code = codes.pop() if len(codes) == 1 else ""
        recipe = self._recipe
        if self.settings.choose == BY_CODE:
            recipe = self._book.number_of_code(code) or 0
        elif self.settings.choose == BY_PRODUCT:
            recipe = (self._book.number_of_product(pixels) or 0) if len(pixels) == len(self.settings.views) else 0
        inspectors = self._book.views_of(recipe or self._recipe)
        self._inspected = {}
        reason = "" if recipe else NO_RECIPE
        rows = {
            view.name: self._row(inspectors[view.name], view.name, photos.get(view.name), reason)
            for view in self.settings.views
        }
        number = self._handshake.next_number
        part = self._number_of(work, code, photos, number)
        missing = Code.VIEW_MISSING if len(photos) < len(rows) else Code.NONE
        return JudgedPart(
            self.settings.name, number, part, self._lot, recipe, rows, Code.NO_RECIPE if reason else missing
        )

    @property
    def _reads_codes(self) -> bool:
        return self.settings.choose == BY_CODE or self.settings.part_number == FROM_CODE

    def _row(self, inspector: Inspector, view: str, photo: Path | None, reason: str) -> Inspection:
        if photo is None:
            return uninspected_row(inspector, view, reason=VIEW_MISSING)
        if reason:
            return uninspected_row(inspector, photo.name, reason=reason)
        self._inspected[view] = inspect_photo(inspector, photo.name, photo)
        return self._inspected[view].row

    def _number_of(self, work: TakePart, code: str, photos: Mapping[str, Path], number: int) -> str:
        if self.settings.part_number == COUNTED:
            return f"{number}"
        if self.settings.part_number == FROM_CODE:
            return code
        if self.settings.part_number == FROM_NAME:
            return next((number_of(self.settings.part_pattern, photo.stem) for photo in photos.values()), "")
        return f"{work.part}"

    def _recorded(self, part: JudgedPart, photos: Mapping[str, Path]) -> JudgedPart:
        """The part once it is in the log, with where its photos will stay; all of it in one transaction."""
        rows = {}
        for view, row in part.views.items():
            photo = photos.get(view)
            place = photo and self._kept.place_of(part.number, part.part, view, row, photo)
            rows[view] = replace(
                row,
                part=part.part,
                lot=part.lot,
                view=view,
                path=str(place or ""),
                source=SOURCE,
                trial=self.settings.trial,
            )
        part = replace(part, views=rows)
        inspectors = self._book.views_of(part.recipe or self._recipe)
        of_part = SOURCE, self.settings.name, f"{part.number}"
        entries = [
            NewLogEntry(
                INSPECTION, row.facts(), self._user, inspectors[view].product, row.recipe, key_of(*of_part, view)
            )
            for view, row in rows.items()
        ]
        _, first = part.worst
        product = next(iter(inspectors.values())).product
        entries.append(NewLogEntry(PART, part.facts(), self._user, product, first.recipe, key_of(*of_part)))
        self._log.append_all(entries)
        return part

    def _show(self, part: JudgedPart, work: TakePart) -> None:
        in_place = work.part if self.settings.part_number not in (FROM_CODE, FROM_NAME) else number_in(part.part)
        result = PartResult(
            part.number,
            part.number if self.settings.part_number == COUNTED else in_place,
            part.verdict,
            part.reason_code,
            part.recipe,
            part.share_of_limit,
            round(1000 * (time.monotonic() - work.since)),
        )
        with self._lock:
            self._handshake.add_result(result)

    def _after(self, part: JudgedPart, photos: Mapping[str, Path]) -> None:
        """What need not be done before the result is shown: photos kept or removed, drift, the picture for people."""
        for view, photo in photos.items():
            path = part.views[view].path
            self._kept.take(photo, Path(path) if path else None)
        for row in part.views.values():
            if row.recipe in self._drift and self._drift[row.recipe].add(row):
                with self._lock:
                    self._handshake.drift = True
        view, row = part.worst
        decisive = self._inspected.get(view)
        if decisive is not None and decisive.picture is not None and decisive.verdict is not None:
            self._board.show(part.number, decisive.picture.pixels, decisive.verdict, row.review)
        self._last = part.facts()
        self._board.write(self._status())
        self._on_part(part)
        if time.monotonic() - self._pruned > PRUNE_SECONDS:
            self._pruned = time.monotonic()
            self._kept.prune()

    def _give_up(self, work: TakePart, error: Exception) -> None:
        is_disk = isinstance(error, OSError)
        words = str(error) or type(error).__name__
        if not is_disk:
            words = f"{words} ({log_unexpected(error, f'part {work.part} at {self.settings.name}')})"
        took = round(1000 * (time.monotonic() - work.since))
        with self._lock:
            number = self._handshake.next_number
            code = Code.LOG_UNUSABLE if is_disk else Code.INTERNAL
            self._handshake.add_result(PartResult(number, work.part, "not judged", code, 0, 0, took))
        self._fail(code, words)

    def _fail(self, code: Code, words: str) -> None:
        with self._lock:
            self._handshake.failed(code)
        self._tell(words)

    def _tell(self, words: str) -> None:
        self._message = f"{time.strftime('%H:%M')} {words}"
        self._say(words)


def last_number(log: AuditLog, station: str) -> int:
    """The number of the last result of a station, 0 before the first. Raises LogError."""
    for entry in log.entries(kind=PART, newest=10_000):
        number = entry.facts.get("number")
        if entry.facts.get("station") == station and isinstance(number, int):
            return number
    return 0
