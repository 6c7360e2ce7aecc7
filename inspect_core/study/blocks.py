"""Arrays of one shape in a memory-mapped file that only grows."""

import math
import mmap
import tempfile
import threading
import weakref

import numpy as np


class Blocks:
    """Float32 arrays of one shape in a temporary file that only grows: a block once appended stays as it is."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape, self._bytes = shape, 4 * math.prod(shape)
        self._count, self._appending = 0, threading.Lock()
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
        held = mmap.mmap(self._file.fileno(), count * self._bytes, access=mmap.ACCESS_READ)
        return np.frombuffer(held, np.float32).reshape(count, *self.shape)
