"""Files and folders that are not whole yet: written under names of their own, and found again after a crash.

What Loupe writes appears under its name only when it is whole. Until then it lies in a hidden folder `.loupe-<token>`
beside its place, and the record `unfinished/<token>` in the workspace says where that folder is. A process holds a lock
on its records, so that the next start can distinguish leftovers of a killed process from what another one is writing.
"""

import atexit
import contextlib
import errno
import functools
import hashlib
import os
import secrets
import shutil
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO

from inspect_core.runtime import workspace

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

HIDDEN = ".loupe-"
ASIDE = "old"
_LONGEST_PATH = 1 << 16
_writing = threading.Lock()
_PAST_THE_END = 1 << 30  # msvcrt's locks keep others from reading what is locked


@contextlib.contextmanager
def atomic_replace(target: Path) -> Generator[Path]:
    """Give a new path to write a file or folder at; it takes the place of `target` when the block ends without error.

    Several threads and processes may write the same target: each has a path of its own, the last one stays. What may
    be replaced is for the caller to check. A process killed on the way leaves the old or the new under the target's
    name, at the latest after the next `clear`. Raises OSError when the disk is full or not writable.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with _recorded(target.parent) as folder:
        new, aside = folder / "new" / target.name, folder / ASIDE / target.name
        new.parent.mkdir()
        yield new
        if new.is_dir():
            _swap(new, target, aside)
        else:
            os.replace(new, target)


@contextlib.contextmanager
def exclusive(path: Path) -> Generator[None]:
    """Hold a file of the workspace while it is read and written anew: other threads and processes wait."""
    workspace.locks_folder().mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:32]
    with _writing, (workspace.locks_folder() / name).open("ab") as file:
        lock(file, wait=True)
        yield


def process_folder(parent: Path) -> Path:
    """A hidden folder in `parent` for this process; removed when the process ends, or at the next start.

    For unpacked files; and for many small files, each renamed into its place from there, which takes a quarter of the
    time of `atomic_replace`.
    """
    folder = _process_folder(parent.absolute(), workspace.root())
    folder.mkdir(parents=True, exist_ok=True)  # it may have been removed meanwhile
    return folder


def clear() -> None:
    """Remove unfinished files of ended processes, and put back what such a process had moved aside to replace it.

    Called when Loupe starts. Only what a record names is touched, and only when no process holds the record.
    """
    with contextlib.suppress(OSError):
        for record in [Path(entry) for entry in os.scandir(_records())]:
            with contextlib.suppress(OSError), workspace.open_regular_file(record, "r+b") as file:
                if not lock(file, wait=False):
                    continue
                folder = Path(os.fsdecode(file.read(_LONGEST_PATH)))
                if folder.name == f"{HIDDEN}{record.name}" and folder.is_dir() and not folder.is_symlink():
                    _put_back(folder)
                    shutil.rmtree(folder)
                _remove(record, file)


@functools.cache
def _process_folder(parent: Path, _workspace: Path) -> Path:
    """One for every workspace, since the record lies there."""
    parent.mkdir(parents=True, exist_ok=True)
    until_the_end = contextlib.ExitStack()
    atexit.register(until_the_end.close)
    return until_the_end.enter_context(_recorded(parent))


@contextlib.contextmanager
def _recorded(parent: Path) -> Generator[Path]:
    """A new hidden folder in `parent`, gone when the block ends."""
    _records().mkdir(parents=True, exist_ok=True)
    while True:
        record = _records() / secrets.token_hex(16)
        file = record.open("xb")
        lock(file, wait=True)
        if record.exists():  # `clear` may have removed it as a leftover before it was locked
            break
        file.close()
    with file:
        folder = parent.absolute() / f"{HIDDEN}{record.name}"
        file.write(os.fsencode(folder))
        file.flush()
        try:
            folder.mkdir()
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                _remove(record, file)


def _records() -> Path:
    return workspace.root() / "unfinished"


def lock(file: BinaryIO, *, wait: bool) -> bool:
    """Lock an open file until it is closed; False when another holds it, or the file system has no locks."""
    try:
        if sys.platform == "win32":
            file.seek(_PAST_THE_END)
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            file.seek(0)
        else:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(record: Path, file: BinaryIO) -> None:
    if sys.platform == "win32":  # which removes no open file
        file.close()
    record.unlink(missing_ok=True)


def _swap(new: Path, target: Path, aside: Path) -> None:
    """Put a folder in another's place, which takes more than one step: between two renamings the old one lies aside,
    and is put back by `_put_back`; the last renaming says that it is no longer wanted.
    """
    aside.parent.mkdir()
    while True:
        with contextlib.suppress(FileNotFoundError):
            os.rename(target, aside)
        try:
            os.rename(new, target)
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                if aside.exists():
                    os.rename(aside, target)
                raise
            shutil.rmtree(aside, ignore_errors=True)  # another writer was faster: its result is now the old one
    if aside.exists():
        os.rename(aside, new)


def _put_back(folder: Path) -> None:
    """Only from what `_swap` makes: a link may have come to lie in its place, which leads elsewhere."""
    aside = folder / ASIDE
    if aside.is_dir() and not aside.is_symlink():
        for old in aside.iterdir():
            if not os.path.lexists(folder.parent / old.name):
                os.rename(old, folder.parent / old.name)
