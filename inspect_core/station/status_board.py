"""What a station shows to people: one folder of the workspace, written by the station and read by the app's page.

A page asks for a reset or a stop by a file of that name, which the station takes away. A connection is a state here,
never an exception.
"""

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from inspect_core.images.heatmap import overlay
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.runtime.wording import escape_line
from inspect_core.runtime.workspace import file_name
from inspect_core.verdict import Verdict

RESET, STOP = "reset", "stop"
ALIVE_SECONDS = 5.0
"""Without a new status, after which a station is taken for stopped."""
SIDE = 1280
"""Pixels of the longer side of the last picture, at most."""
LONGEST_LOT = 60
PICTURES_KEPT = 3
_STATUS, _PICTURES, _LOT = "status.json", "part-*.jpg", "lot"


@dataclass(frozen=True)
class StationStatus:
    """name: of the station; written: seconds since 1970; signals: by name; connections: state of each, in words, by
    name; product: which the recipe in force is for; last: facts of the last part (`parts.JudgedPart.facts`), empty
    before the first; message: what the person at the line should know, "" for nothing; lot: of the parts from now on.
    """

    name: str
    written: float
    signals: Mapping[str, int]
    connections: Mapping[str, str]
    product: str
    last: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    lot: str = ""

    @property
    def is_running(self) -> bool:
        """Whether it was written just now."""
        return abs(time.time() - self.written) < ALIVE_SECONDS


class StatusBoard:
    """The folder of one station."""

    def __init__(self, station: str) -> None:
        self.folder = workspace.stations_folder() / file_name(station)
        self.folder.mkdir(parents=True, exist_ok=True)
        for request in (RESET, STOP):
            (self.folder / request).unlink(missing_ok=True)

    def write(self, status: StationStatus) -> None:
        """Raises OSError."""
        with atomic_replace(self.folder / _STATUS) as new:
            new.write_text(json.dumps(asdict(status)), encoding="utf-8")

    def show(self, number: int, pixels: np.ndarray, verdict: Verdict, review: float) -> None:
        """Write the picture of the part with this result number: its photo, (H, W, 3) uint8 RGB, with the heatmap.

        That of the part before stays, until its number is no longer in the status. Raises OSError.
        """
        drawn = np.asarray(overlay(pixels, verdict.photo_map, review, left_out=verdict.photo_uninspected))
        scale = min(1.0, SIDE / max(drawn.shape[:2]))
        small = cv2.resize(drawn, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else drawn
        content = cv2.imencode(".jpg", small[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()
        with atomic_replace(_picture(self.folder, number)) as new:
            new.write_bytes(content)
        for path in sorted(self.folder.glob(_PICTURES))[:-PICTURES_KEPT]:
            path.unlink(missing_ok=True)

    def asked_lot(self) -> str | None:
        """The lot that was asked for last, None where nobody did."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return (self.folder / _LOT).read_text(encoding="utf-8")[:LONGEST_LOT]
        return None

    def requests(self) -> list[str]:
        """What people have asked for since, each once."""
        asked = []
        for request in (RESET, STOP):
            with contextlib.suppress(FileNotFoundError):
                (self.folder / request).unlink()
                asked.append(request)
        return asked


def read_statuses() -> list[StationStatus]:
    """Those of all stations of this workspace, running ones first; a damaged one is left out."""
    statuses = []
    for path in sorted(workspace.stations_folder().glob(f"*/{_STATUS}")):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            statuses.append(StationStatus(**json.loads(path.read_bytes())))
    return sorted(statuses, key=lambda status: not status.is_running)


def picture_of_last(status: StationStatus) -> bytes | None:
    """The JPEG of the part that a status names as the last; None where it has none, and never that of another part."""
    with contextlib.suppress(OSError, KeyError, TypeError, ValueError):
        return _picture(workspace.stations_folder() / file_name(status.name), int(status.last["number"])).read_bytes()
    return None


def request(station: str, what_for: str) -> None:
    """Ask a station for RESET or STOP. Raises OSError."""
    (workspace.stations_folder() / file_name(station) / what_for).touch()


def ask_lot(station: str, lot: str) -> None:
    """Ask a station to record its parts under this lot from now on, also after a restart. Raises OSError."""
    with atomic_replace(workspace.stations_folder() / file_name(station) / _LOT) as new:
        new.write_text(escape_line(lot)[:LONGEST_LOT], encoding="utf-8")


def _picture(folder: Path, number: int) -> Path:
    return folder / f"part-{number:010d}.jpg"
