"""A bounded folder of feature arrays, one `.npy` file an entry, the least recently used removed first.

A file is an ordinary `.npy` (read without pickle) followed by the CRC-32 of all before it, so that a file cut short or
changed on disk is a miss and never a wrong feature. Several threads and processes may share a folder: files appear
whole, by renaming, and a file that another process removed is a miss too.
"""

import hashlib
import io
import os
import shutil
import tempfile
import threading
import time
import zlib
from pathlib import Path

import numpy as np

GIGABYTE = 10**9
CHECK_BYTES = 4
PUTS_BETWEEN_SCANS = 64
ABANDONED_AFTER_S = 3600


class Store:
    """float32 arrays by key in `folder`, at most `limit` bytes of them (default 4 GB).

    A key is any text that names everything the array depends on: image digest, weight digest, taps, size, grid, ...
    Other processes' files are counted at a scan, every PUTS_BETWEEN_SCANS puts and whenever the limit is reached, so
    several processes together may pass the limit by what they write in between.
    """

    def __init__(self, folder: str | os.PathLike[str], *, limit: int = 4 * GIGABYTE) -> None:
        if limit < 1:
            raise ValueError(f"limit is {limit} bytes; give at least 1")
        self.folder = Path(folder)
        self.limit = limit
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._puts = 0
        self._bytes = self._scan_total()

    def get(self, key: str) -> np.ndarray | None:
        """The array stored under `key`, in memory and writable, or None. A damaged file is removed and gives None."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        array = _decode(content)
        if array is None:
            self._remove(path)
            return None
        _touch(path)
        return array

    def put(self, key: str, array: np.ndarray) -> None:
        """Stores a float32 array, replacing what was there, and removes the least recently used beyond the limit.

        Raises ValueError for another dtype or an array larger than the limit, and OSError, with nothing left behind,
        when the disk is full.
        """
        if not isinstance(array, np.ndarray) or array.dtype != np.float32:
            raise ValueError(f"array is {getattr(array, 'dtype', type(array).__name__)}; the store takes NumPy float32")
        content = _encode(array)
        if len(content) > self.limit:
            raise ValueError(f"array takes {len(content)} bytes, the store's limit is {self.limit}; raise the limit")
        path = self._path(key)
        with self._lock:
            self._bytes += len(content) - _size(path)
            self._puts += 1
            if self._bytes > self.limit or self._puts % PUTS_BETWEEN_SCANS == 0:
                self._make_room(len(content), keep=path)
            self._write(path, content)

    def bytes_used(self) -> int:
        """Bytes in the folder now, whoever wrote them."""
        with self._lock:
            self._bytes = self._scan_total()
            return self._bytes

    def would_fit(self, nbytes: int) -> bool:
        """Whether entries of `nbytes` in all can be held at once: by the limit, and by the disk once old ones go."""
        on_disk = shutil.disk_usage(self.folder).free + self.bytes_used()
        return nbytes <= min(self.limit, on_disk)

    def clear(self) -> None:
        """Removes every entry."""
        with self._lock:
            for _, _, path in self._entries():
                path.unlink(missing_ok=True)
            self._bytes = self._scan_total()

    def _path(self, key: str) -> Path:
        # A digest as the name: no key can name a path outside the folder or clash by letter case.
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}.npy"

    def _entries(self) -> list[tuple[int, int, Path]]:
        """(last use in ns, bytes, path) of every entry, and the removal of files left by an interrupted write."""
        entries = []
        with os.scandir(self.folder) as files:
            for file in files:
                try:
                    facts = file.stat()
                    if file.name.endswith(".npy"):
                        entries.append((facts.st_mtime_ns, facts.st_size, Path(file.path)))
                    elif file.name.endswith(".part") and facts.st_mtime < time.time() - ABANDONED_AFTER_S:
                        os.unlink(file.path)
                except FileNotFoundError:  # removed by another process between listing and asking
                    continue
        return entries

    def _scan_total(self) -> int:
        return sum(size for _, size, _ in self._entries())

    def _make_room(self, incoming: int, *, keep: Path) -> None:
        """Removes the least recently used until `incoming` bytes fit; sets the count to what is there plus them."""
        entries = sorted(entry for entry in self._entries() if entry[2] != keep)
        total = sum(size for _, size, _ in entries) + incoming
        for _, size, path in entries:
            if total <= self.limit:
                break
            try:
                path.unlink(missing_ok=True)
            except PermissionError:  # Windows, while another process reads it
                continue
            total -= size
        self._bytes = total

    def _write(self, path: Path, content: bytes) -> None:
        part = None
        try:
            handle, part = tempfile.mkstemp(dir=self.folder, suffix=".part")
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            _touch(Path(part))
            os.replace(part, path)
        except OSError as error:
            if part is not None:
                Path(part).unlink(missing_ok=True)
            self._bytes = self._scan_total()
            raise OSError(
                error.errno,
                f"the feature store could not write {len(content)} bytes ({error.strerror}); free disk space or choose "
                "another workspace",
                str(self.folder),
            ) from error

    def _remove(self, path: Path) -> None:
        with self._lock:
            self._bytes -= _size(path)
            path.unlink(missing_ok=True)


def _encode(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    buffer.write(zlib.crc32(buffer.getbuffer()).to_bytes(CHECK_BYTES, "little"))
    return buffer.getvalue()


def _decode(content: bytes) -> np.ndarray | None:
    body, check = content[:-CHECK_BYTES], content[-CHECK_BYTES:]
    if zlib.crc32(body).to_bytes(CHECK_BYTES, "little") != check:
        return None
    try:
        array = np.load(io.BytesIO(body), allow_pickle=False)
    except (ValueError, EOFError):
        return None
    return array if array.dtype == np.float32 else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _touch(path: Path) -> None:
    """Marks a use, in nanoseconds: the kernel's own stamp is too coarse to order quick uses."""
    now = time.time_ns()
    try:
        os.utime(path, ns=(now, now))
    except FileNotFoundError:  # removed by another process: nothing left to mark
        return
