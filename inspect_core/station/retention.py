"""Photos of parts that stay, below one folder: a day a folder, named by result number, part, view and verdict."""

import re
import shutil
import time
from datetime import datetime
from pathlib import Path

from inspect_core.inspection import Inspection
from inspect_core.runtime.workspace import file_name
from inspect_core.station.settings import Retention

GIGABYTE = 1e9
DAY_SECONDS = 86_400
_DAY = re.compile(r"[0-9]{8}")
_PHOTO = re.compile(r"[0-9]{10} .*")


class PhotoRetention:
    """The photos that `settings` keeps. Only what has the names of this class is ever removed."""

    def __init__(self, settings: Retention) -> None:
        self._settings = settings
        self._folder = Path(settings.folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._accepted = 0

    @property
    def is_full(self) -> bool:
        """Whether the disk has too little space left for a station to be ready."""
        return shutil.disk_usage(self._folder).free < self._settings.least_free_gigabytes * GIGABYTE

    def place_of(self, number: int, part: str, view: str, row: Inspection, photo: Path) -> Path | None:
        """Where the photo of a view stays; None where it does not."""
        if row.verdict == "accept":
            every = self._settings.accepted_every
            self._accepted += 1
            if not every or self._accepted % every:
                return None
        day = self._folder / f"{datetime.now():%Y%m%d}"
        words = " ".join(filter(None, (file_name(part) if part else "", view, row.verdict)))
        return day / f"{number:010d} {words}{photo.suffix.lower()}"

    def take(self, photo: Path, place: Path | None) -> None:
        """Move a photo to its place, or remove it where it has none. Raises OSError."""
        if place is None:
            photo.unlink(missing_ok=True)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(photo, place)

    def prune(self) -> int:
        """Remove what is too old, then the oldest of what is too much; return how many photos."""
        photos = [
            (path, path.stat())
            for day in sorted(self._folder.iterdir())
            if day.is_dir() and _DAY.fullmatch(day.name)
            for path in sorted(day.iterdir())
            if _PHOTO.fullmatch(path.name) and path.is_file()
        ]
        oldest = time.time() - self._settings.days * DAY_SECONDS
        too_much = sum(facts.st_size for _, facts in photos) - self._settings.gigabytes * GIGABYTE
        removed = 0
        for path, facts in photos:
            if facts.st_mtime >= oldest and too_much <= 0:
                continue
            path.unlink(missing_ok=True)
            too_much -= facts.st_size
            removed += 1
        for day in self._folder.iterdir():
            if _DAY.fullmatch(day.name) and day.is_dir() and not any(day.iterdir()):
                day.rmdir()
        return removed
