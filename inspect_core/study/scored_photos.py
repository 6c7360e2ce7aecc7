"""The photos on the bench under one fitted detector: every score and map, at any value of the live parameter.

The grid errors of each photo are computed once, at up to 64 stops of the live parameter, and kept in a file that the
operating system pages in and out; a move of the parameter reads one slice, blurs it and is done.
"""

import copy
import math
import mmap
import tempfile
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from inspect_core.images.samples import Sample
from inspect_core.judge.anomaly_map import SIGMA, image_score, to_pixels
from inspect_core.methods.method import Detector, stops_up_to
from inspect_core.methods.table import METHODS

BLOCK = 32
UNKNOWN = "unknown"


@dataclass(frozen=True)
class ScoredPhoto:
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
    def sample(self) -> Sample:
        """The photo as it was found."""
        return Sample(self.path, self.name, self.kind, self.size, group=self.group)

    @property
    def is_defect(self) -> bool:
        return self.kind not in ("good", UNKNOWN)


class _Blocks:
    """Float32 arrays of one shape in a temporary file that only grows: a block once appended stays as it is."""

    def __init__(self, shape: tuple[int, ...]):
        self._shape, self._bytes = shape, 4 * math.prod(shape)
        self._count, self._appending = 0, threading.Lock()
        self._file = tempfile.TemporaryFile(prefix="loupe-tray-")  # noqa: SIM115 - closed with the last tray
        weakref.finalize(self, self._file.close)

    def append(self, block: np.ndarray) -> int:
        """Keep one more block; its row. Safe from any thread."""
        with self._appending:
            self._file.seek(self._count * self._bytes)  # not the end: a full disk may have cut the last one short
            self._file.write(np.ascontiguousarray(block, np.float32).tobytes())
            self._file.flush()
            self._count += 1
            return self._count - 1

    def read(self) -> np.ndarray:
        """(n, *shape) of all blocks so far, read-only; the operating system pages them in and out."""
        count = self._count
        if not count:
            return np.zeros((0, *self._shape), np.float32)
        held = mmap.mmap(self._file.fileno(), count * self._bytes, access=mmap.ACCESS_READ)
        return np.frombuffer(held, np.float32).reshape(count, *self._shape)


class ScoredPhotos:
    """Photos with their grid errors under one detector.

    method: a name in METHODS; size: (H, W) of the anomaly maps; stops: the values of the live parameter at which
    errors are kept, (0,) when the method has none; start: the one to begin with. A photo more makes another tray,
    which has it at its end: who reads one while photos are added sees the same photos all through.
    """

    def __init__(self, method: str, detector: Detector, grid: tuple[int, int], size: tuple[int, int]):
        row = METHODS[method]
        self.method, self.detector, self.grid, self.size = method, detector, grid, size
        self.live_name = row.live
        self.start = row.start(detector)
        self.stops = tuple(sorted({*stops_up_to(row.top(detector)), self.start})) if row.live else (0,)
        self.photos: tuple[ScoredPhoto, ...] = ()
        self._scores: dict[int, np.ndarray] = {}
        self._blocks, self._rows = _Blocks((len(self.stops), *grid)), np.zeros(0, int)

    @property
    def live(self) -> dict[str, int]:
        """The live parameter at the value to begin with, by name; empty when the method has none."""
        return {self.live_name: self.start} if self.live_name else {}

    def with_photo(self, photo: ScoredPhoto, patches: Tensor) -> "ScoredPhotos":
        """These with one photo more at its end, given its (1, h, w, k) patch features."""
        errors = METHODS[self.method].sweep(self.detector, patches, self.stops)
        row = self._blocks.append(errors.reshape(len(self.stops), *self.grid).cpu().numpy())
        more = copy.copy(self)
        more._scores = {}
        more.photos, more._rows = (*self.photos, photo), np.append(self._rows, row)
        return more

    def grid_errors(self, **live: int) -> np.ndarray:
        """(photos, h, w) float32 scores of the patch grid at the nearest stop not above the live value given.

        Raises ValueError for a parameter that does not move live here, or a value outside the fit.
        """
        return self._errors(slice(None), self._stop(live))

    def maps(self, which: slice | np.ndarray | list[int] = slice(None), **live: int) -> np.ndarray:
        """(photos, H, W) float32 anomaly maps of all photos, or of those at the given positions."""
        return to_pixels(self._errors(which, self._stop(live)), self.size, sigma=SIGMA)

    def map(self, image: int | str, **live: int) -> np.ndarray:
        """(H, W) float32 anomaly map of one photo, by position or name."""
        return to_pixels(self._errors(self.index(image), self._stop(live)), self.size, sigma=SIGMA)

    def scores(self, **live: int) -> np.ndarray:
        """(photos,) float32 image scores, read-only: equal to the bit to what `inspect` gives.

        Each stop is computed once: a move asks for its scores, its limits and the limits before it.
        """
        stop = self._stop(live)
        if stop not in self._scores:
            blocks = [np.zeros(0, np.float32)]
            for i in range(0, len(self.photos), BLOCK):
                blocks.append(image_score(to_pixels(self._errors(slice(i, i + BLOCK), stop), self.size, sigma=SIGMA)))
            scores = np.concatenate(blocks)
            scores.flags.writeable = False
            self._scores[stop] = scores
        return self._scores[stop]

    def index(self, image: int | str) -> int:
        """Position of a photo given its position or its name. Raises ValueError for a name not on the tray."""
        if isinstance(image, int):
            return image
        for position, photo in enumerate(self.photos):
            if photo.name == image:
                return position
        raise ValueError(f"{image!r} is not on the tray; it holds {len(self.photos)} photos")

    def of_subset(self, *parts: str) -> np.ndarray:
        """(photos,) bool: which belong to one of the named parts."""
        return np.array([photo.part in parts for photo in self.photos], dtype=bool)

    def good_and_defect(self) -> tuple[np.ndarray, np.ndarray]:
        """(good, defect), each (photos,) bool; a photo whose truth is unknown is neither."""
        good = np.array([photo.kind == "good" for photo in self.photos], dtype=bool)
        return good, np.array([photo.is_defect for photo in self.photos], dtype=bool)

    def stop_of(self, value: int) -> int:
        """The largest stop not above `value`."""
        return self.stops[int(np.searchsorted(self.stops, value, side="right")) - 1]

    def _errors(self, which: int | slice | np.ndarray | list[int], stop: int) -> np.ndarray:
        """A copy of the grid errors at these positions and this stop, (h, w) for one and (n, h, w) for several."""
        return np.array(self._blocks.read()[self._rows[which], stop])

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
