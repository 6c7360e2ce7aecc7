"""The grid errors of photos, in a memory-mapped file that only grows."""

import math
import mmap
import tempfile
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from inspect_core.runtime.json_record import LARGEST

Which = int | slice | np.ndarray | list[int]
"""Positions of photos."""


class AppendOnlyArray:
    """Float32 arrays of one shape in a temporary file that only grows: a block once appended stays as it is."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape = shape
        self._bytes = 4 * math.prod(shape)
        self._count = 0
        self._appending = threading.Lock()
        self._file = tempfile.TemporaryFile(prefix="loupe-scores-")  # noqa: SIM115 - closed with the last
        weakref.finalize(self, self._file.close)

    def append(self, block: np.ndarray) -> int:
        """Store one more block and return its row. Safe from any thread."""
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
            return np.zeros((0, *self.shape), np.float32)
        mapped = mmap.mmap(self._file.fileno(), count * self._bytes, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, np.float32).reshape(count, *self.shape)


@dataclass(frozen=True, eq=False)
class StoredErrors:
    """The errors of photos under each of several views, at the stops of its live parameter.

    blocks: a photo's (stops of all views, h, w) each; stops: by view, those in each block; first: by view, where they
    begin there; rows: (photos,) the block of each; repeat_rows: that of the same part photographed again, -1 without.
    """

    blocks: AppendOnlyArray
    stops: tuple[tuple[int, ...], ...]
    first: tuple[int, ...]
    rows: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    repeat_rows: np.ndarray = field(default_factory=lambda: np.zeros(0, int))

    @classmethod
    def empty(cls, stops: Sequence[tuple[int, ...]], grid: tuple[int, int]) -> Self:
        """Those of no photo yet."""
        first = np.cumsum([0, *map(len, stops)]).tolist()
        return cls(AppendOnlyArray((first[-1], *grid)), tuple(stops), tuple(first[:-1]))

    def of_views(self, positions: Sequence[int]) -> Self:
        """Those under some of the views, by position."""
        return replace(
            self, stops=tuple(self.stops[i] for i in positions), first=tuple(self.first[i] for i in positions)
        )

    def with_blocks(self, blocks: Sequence[Sequence[int]]) -> Self:
        """These and more photos', each with its block, and that of the same part photographed again if any."""
        rows = [block[0] for block in blocks]
        repeat_rows = [block[1] if len(block) > 1 else -1 for block in blocks]
        return replace(
            self,
            rows=np.concatenate([self.rows, np.array(rows, int)]),
            repeat_rows=np.concatenate([self.repeat_rows, np.array(repeat_rows, int)]),
        )

    def reordered(self, positions: np.ndarray) -> Self:
        """Those of some of the photos, by position, in this order."""
        return replace(self, rows=self.rows[positions], repeat_rows=self.repeat_rows[positions])

    def photographed_again(self) -> Self:
        """Those of the parts photographed again in place of the photos'."""
        return replace(self, rows=self.repeat_rows)

    def errors_of(self, position: int) -> list[np.ndarray]:
        """(stops, h, w) float32 of one photo under each view."""
        block = self.blocks.read()[self.rows[position]]
        return [np.array(block[at : at + len(stops)]) for at, stops in zip(self.first, self.stops, strict=True)]

    def at(self, positions: Which, view: int, stop: int) -> np.ndarray:
        """A copy under one view at one stop, (h, w) of one photo and (n, h, w) of several."""
        return np.array(self.blocks.read()[self.rows[positions], self.first[view] + self.stops[view].index(stop)])

    def append(self, name: str, errors: Sequence[np.ndarray]) -> int:
        """Store the (stops, h, w) float32 errors of a photo by view, and return their block for `with_blocks`.

        Raises ValueError with the photo's name when an error is not finite.
        """
        block = np.zeros(self.blocks.shape, np.float32)  # with room for views that are not among these
        for at, stops, photo_errors in zip(self.first, self.stops, errors, strict=True):
            block[at : at + len(stops)] = photo_errors
        if not (np.abs(block) <= LARGEST).all():
            raise ValueError(f"{name} has no finite score; check the photo, or teach again")
        return self.blocks.append(block)
