"""The photos that paths name: files as they are, folders with all below them but masks."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from inspect_core.images.layout import is_mask_folder
from inspect_core.images.read import EXTENSIONS


def photos_in(paths: Iterable[str | Path]) -> list[tuple[str, Path]]:
    """(name, path) of every photo, in order of the paths and sorted within a folder.

    The name is the POSIX path below the folder given, or the file's own name; names met twice get their folder in
    front. `ground_truth/` and hidden folders are passed over, and links to folders are not followed. A path given as
    a file is taken whatever its extension.
    Raises FileNotFoundError for a path that does not exist.
    """
    found: list[tuple[str, Path]] = []
    for given in map(Path, paths):
        if given.is_dir():
            found += sorted((path.relative_to(given).as_posix(), path) for path in _below(given))
        elif given.exists():
            found.append((given.name, given))
        else:
            raise FileNotFoundError(f"there is nothing at {given}; check the path")
    times = Counter(name for name, _ in found)
    return [(name if times[name] == 1 else path.as_posix(), path) for name, path in found]


def _below(folder: Path) -> Iterable[Path]:
    for where, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and not is_mask_folder(name)]
        yield from (Path(where, name) for name in files if Path(name).suffix.lower() in EXTENSIONS)
