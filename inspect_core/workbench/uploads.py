"""Uploaded files on disk: each under a unique name, its own as far as the file system allows it."""

import hashlib
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path, PurePosixPath, PureWindowsPath

from PIL import Image

from inspect_core.datasets.listing import is_clutter
from inspect_core.images.photo_reader import DecodedPhoto
from inspect_core.images.png import png_of
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.runtime.workspace import NAME_BYTES

WINDOWS = os.name == "nt"
_NAMING = b"3\0"  # part of the digest: folders stored under other rules for names are not reused


def keep(files: Sequence[tuple[str, bytes | memoryview]], below: Path) -> Path:
    """The folder in `below` that holds these files, given as (name, content); the same files are kept once.

    It appears when all are written, complete even if several sessions write them at once. What was changed in it since
    is written again. Raises OSError when they cannot be written, with nothing left behind, or when something else lies
    in the folder, which stays.
    """
    contents = dict(zip(paths_of([name for name, _ in files]), (content for _, content in files), strict=True))
    digest = hashlib.sha256(_NAMING)
    for name, content in files:
        digest.update(name.encode("utf-8", "backslashreplace") + b"\0" + hashlib.sha256(content).digest())
    folder = below / digest.hexdigest()[:24]
    if os.path.lexists(folder) and _holds(folder, contents):
        return folder
    with atomic_replace(folder) as new:
        for path, content in contents.items():
            target = new / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    return folder


def keep_picture(picture: DecodedPhoto, below: Path) -> Path:
    """The picture as a PNG in `below`, named by its digest; the path. Raises OSError as `keep` does."""
    path = below / f"{picture.digest[:32]}.png"
    content = png_of(Image.fromarray(picture.pixels))
    if workspace.content(path, at_most=len(content)) != content:
        with atomic_replace(path) as new:
            new.write_bytes(content)
    return path


def _holds(folder: Path, contents: Mapping[str, bytes | memoryview]) -> bool:
    """Whether all files, by path and content, lie there unchanged. Raises OSError for a missing one."""
    names = set(map(_key, contents))
    for path in folder.rglob("*"):
        passed = is_clutter(path.name) or (path.is_dir() and not path.is_symlink())
        if not passed and _key(path.relative_to(folder).as_posix()) not in names:
            raise OSError(f"{path} is not part of this upload; remove it")
    return all(workspace.content(folder / path, at_most=len(content)) == content for path, content in contents.items())


def paths_of(names: Sequence[str], *, windows: bool = WINDOWS) -> list[str]:
    """A relative POSIX path for each uploaded name, in order; none leads elsewhere, no two are the same.

    Names are unchanged except for those that a scan passes over or the system reserves, unprintable characters, a
    leading dot, and what exceeds NAME_BYTES bytes. Of two that differ by case or by how accents are written, the second
    gets a number.
    """
    split = [_parts(name, windows) for name in names]
    used_names = {_key(folder) for *folders, _ in split for folder in accumulate(folders, "{}/{}".format)}
    paths = []
    tried = Counter()
    for *folders, name in split:
        path = requested = "/".join([*folders, name])
        while _key(path) in used_names:
            tried[requested] += 1
            path = "/".join([*folders, _fitted(name, f" ({tried[requested] + 1})")])
        used_names.add(_key(path))
        paths.append(path)
    return paths


def _parts(name: str, windows: bool) -> list[str]:
    *folders, file = [part for part in PurePosixPath(name).parts if part not in ("/", "//", "..")] or [""]
    clean_parts = (f"_{part}" if not part or part[0] == "." or is_clutter(part) else part for part in (*folders, file))
    return [_fitted(_allowed(part, windows)) for part in clean_parts]


def _allowed(part: str, windows: bool) -> str:
    forbidden = '<>:"/\\|?*' if windows else "/"
    clean = "".join(sign if sign.isprintable() and sign not in forbidden else "_" for sign in part)
    if windows:
        clean = f"_{clean}" if PureWindowsPath(clean).is_reserved() else re.sub(r"[. ]$", "_", clean)
    return clean


def _fitted(name: str, number: str = "") -> str:
    """The name with a number before its extension, cut to NAME_BYTES bytes without losing either."""
    match = re.fullmatch(r"(.+?)(\.\w{1,8})?", name)
    stem, extension = (name, "") if match is None else match.groups("")
    room = NAME_BYTES - len((number + extension).encode())
    return stem.encode()[:room].decode(errors="ignore") + number + extension


def _key(path: str) -> str:
    """Equal for all paths that some file system treats as the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
