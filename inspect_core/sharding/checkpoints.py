"""Finished shards of unfinished work on disk: the same work, started again, continues where it stopped."""

import hashlib
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import HIDDEN, process_folder
from inspect_core.runtime.serialisation import pack, unpack

_DIGEST = 32
LARGEST = 1 << 32
"""Bytes of a file; the statistics of a shard at 64 × 64 takes 167 MB."""
MERGED = "merged"
"""Name of the merged state of all earlier shards."""
MOST = 4
"""Runs whose shards are kept: those continued last."""


class ShardCheckpoints:
    """The results of one run: a folder in the workspace, named by the digest of everything that decides them.

    identity: all that; kinds: the classes that results consist of.

    A file holds the SHA-256 of run, name and content, then the content, and is written atomically. A damaged one counts
    as missing; so does one of another run or name, and what is not an ordinary file.
    """

    def __init__(self, identity: Any, kinds: Iterable[type] = ()) -> None:
        self._kinds = tuple(kinds)
        self._run = hashlib.sha256(pack(identity)).digest()
        self.folder = folder() / self._run.hex()[:32]
        self.folder.mkdir(parents=True, exist_ok=True)
        os.utime(self.folder)
        runs = [path for path in folder().iterdir() if workspace.is_generated_name(path, 32)]
        for unfinished in sorted(runs, key=_last_use)[:-MOST]:
            _delete(unfinished)

    def put(self, name: int | str, result: Any) -> None:
        """Store a result under its number. Raises OSError when the disk is full or not writable."""
        new = process_folder(self.folder) / str(name)
        content = pack(result)
        with new.open("wb") as file:
            file.write(self._sum(name, content))
            file.write(content)
        new.replace(self.folder / str(name))

    def get(self, name: int | str) -> Any:
        """The result stored under this number; None if there is none."""
        stored = workspace.content(self.folder / str(name), at_most=LARGEST)
        content = b"" if stored is None else stored[_DIGEST:]
        if stored is None or self._sum(name, content) != stored[:_DIGEST]:
            return None
        return unpack(content, self._kinds)

    def _sum(self, name: int | str, content: bytes) -> bytes:
        digest = hashlib.sha256(self._run + str(name).encode() + b"\0")
        digest.update(content)
        return digest.digest()

    def numbers(self) -> set[int]:
        """Numbers of the stored results, which may turn out damaged."""
        return {int(path.name) for path in self.folder.iterdir() if path.name.isdecimal()}

    def drop(self, name: int | str) -> None:
        """Delete a result, if it is there."""
        (self.folder / str(name)).unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete all results: the work is finished."""
        _delete(self.folder)


def folder() -> Path:
    """The folder of finished shards."""
    return workspace.root() / "shards"


def _delete(run: Path) -> None:
    """Delete the results of a run, and its folder unless something else lies in it."""
    if run.is_symlink():
        return
    with suppress(OSError):
        for path in run.iterdir():
            if path.name.isdecimal() or path.name == MERGED:
                path.unlink(missing_ok=True)
            elif path.name.startswith(HIDDEN):
                shutil.rmtree(path, ignore_errors=True)
        run.rmdir()


def _last_use(path: Path) -> int:
    """When a run was continued last; 0 for one that another process has just removed."""
    try:
        return path.lstat().st_mtime_ns
    except FileNotFoundError:
        return 0
