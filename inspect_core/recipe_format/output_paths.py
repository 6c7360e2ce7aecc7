"""Where files may be written: not among the files of a recipe, and over nothing but Loupe's own files."""

import os
from collections.abc import Iterable
from pathlib import Path

from inspect_core.recipe_format import recipe_package
from inspect_core.runtime import workspace


class OutputPathError(OSError):
    """A place that must not be written to: the message names it, says why, and what to do."""


def check_folder(place: Path) -> None:
    """Raise OutputPathError when nothing can be written beside `place`, or when a recipe would be changed by it."""
    folder = Path(os.path.realpath(place.parent))
    around = [parent for parent in (folder, *folder.parents) if os.path.lexists(parent)]
    if not (around[0].is_dir() and os.access(around[0], os.W_OK | os.X_OK)):
        raise OutputPathError(f"{place} cannot be written: {around[0]} is not writable; choose another folder")
    for parent in around:
        if (parent / recipe_package.SUMS).is_file() and (parent / recipe_package.RECIPE).is_file():
            raise OutputPathError(
                f"{place} is inside the recipe {parent}, which may contain only its own files; choose another folder"
            )


def require_distinct_paths(files: Iterable[Path | None]) -> None:
    """Raise OutputPathError when two of the files that are to be written have one place, or one lies below another.

    However they are spelled: links in their folders are resolved, and letter case tells no two apart. None is no file.
    """
    used_paths: set[Path] = set()
    folders: set[Path] = set()
    for file in files:
        if file is None:
            continue
        place = Path(os.path.realpath(file).casefold())
        if place in used_paths or place in folders or not used_paths.isdisjoint(place.parents):
            raise OutputPathError(f"two outputs would be written to {file}; choose another name for one of them")
        used_paths.add(place)
        folders.update(place.parents)


def require_own_file(path: Path, begins: bytes, subject: str, *, begun: bool = False) -> None:
    """Raise OutputPathError, naming it, when there is a file at `path` that does not begin like Loupe's own `subject`.

    begun: whether it may have been cut short, or be empty, since a process was stopped when it had just begun.
    """
    check_folder(path)
    if not os.path.lexists(path):
        return
    if workspace.regular_file_stat(path):
        with path.open("rb") as file:
            first = file.read(len(begins))
        if first == begins or (begun and begins.startswith(first)):
            return
    raise OutputPathError(
        f"{path} already exists and is not {subject} written by Loupe, so it is not replaced; choose another name, or "
        "delete it yourself"
    )
