"""Finished shards of unfinished work on disk: the same work, started again, continues where it stopped."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from inspect_core.runtime import workspace
from inspect_core.runtime.unfinished import process_folder

_DIGEST = 32
MERGED = "merged"
"""Name of the merged state of all earlier shards."""
MOST = 4
"""Runs whose shards are kept: those continued last."""


class Kept:
    """The results of one run: a folder in the workspace, named by the digest of everything that decides them.

    A file holds the SHA-256 of its content, then the content, and is written atomically. A damaged one counts as
    missing.
    """

    def __init__(self, parts: Sequence[bytes]) -> None:
        digest = hashlib.sha256()
        for part in parts:
            digest.update(hashlib.sha256(part).digest())
        self.folder = folder() / digest.hexdigest()[:32]
        self.folder.mkdir(parents=True, exist_ok=True)
        os.utime(self.folder)
        for unfinished in sorted(folder().iterdir(), key=_last_use)[:-MOST]:
            shutil.rmtree(unfinished, ignore_errors=True)

    def put(self, name: int | str, content: bytes) -> None:
        """Store a result under its number. Raises OSError when the disk is full or not writable."""
        new = process_folder(self.folder) / str(name)
        with new.open("wb") as file:
            file.write(hashlib.sha256(content).digest())
            file.write(content)
        new.replace(self.folder / str(name))

    def get(self, name: int | str) -> bytes | None:
        """The result stored under this number; None if there is none."""
        try:
            stored = (self.folder / str(name)).read_bytes()
        except OSError:
            return None
        content = memoryview(stored)[_DIGEST:]
        return bytes(content) if hashlib.sha256(content).digest() == stored[:_DIGEST] else None

    def numbers(self) -> set[int]:
        """Numbers of the stored results, which may turn out damaged."""
        return {int(path.name) for path in self.folder.iterdir() if path.name.isdecimal()}

    def drop(self, name: int | str) -> None:
        """Delete a result, if it is there."""
        (self.folder / str(name)).unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete all results: the work is finished."""
        shutil.rmtree(self.folder, ignore_errors=True)


def folder() -> Path:
    """The folder of finished shards."""
    return workspace.root() / "shards"


def _last_use(path: Path) -> int:
    """When a run was continued last; 0 for one that another process has just removed."""
    try:
        return path.lstat().st_mtime_ns
    except FileNotFoundError:
        return 0
