"""The photos of a part: for each view, the first that comes into its folder after the trigger."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from inspect_core.datasets.listing import is_clutter, is_picture
from inspect_core.line.camera import Camera, Trigger
from inspect_core.station.settings import View

TAKING = ".taking"
"""Folder beside the photos for those of the part that is judged: a camera that writes one name again replaces none."""
LATE = "late"
"""Folder of a view's photos that came for no part, or after its time."""
LOOK_SECONDS = 0.005
TICK_SECONDS = 0.01
"""Files are stamped by a clock that ticks every 1 to 10 ms: a photo that follows its trigger closely may seem to come
before it.
"""
SETTLE_SECONDS = 0.04
"""Without a change, after which a photo that another program writes is whole."""


class ViewPhotos:
    """Takes photos for parts. say(words): what the person at the line should know. Raises OSError for a camera or a
    folder that cannot be used.
    """

    def __init__(self, views: Sequence[View], say: Callable[[str], None]) -> None:
        self._views = tuple(views)
        self._triggers: list[Trigger] = []
        self._cameras: list[Camera] = []
        for view in views:
            Path(view.folder).mkdir(parents=True, exist_ok=True)
            if view.camera is not None:
                trigger = Trigger()
                camera = Camera(view.camera, Path(view.folder), trigger, say)
                threading.Thread(target=camera.run, name=f"loupe-camera-{view.name}", daemon=True).start()
                self._triggers.append(trigger)
                self._cameras.append(camera)

    def close(self) -> None:
        for camera in self._cameras:
            camera.stop.set()

    def take(self, triggered: float, until: float) -> dict[str, Path]:
        """The photo of each view that came by `until`; others are missing.

        triggered, until: seconds of the clock of `time.time`. What lies in a folder from before the trigger is no photo
        of this part, and is put aside.
        """
        for view in self._views:
            folder = Path(view.folder)
            for path in folder.glob(f"{TAKING}/*"):  # of a part during which the station was killed
                _put_aside(path, folder)
            for path in _photos(view):
                if _written(path) < triggered - TICK_SECONDS:
                    _put_aside(path, folder)
        for trigger in self._triggers:
            trigger.ask()
        photos: dict[str, Path] = {}
        sizes: dict[Path, tuple[int, float]] = {}
        while len(photos) < len(self._views) and (now := time.time()) < until:
            for view in self._views:
                if view.name not in photos and (photo := _settled(view, sizes, now)) is not None:
                    with suppress(OSError):  # still held by who writes it
                        photos[view.name] = _claimed(photo)
            time.sleep(LOOK_SECONDS)
        return photos

    def leftovers(self) -> None:
        """Put aside what came for a part beside its photos."""
        for view in self._views:
            for path in _photos(view):
                _put_aside(path, Path(view.folder))


def _photos(view: View) -> list[Path]:
    with suppress(FileNotFoundError):
        there = (path for path in Path(view.folder).iterdir() if path.stem.endswith(view.ending))
        return sorted(path for path in there if is_picture(path) and not is_clutter(path.name))
    return []


def _settled(view: View, sizes: dict[Path, tuple[int, float]], now: float) -> Path | None:
    for path in _photos(view):
        with suppress(OSError):
            size = path.stat().st_size
            before = sizes.get(path)
            if before is None or before[0] != size:
                sizes[path] = size, now
            elif size and now - before[1] >= SETTLE_SECONDS:
                return path
    return None


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _claimed(path: Path) -> Path:
    target = path.parent / TAKING / path.name
    target.parent.mkdir(exist_ok=True)
    os.replace(path, target)
    return target


def _put_aside(path: Path, folder: Path) -> None:
    aside = folder / LATE
    aside.mkdir(exist_ok=True)
    with suppress(FileNotFoundError):
        os.replace(path, aside / f"{time.time_ns()} {path.name}")
