"""A camera before a watch folder: photos are written into it as PNG, named by their time; the rest is the watch."""

import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import cv2
import numpy as np

RETRY_SECONDS = 2.0
"""Seconds between two tries to find a lost camera, or to write on a full disk."""
MOVING = 4.0
"""Mean grey levels by which a small picture differs from the one before, in motion."""
RESTING = 1.5
"""The same at rest."""
REST_SECONDS = 0.3
"""Seconds of rest after which a photo is taken."""
SMALL = (64, 48)
MAX_NUMBER = 999  # of a camera
UNFINISHED_SECONDS = 60.0
"""Age from which on a photo that is not whole is one of a camera that was killed."""

cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)  # it prints addresses, with their passwords


def without_password(address: str) -> str:
    """A camera's source as it may be shown: a number, a file's name, or scheme and host of an address.

    A password may be anywhere else: before an @, in a query, in a pipeline. Where it is not certain which part is the
    host, that is left out too.
    """
    if re.fullmatch(r"[0-9]{1,9}", address):
        return address
    with suppress(OSError, ValueError):
        if Path(address).exists():
            return Path(address).name
    match = re.fullmatch(
        r"([a-z][a-z0-9+.-]*)://(?:[^/?#@\s]*@)?([\w.:\[\]-]+)(?:[/?#][^@\s]*)?", address, re.IGNORECASE
    )
    if match:
        return f"{match[1]}://{match[2]}"
    scheme = re.match(r"([a-z][a-z0-9+.-]*)://", address, re.IGNORECASE)
    return f"{scheme[1]}://…" if scheme else "by the address given"


@dataclass
class Trigger:
    """When a frame becomes a photo: every so many seconds, when the part rests after it has moved, or when asked.

    every: seconds, None for the other ways; at_rest: whether a part that comes to rest is taken.
    """

    every: float | None = None
    at_rest: bool = False

    def __post_init__(self) -> None:
        self._asked = threading.Event()
        self._last = -np.inf
        self._before = None
        self._moved = False
        self._still_since = None

    def ask(self) -> None:
        """Take the next frame."""
        self._asked.set()

    def takes(self, frame: np.ndarray, now: float) -> bool:
        """Whether this frame, (H, W, 3) uint8, seen at `now` seconds, is to be a photo."""
        if self._asked.is_set():
            self._asked.clear()
            return True
        if self.every is not None and now - self._last >= self.every:
            self._last = now
            return True
        return self.at_rest and self._has_come_to_rest(frame, now)

    def _has_come_to_rest(self, frame: np.ndarray, now: float) -> bool:
        small = cv2.cvtColor(cv2.resize(frame, SMALL, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
        grey = small.astype(np.float32)
        differs = 0.0 if self._before is None else float(np.abs(grey - self._before).mean())
        self._before = grey
        if differs > RESTING:
            self._moved, self._still_since = self._moved or differs > MOVING, None
            return False
        self._still_since = now if self._still_since is None else self._still_since
        if not self._moved or now - self._still_since < REST_SECONDS:
            return False
        self._moved = False
        return True


class Camera:
    """Writes photos of a camera into a folder until `stop`. say(words): what the person at the line should know."""

    def __init__(self, source: str, folder: Path, trigger: Trigger, say: Callable[[str], None], *, once: bool = False):
        """source: the number of a camera, an address such as rtsp://…, or a film, which ends; once: take one photo of a
        camera, then end.

        Raises OSError when there is no such camera.
        """
        self.source, self.folder, self.trigger, self._say = source, folder, trigger, say
        self._ends = Path(source).is_file()
        self._once = once and not self._ends
        self.stop = threading.Event()
        self.written = 0
        _remove_unfinished(folder)
        self._capture = self._opened()
        if self._capture is None:
            shown = without_password(source)
            raise OSError(
                f"camera {shown} cannot be opened; check its cable, number or address, and whether another program "
                "is using it"
            )

    def run(self) -> None:
        """Take photos until `stop` is set or a film ends. A lost camera and a full disk are said, and waited for."""
        seconds = 1 / max(self._capture.get(cv2.CAP_PROP_FPS), 1) if self._ends and self._capture else 0.0
        number = 0
        while not self.stop.is_set():
            is_ok, frame = self._capture.read() if self._capture is not None else (False, None)
            if not is_ok or frame is None:
                if self._ends:
                    return
                self._find_again()
                continue
            now = number * seconds if self._ends else time.monotonic()
            number += 1
            if self._once or self.trigger.takes(frame, now):
                self._write(frame)
            if self._once:
                return

    def _opened(self) -> cv2.VideoCapture | None:
        is_number = self.source.isascii() and self.source.isdigit()
        path = Path(self.source)
        if (is_number and int(self.source) > MAX_NUMBER) or path.is_fifo() or path.is_dir() or path.is_socket():
            return None
        capture = cv2.VideoCapture(int(self.source) if is_number else self.source)
        return capture if capture.isOpened() else None

    def _find_again(self) -> None:
        shown = without_password(self.source)
        self._say(f"camera {shown} disconnected; reconnecting")
        while not self.stop.wait(RETRY_SECONDS):
            self._capture = self._opened()
            if self._capture is not None:
                self._say(f"camera {shown} reconnected")
                return

    def _write(self, frame: np.ndarray) -> None:
        name = f"{datetime.now():%Y%m%d-%H%M%S-%f}.png"
        content = cv2.imencode(".png", frame)[1].tobytes()
        is_reported = False
        while not self.stop.is_set():
            hidden = self.folder / f".{name}.part"  # the watch passes over it
            try:
                with hidden.open("xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                hidden.replace(self.folder / name)
            except OSError as error:
                with suppress(OSError):
                    hidden.unlink(missing_ok=True)
                if not is_reported:
                    self._say(f"{name} cannot be written into {self.folder} ({error.strerror or error}); trying again")
                is_reported = True
                self.stop.wait(RETRY_SECONDS)
            else:
                self.written += 1
                return


def _remove_unfinished(folder: Path) -> None:
    """Remove what a camera that was killed left behind; the names are Loupe's own."""
    for path in folder.glob(".*.png.part"):
        if re.fullmatch(r"\.[0-9]{8}-[0-9]{6}-[0-9]{6}\.png\.part", path.name):
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime > UNFINISHED_SECONDS:
                    path.unlink()
