"""Lists of photos that lie above the folder that was chosen: beside it, or one folder further up."""

import os
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path, PurePosixPath

from inspect_core.datasets.listing import is_clutter
from inspect_core.datasets.manifests import formats
from inspect_core.datasets.verdict_words import LABEL_WORDS, words_of

FOLDERS_UP = 2
MOST_LISTS = 20
"""Files of one folder that are looked at: more are a store of other things."""
LARGEST = 20 << 20
"""Bytes of one."""


def lists_above(folder: Path, root: Path, may_read: Callable[[Path], bool]) -> list[PurePosixPath]:
    """Files above a folder that may list its photos, by their paths from `root`: "../labels.csv".

    may_read: whether what lies in a folder above may be read. A folder that cannot be listed holds none.
    """
    known = (list_format.SUFFIXES for list_format in formats.all_formats() if list_format.NAMES_ALL)
    suffixes = words_of(LABEL_WORDS["silent_files"]["tables"]).union(*known)
    lists: list[PurePosixPath] = []
    for above in islice(folder.parents, FOLDERS_UP):
        if not may_read(above):
            break
        try:
            with os.scandir(above) as entries:
                files = sorted(
                    entry.name
                    for entry in entries
                    if Path(entry.name).suffix.lower() in suffixes
                    and not is_clutter(entry.name)
                    and entry.is_file(follow_symlinks=False)
                    and entry.stat().st_size <= LARGEST
                )
        except OSError:
            break
        if len(files) <= MOST_LISTS:
            lists += [PurePosixPath(os.path.relpath(above / name, root)) for name in files]
    return lists


def is_above(document: PurePosixPath) -> bool:
    """Whether a list lies above the folder whose photos it may name."""
    return ".." in document.parts


def folders_beside(root: Path, document: PurePosixPath) -> list[Path]:
    """The other folders beside a list above `root`: those in which that of `root` does not lie."""
    folder = Path(os.path.normpath(root / document)).parent
    chosen = root.relative_to(folder).parts[0]
    return [child for child in folder.iterdir() if child.is_dir() and child.name != chosen]


def is_of_another_folder(root: Path, others: Iterable[Path], reference: str) -> bool:
    """Whether a list above `root` names a photo with a folder that is one of the others beside it."""
    *folders, _ = PurePosixPath(reference.replace("\\", "/")).parts or ("",)
    return bool(folders) and folders[-1] not in root.parts and folders[-1] in {other.name for other in others}


def lies_in_several(others: Iterable[Path], reference: str) -> bool:
    """Whether a list above a folder names a photo without its folder, and one of the others has one of that name."""
    is_plain = len(PurePosixPath(reference.replace("\\", "/")).parts) == 1
    return is_plain and any((other / reference).is_file() for other in others)
