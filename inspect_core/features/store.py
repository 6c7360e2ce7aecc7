"""A bounded folder of feature arrays, one `.npy` file per entry, the least recently used removed first.

A file is an ordinary `.npy` followed by the CRC-32 of its key and everything before it. A file that is read must be,
byte by byte, the header of the requested shape, as many finite values, and that CRC; anything else in its place (cut
short, changed, the entry of another key, a folder, a link, a pipe) is a miss and never an error, a wait or a wrong
feature. Several threads and processes may share a folder: files appear whole, by renaming, and a file that another
process removed is a miss too.
"""

import hashlib
import io
import math
import os
import secrets
import shutil
import threading
import time
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np

from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import process_folder

CHECK_BYTES = 4
VALUE = np.dtype("<f4")
PUTS_BETWEEN_SCANS = 64


class FeatureStore:
    """float32 arrays by key in `folder`, at most `limit` bytes of them.

    A key is any text that names everything the array depends on: image digest, weight digest, taps, size, grid, ...
    Other processes' files are counted at a scan, every PUTS_BETWEEN_SCANS puts and whenever the limit is reached, so
    several processes together may exceed the limit by what they write in between.
    """

    def __init__(self, folder: str | os.PathLike[str], *, limit: int = workspace.FEATURE_BYTES) -> None:
        if limit < 1:
            raise ValueError(f"limit is {limit} bytes; give at least 1")
        self.folder = Path(folder)
        self.limit = limit
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._puts = 0
        self._bytes = self._scan_total()

    def get(self, key: str, shape: tuple[int, ...]) -> np.ndarray | None:
        """The array of this shape stored under `key`, in memory, or None. A damaged file is removed."""
        path = self._path(key)
        content = workspace.content(path, at_most=len(_header(shape)) + math.prod(shape) * VALUE.itemsize + CHECK_BYTES)
        if content is None:
            return None
        array = _decode(key, content, shape)
        if array is None:
            self._remove(path)
            return None
        _touch(path)
        return array

    def put(self, key: str, array: np.ndarray) -> None:
        """Stores a float32 array, replacing what was there, and removes the least recently used beyond the limit.

        If a folder is in its place, the folder stays and nothing is stored. Raises ValueError for another dtype or an
        array larger than the limit, and OSError, with nothing left behind, when the disk is full.
        """
        if not isinstance(array, np.ndarray) or array.dtype != np.float32:
            raise ValueError(f"array is {getattr(array, 'dtype', type(array).__name__)}; the store takes NumPy float32")
        content = _encode(key, array)
        if len(content) > self.limit:
            raise ValueError(f"array takes {len(content)} bytes, the store's limit is {self.limit}; raise the limit")
        path = self._path(key)
        if path.is_dir():
            return
        with self._lock:
            self._bytes += len(content) - _size(path)
            self._puts += 1
            if self._bytes > self.limit or self._puts % PUTS_BETWEEN_SCANS == 0:
                self._make_room(len(content), keep=path)
            self._write(path, content)

    def bytes_used(self) -> int:
        """Bytes in the folder now, written by any process."""
        with self._lock:
            self._bytes = self._scan_total()
            return self._bytes

    def would_fit(self, nbytes: int) -> bool:
        """Whether entries of `nbytes` fit at once: in the limit, and on the disk after old ones are removed."""
        on_disk = shutil.disk_usage(self.folder).free + self.bytes_used()
        return nbytes <= min(self.limit, on_disk)

    def _path(self, key: str) -> Path:
        # A digest as the name: no key can name a path outside the folder or clash by letter case.
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}.npy"

    def _entries(self) -> list[tuple[int, int, Path]]:
        """(last use in ns, bytes, path) of every entry; no other file is counted or removed."""
        files = (path for path in self.folder.iterdir() if workspace.is_generated_name(path, 64, ending=".npy"))
        entries = ((path, facts) for path in files if (facts := workspace.regular_file_stat(path)))
        return [(facts.st_mtime_ns, facts.st_size, path) for path, facts in entries]

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
            except OSError:  # a read-only folder; on Windows, while another process reads it
                continue
            total -= size
        self._bytes = total

    def _write(self, path: Path, content: bytes) -> None:
        try:
            new = process_folder(self.folder) / secrets.token_hex(8)
            try:
                new.write_bytes(content)
                _touch(new)
                os.replace(new, path)
            finally:
                new.unlink(missing_ok=True)
        except OSError as error:
            self._bytes = self._scan_total()
            fault = f"the feature store could not write {len(content)} bytes ({error.strerror})"
            remedy = "free disk space or choose another workspace"
            raise OSError(error.errno, f"{fault}; {remedy}", str(self.folder)) from error

    def _remove(self, path: Path) -> None:
        with self._lock, suppress(OSError):  # a miss, even if it cannot be removed
            size = _size(path)
            path.unlink(missing_ok=True)
            self._bytes -= size


def _check(key: str, body: bytes | memoryview) -> bytes:
    return zlib.crc32(body, zlib.crc32(key.encode())).to_bytes(CHECK_BYTES, "little")


def _encode(key: str, array: np.ndarray) -> bytes:
    body = _header(array.shape) + array.tobytes()
    return body + _check(key, body)


def _decode(key: str, content: bytes, shape: tuple[int, ...]) -> np.ndarray | None:
    header = _header(shape)
    body = memoryview(content)[:-CHECK_BYTES]
    values = body[len(header) :]
    if not content.startswith(header) or len(values) != math.prod(shape) * VALUE.itemsize:
        return None
    if _check(key, body) != content[-CHECK_BYTES:]:
        return None
    array = np.frombuffer(values, VALUE).reshape(shape).copy()
    return array if np.isfinite(array).all() else None


def feature_store() -> FeatureStore:
    """The store of extracted features in the workspace."""
    return FeatureStore(workspace.features_folder())


def _header(shape: tuple[int, ...]) -> bytes:
    """What `np.save` writes ahead of the values of a float32 array in C order."""
    buffer = io.BytesIO()
    described = {"descr": VALUE.str, "fortran_order": False, "shape": tuple(shape)}
    np.lib.format.write_array_header_1_0(buffer, described)
    return buffer.getvalue()


def _size(path: Path) -> int:
    facts = workspace.regular_file_stat(path)
    return facts.st_size if facts else 0


def _touch(path: Path) -> None:
    """Marks a use, in nanoseconds: the kernel's own stamp is too coarse to order quick uses."""
    now = time.time_ns()
    with suppress(OSError):  # removed by another process, or in a read-only folder: nothing to mark
        os.utime(path, ns=(now, now))
