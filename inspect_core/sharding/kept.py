"""Finished shards of unfinished work on disk, so that the same work, started again, goes on where it stopped."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from inspect_core.runtime import workspace
from inspect_core.runtime.unfinished import process_folder

_DIGEST = 32
MERGED = "merged"
"""Name of what the shards before were merged to."""
MOST = 4
"""Pieces of work of which something is kept, those that were gone on with last."""


class Kept:
    """The results of one piece of work: a folder of the workspace, named by the digest of everything that decides them.

    A file is the SHA-256 of its content, then the content; it appears whole. What is damaged counts as not there.
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
        """Keep a result under its number. Raises OSError when the disk is full or not writable."""
        new = process_folder(self.folder) / str(name)
        with new.open("wb") as file:
            file.write(hashlib.sha256(content).digest())
            file.write(content)
        new.replace(self.folder / str(name))

    def get(self, name: int | str) -> bytes | None:
        """The result kept under this number; None when there is none."""
        try:
            stored = (self.folder / str(name)).read_bytes()
        except OSError:
            return None
        content = memoryview(stored)[_DIGEST:]
        return bytes(content) if hashlib.sha256(content).digest() == stored[:_DIGEST] else None

    def numbers(self) -> set[int]:
        """Of the results that may be there."""
        return {int(path.name) for path in self.folder.iterdir() if path.name.isdecimal()}

    def drop(self, name: int | str) -> None:
        """Forget a result, if it is there."""
        (self.folder / str(name)).unlink(missing_ok=True)

    def remove(self) -> None:
        """The work is done."""
        shutil.rmtree(self.folder, ignore_errors=True)


def folder() -> Path:
    """Where finished shards are kept."""
    return workspace.root() / "shards"


def _last_use(path: Path) -> int:
    return path.lstat().st_mtime_ns
