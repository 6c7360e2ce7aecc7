"""The photos on the bench under one fitted detector: every score and map, at any value of the live parameter.

The grid errors of each photo are computed once, at up to 64 stops of the live parameter, and kept in a file that the
operating system pages in and out; a move of the parameter reads one slice, blurs it and is done.
"""

import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from inspect_core.judge.anomaly_map import image_score, to_pixels
from inspect_core.methods import METHODS, Detector, stops_up_to

SIGMA = 4.0
BLOCK = 32
UNKNOWN = "unknown"


@dataclass(frozen=True)
class TrayPhoto:
    """One photo: what it is called, its content digest and size (height, width), and what is known of it.

    kind: "good", a kind of defect, or "unknown"; part: "calibrate", "judge" or "added"; path: where its pixels are;
    mask: where its true mask is, if it has one; group: its lot, if known.
    """

    name: str
    digest: str
    size: tuple[int, int]
    kind: str
    part: str
    path: Path
    mask: Path | None = None
    group: str | None = None

    @property
    def is_defect(self) -> bool:
        return self.kind not in ("good", UNKNOWN)


class Tray:
    """Photos with their grid errors under one detector.

    method: a name in METHODS; size: (H, W) of the anomaly maps; stops: the values of the live parameter at which
    errors are kept, (0,) when the method has none; start: the one to begin with. Photos are added one by one and stay
    in that order.
    """

    def __init__(self, method: str, detector: Detector, grid: tuple[int, int], size: tuple[int, int]):
        row = METHODS[method]
        self.method, self.detector, self.grid, self.size = method, detector, grid, size
        self.live_name = row.live
        self.start = row.start(detector)
        self.stops = tuple(sorted({*stops_up_to(row.top(detector)), self.start})) if row.live else (0,)
        self.photos: tuple[TrayPhoto, ...] = ()
        self._file = tempfile.TemporaryFile(prefix="loupe-tray-")  # noqa: SIM115 - closed with the tray
        weakref.finalize(self, self._file.close)
        self._shape = (len(self.stops), *grid)

    @property
    def live(self) -> dict[str, int]:
        """The live parameter at the value to begin with, by name; empty when the method has none."""
        return {self.live_name: self.start} if self.live_name else {}

    def add(self, photo: TrayPhoto, patches: Tensor) -> int:
        """Put a photo on the tray, given its (1, h, w, k) patch features; its position."""
        errors = METHODS[self.method].sweep(self.detector, patches, self.stops)
        block = np.ascontiguousarray(errors.reshape(self._shape).cpu().numpy(), np.float32)
        self._file.seek(0, 2)
        self._file.write(block.tobytes())
        self._file.flush()
        self.photos = (*self.photos, photo)
        return len(self.photos) - 1

    def grid_errors(self, **live: int) -> np.ndarray:
        """(photos, h, w) float32 scores of the patch grid at the nearest stop not above the live value given.

        Raises ValueError for a parameter that does not move live here, or a value outside the fit.
        """
        return np.array(self._errors()[:, self._stop(live)])

    def maps(self, which: slice | np.ndarray | list[int] = slice(None), **live: int) -> np.ndarray:
        """(photos, H, W) float32 anomaly maps of all photos, or of those at the given positions."""
        return to_pixels(self._errors()[:, self._stop(live)][which], self.size, sigma=SIGMA)

    def map(self, image: int | str, **live: int) -> np.ndarray:
        """(H, W) float32 anomaly map of one photo, by position or name."""
        return to_pixels(self._errors()[self.index(image), self._stop(live)], self.size, sigma=SIGMA)

    def scores(self, **live: int) -> np.ndarray:
        """(photos,) float32 image scores: equal to the bit to what `inspect` gives."""
        errors = self._errors()[:, self._stop(live)]
        if not len(errors):
            return np.zeros(0, np.float32)
        blocks = (errors[i : i + BLOCK] for i in range(0, len(errors), BLOCK))
        return np.concatenate([image_score(to_pixels(block, self.size, sigma=SIGMA)) for block in blocks])

    def index(self, image: int | str) -> int:
        """Position of a photo given its position or its name. Raises ValueError for a name not on the tray."""
        if isinstance(image, int):
            return image
        for position, photo in enumerate(self.photos):
            if photo.name == image:
                return position
        raise ValueError(f"{image!r} is not on the tray; it holds {len(self.photos)} photos")

    def of_part(self, *parts: str) -> np.ndarray:
        """(photos,) bool: which belong to one of the named parts."""
        return np.array([photo.part in parts for photo in self.photos], dtype=bool)

    def kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """(good, defect), each (photos,) bool; a photo whose truth is unknown is neither."""
        good = np.array([photo.kind == "good" for photo in self.photos], dtype=bool)
        return good, np.array([photo.is_defect for photo in self.photos], dtype=bool)

    def stop_of(self, value: int) -> int:
        """The largest stop not above `value`."""
        return self.stops[int(np.searchsorted(self.stops, value, side="right")) - 1]

    def _errors(self) -> np.ndarray:
        if not self.photos:
            return np.zeros((0, *self._shape), np.float32)
        return np.memmap(self._file, np.float32, "r", shape=(len(self.photos), *self._shape))

    def _stop(self, live: Mapping[str, int]) -> int:
        unknown = sorted(set(live) - {self.live_name})
        if unknown:
            raise ValueError(f"{self.method} has no live parameter {unknown[0]!r}; it has {self.live_name or 'none'}")
        value = live.get(self.live_name, self.start) if self.live_name else 0
        if value not in self.stops:
            raise ValueError(
                f"{self.live_name} is {value}, not one of the kept stops from {self.stops[0]} to {self.stops[-1]}; "
                f"use {self.stop_of(value) if value >= self.stops[0] else self.stops[0]}"
            )
        return self.stops.index(value)
