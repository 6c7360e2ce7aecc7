"""How a photo gets from the watched folder to its place: claimed before it is read, moved once it is recorded.

It is claimed by renaming it into a hidden folder of Loupe's own beside it: what is then judged and moved is one file,
whatever a camera writes under the photo's name meanwhile. The hidden folder holds it, under the same name, from its
claim until it is moved, also over a kill. One that must wait is put back, unless it is recorded. A move replaces
nothing, and a stop on the way neither loses nor duplicates the photo.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.runtime.workspace import file_digest

CLAIMED = ".loupe-claimed"
LONGEST = 255
"""Bytes of a file's name that file systems take."""
_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES)


def name_of(path: str) -> str:
    """The photo's own POSIX path, from that of the photo or of its claim."""
    return "/".join(part for part in PurePosixPath(path).parts if part != CLAIMED)


def is_claim(path: Path) -> bool:
    return path.parent.name == CLAIMED


def claim(path: Path) -> Path | None:
    """Claim the photo and return where it lies now; None while an earlier photo of this name is still claimed.

    Raises FileNotFoundError when the photo has gone, OSError when its folder takes no changes.
    """
    if is_claim(path):
        return path
    claimed = path.parent / CLAIMED / path.name
    claimed.parent.mkdir(exist_ok=True)
    if claimed.parent.is_symlink():
        raise OSError(f"{CLAIMED} beside it is a link")
    if os.path.lexists(claimed):
        return None
    os.rename(path, claimed)
    return claimed


def release_claim(claimed: Path) -> None:
    """Put a claimed photo back under its name, replacing nothing.

    It stays claimed while another photo has the name, and where the file system has no hard links.
    """
    with contextlib.suppress(OSError):
        os.link(claimed, _place_before(claimed))
    is_released(claimed)


def is_released(claimed: Path) -> bool:
    """Whether the photo lies under its name again; it is then claimed no more."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.lstat(claimed), os.lstat(_place_before(claimed))):
            claimed.unlink()
            return True
    return False


def remove_if_empty(folder: Path) -> None:
    """Remove a folder of claims that is empty."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def free_name(folder: Path, name: str, digest: str) -> str:
    """The POSIX path below `folder` for a photo: its own name, or with its digest when that is taken."""
    return next(other for other in _names(name, digest) if not os.path.lexists(folder / other))


def move(source: Path, target: Path, digest: str) -> Path:
    """Move a claimed photo to `target`, or beside it under a name with its digest when another file stands there.

    digest: SHA-256 of the file. The folder of `target` must exist. A second call after a stop completes the first.
    Raises OSError when the disk is full, either folder is read-only or another program still writes the photo, which is
    then still at `source`.
    """
    for name in _names(target.name, digest):
        place = target.parent / name
        if _stopped_before(source, place, digest) if os.path.lexists(place) else _put(source, place, digest):
            break
    source.unlink()
    return place


def _place_before(claimed: Path) -> Path:
    return claimed.parent.parent / claimed.name


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
    with atomic_replace(place) as new:
        shutil.copy2(source, new)
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        if file_digest(new) != digest:
            raise OSError(f"{source.name} changed while it was copied; close it in the program that writes it")
        if os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))


def _names(name: str, digest: str) -> Iterator[str]:
    path = PurePosixPath(name)
    number = 1
    yield name
    while True:
        ending = f"-{digest[:8]}{f'-{number}' if number > 1 else ''}{path.suffix}"
        stem = path.stem
        while len(os.fsencode(stem + ending)) > LONGEST:
            stem = stem[:-1]
        yield path.with_name(stem + ending).as_posix()
        number += 1
