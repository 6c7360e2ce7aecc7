"""The grid errors of photos, in a file that only grows."""

import math
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
        self._moving = threading.Lock()
        self._file = tempfile.TemporaryFile(prefix="loupe-scores-", buffering=0)  # noqa: SIM115 - closed with the last
        weakref.finalize(self, self._file.close)

    def append(self, block: np.ndarray) -> int:
        """Store one more block and return its row. Safe from any thread. Raises OSError when the disk is full."""
        content = memoryview(np.ascontiguousarray(block, np.float32).tobytes())
        with self._moving:
            self._file.seek(self._count * self._bytes)  # not the end: a full disk may have cut the last one short
            while content:
                content = content[self._file.write(content) :]
            self._count += 1
            return self._count - 1

    def read(self, rows: np.ndarray, first: int, last: int) -> np.ndarray:
        """(n, last - first, ...) float32: the entries from `first` to `last` of these blocks. Safe from any thread.

        The file is not mapped: touching one entry of a block would bring its neighbours into memory too.
        """
        entry = self._bytes // self.shape[0]
        blocks = np.empty((len(rows), last - first, *self.shape[1:]), np.float32)
        with self._moving:
            for row, block in zip(rows.tolist(), blocks, strict=True):
                self._file.seek(row * self._bytes + first * entry)
                self._file.readinto(block)
        return blocks


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

    def with_view(self, errors: Sequence[np.ndarray]) -> Self:
        """These and those under one more view without a live parameter, (h, w) float32 of each photo, which are also
        those of the same part photographed again.
        """
        count, *grid = self.blocks.shape
        blocks = AppendOnlyArray((count + 1, *grid))

        def copied(row: int, of_view: np.ndarray) -> int:
            return blocks.append(np.concatenate([self.blocks.read(np.array([row]), 0, count)[0], of_view[None]]))

        rows = [copied(row, of_view) for row, of_view in zip(self.rows.tolist(), errors, strict=True)]
        repeat_rows = [
            copied(row, of_view) if row >= 0 else row
            for row, of_view in zip(self.repeat_rows.tolist(), errors, strict=True)
        ]
        stops, first = (*self.stops, (0,)), (*self.first, count)
        return replace(
            self,
            blocks=blocks,
            stops=stops,
            first=first,
            rows=np.array(rows, int),
            repeat_rows=np.array(repeat_rows, int),
        )

    def reordered(self, positions: np.ndarray) -> Self:
        """Those of some of the photos, by position, in this order."""
        return replace(self, rows=self.rows[positions], repeat_rows=self.repeat_rows[positions])

    def photographed_again(self) -> Self:
        """Those of the parts photographed again in place of the photos'."""
        return replace(self, rows=self.repeat_rows)

    def errors_of(self, position: int) -> list[np.ndarray]:
        """(stops, h, w) float32 of one photo under each view."""
        rows = self.rows[[position]]
        return [
            self.blocks.read(rows, at, at + len(stops))[0] for at, stops in zip(self.first, self.stops, strict=True)
        ]

    def at(self, positions: Which, view: int, stop: int) -> np.ndarray:
        """A copy under one view at one stop, (h, w) of one photo and (n, h, w) of several."""
        rows, entry = self.rows[positions], self.first[view] + self.stops[view].index(stop)
        errors = self.blocks.read(np.atleast_1d(rows), entry, entry + 1)[:, 0]
        return errors if np.ndim(rows) else errors[0]

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
