"""Moves a photo into another folder: it replaces nothing there, and a stop on the way neither loses nor duplicates
it.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from inspect_core.line.row import file_digest
from inspect_core.runtime.unfinished import replacing

LONGEST = 255
"""Bytes of a file's name that file systems take."""
_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES)


def free_name(folder: Path, name: str, digest: str) -> str:
    """The POSIX path below `folder` for a photo: its own name, or with its digest when that is taken."""
    return next(other for other in _names(name, digest) if not os.path.lexists(folder / other))


def move(source: Path, target: Path, digest: str) -> Path:
    """Move a claimed photo to `target`, or beside it under a name with its digest when another file stands there.

    digest: SHA-256 of the file. The folder of `target` must exist. A second call after a stop completes the first.
    Raises OSError when the disk is full, either folder is read-only or another program still writes the photo, which is
    then still at `source`.
    """
    folder = target.parent
    for name in _names(target.name, digest):
        place = folder / name
        if os.path.lexists(place):
            if _stopped_before(source, place, digest):
                break
        elif _put(source, place, digest):
            break
    source.unlink()
    return place


def _stopped_before(source: Path, place: Path, digest: str) -> bool:
    """Whether an earlier call brought the photo here and was stopped before it removed the original."""
    if place.is_symlink() or not place.is_file():
        return False
    return os.path.samefile(source, place) or file_digest(place) == digest


def _put(source: Path, place: Path, digest: str) -> bool:
    """Put the photo at a free place; False if the place was taken meanwhile."""
    try:
        try:
            os.link(source, place)  # in one step, and never over another file
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _copy(source, place, digest)
    except FileExistsError:
        return False
    return True


def _copy(source: Path, place: Path, digest: str) -> None:
    """For folders on two file systems, or on one without hard links."""
    with replacing(place) as new:
        shutil.copy2(source, new)
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        if file_digest(new) != digest:
            raise OSError(f"{source.name} changed while it was copied; close it in the program that writes it")
        if os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))


def _names(name: str, digest: str) -> Iterator[str]:
    path, number = PurePosixPath(name), 1
    yield name
    while True:
        more = digest[:8] if number == 1 else f"{digest[:8]}-{number}"
        ending = f"-{more}{path.suffix}"
        yield path.with_name(_cut(path.stem, LONGEST - len(os.fsencode(ending))) + ending).as_posix()
        number += 1


def _cut(text: str, length: int) -> str:
    """The text without as many characters at its end as exceed `length` bytes."""
    while len(os.fsencode(text)) > length:
        text = text[:-1]
    return text
