"""A photo is claimed before it is read: renamed into a hidden folder of Loupe's own beside it.

What is then judged and moved is one file, whatever a camera writes under the photo's name meanwhile. The hidden folder
holds a photo, under the same name, from its claim until it is moved, also over a kill. One that must wait is put back,
unless it is recorded.
"""

import contextlib
import os
from pathlib import Path, PurePosixPath

CLAIMED = ".loupe-claimed"


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


def give_back(claimed: Path) -> None:
    """Put a claimed photo back under its name, replacing nothing.

    It stays claimed while another photo has the name, and where the file system has no hard links.
    """
    with contextlib.suppress(OSError):
        os.link(claimed, _own(claimed))
    is_back(claimed)


def is_back(claimed: Path) -> bool:
    """Whether the photo lies under its name again; it is then claimed no more."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.lstat(claimed), os.lstat(_own(claimed))):
            claimed.unlink()
            return True
    return False


def tidy(folder: Path) -> None:
    """Remove a folder of claims that is empty."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def _own(claimed: Path) -> Path:
    return claimed.parent.parent / claimed.name
