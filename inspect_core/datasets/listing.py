"""What lies below a folder, and the photos that paths name. No link is followed, however deep folders stand. What Loupe
itself wrote among photos (`datasets.owned_files`) is passed over.
"""

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from inspect_core.datasets import mask_files
from inspect_core.datasets.layout import find_masks, is_mask_folder
from inspect_core.datasets.owned_files import lists_around, owned_files_in
from inspect_core.images.header import EXTENSIONS, OTHER_PICTURES, is_photo_content

MAX_DEPTH = 50  # folders in one another; the system's own limit is the length of a path
_CLUTTER = frozenset({"thumbs.db", "desktop.ini", "__macosx"})


def is_clutter(name: str) -> bool:
    """Whether a file or folder is skipped silently: hidden by one dot, or put there by the system."""
    return (name.startswith(".") and not name.startswith("..")) or name.casefold() in _CLUTTER


def is_image(name: str) -> bool:
    """Whether a file is taken for an image, by its extension."""
    return (
        os.path.splitext(name)[1].lower() in EXTENSIONS
    )  # a table has millions of names: `Path` takes ten times as long


def is_picture(path: Path) -> bool:
    """Whether a file is a picture, read or not: by its extension, or without one by its content."""
    suffix = path.suffix.lower()
    return suffix in EXTENSIONS | OTHER_PICTURES or (not suffix and is_photo_content(path))


def walk(root: Path, *, passed_over: Callable[[str], bool] = is_clutter) -> Iterator[tuple[str, str | None]]:
    """Yield (POSIX path below `root`, None) of all but folders and what Loupe wrote, sorted within a folder.

    A folder that is not entered, unreadable or more than `MAX_DEPTH` deep, comes with the reason and the remedy instead
    of None. Raises OSError when `root` itself cannot be read.
    """
    real = Path(os.path.realpath(root))
    waiting = [("", lists_around(real.parent))]
    while waiting:
        folder, lists = waiting.pop()
        if folder.count("/") >= MAX_DEPTH:
            yield folder, f"the folder is nested more than {MAX_DEPTH} levels deep; move it up"
            continue
        try:
            with os.scandir(root / folder) as entries:
                children = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except OSError as error:
            if not folder:
                raise
            yield folder, f"the folder cannot be read ({error.strerror}); check its permissions"
            continue
        lists += owned_files_in(real / folder)
        for name, is_folder in children:
            if passed_over(name):
                continue
            path = f"{folder}/{name}" if folder else name
            if is_folder:
                waiting.append((path, lists))
            elif not any(written.holds(real / path) for written in lists):
                yield path, None


def is_clutter_or_masks(name: str) -> bool:
    """Whether a name is that of no photo or folder of photos: clutter, or a folder of masks."""
    return is_clutter(name) or is_mask_folder(name)


def photos_in(paths: Iterable[str | Path], roots: Sequence[Path] | None = None) -> list[tuple[str, Path]]:
    """(name, path) of every photo, in order of the paths and sorted within a folder.

    The name is the POSIX path below the folder given, or the file's own name; names met twice become the whole path,
    as given. A photo named twice is taken once. Pictures of formats that are not read are photos too: they are not
    judged, with the reason. Masks, hidden files and clutter are passed over, and links
    to folders are not followed. A path given as a file is taken whatever its name, unless Loupe wrote the file.
    roots: folders out of which no link in a folder may lead, None where any may. Raises FileNotFoundError for a path
    that does not exist, OSError for a folder below it that cannot be entered and for a link that leads out.
    """
    names: dict[Path, str] = {}
    around = functools.cache(lists_around)
    for listed in map(Path, paths):
        if listed.is_dir():
            for name in sorted(_images_below(listed)):
                if roots is not None and (listed / name).is_symlink():
                    _require_within(listed / name, [listed, *roots])
                names.setdefault(listed / name, name)
        elif listed.exists():
            real = Path(os.path.realpath(listed))
            if not any(written.holds(real) for written in around(real.parent)):
                names.setdefault(listed, listed.name)
        else:
            raise FileNotFoundError(f"{listed} does not exist; check the path")
    while twice := {name for name, times in Counter(names.values()).items() if times > 1}:
        names = {path: path.as_posix() if name in twice else name for path, name in names.items()}
    return [(name, path) for path, name in names.items()]


def _require_within(link: Path, roots: Sequence[Path]) -> None:
    """Raise OSError for a link to a file that lies in none of these folders."""
    target = Path(os.path.realpath(link))
    if not any(target.is_relative_to(os.path.realpath(root)) for root in roots):
        raise OSError(f"{link} is a link to a file outside the allowed folders; copy the file itself")


def _images_below(folder: Path) -> list[str]:
    """The POSIX paths of the photos below a folder, without masks. Raises OSError as `photos_in`."""
    names = []
    for name, problem in walk(folder, passed_over=is_clutter_or_masks):
        if problem:
            raise OSError(f"{folder / name}: {problem}")
        if is_picture(folder / name):
            names.append(name)
    masks = find_masks(map(PurePosixPath, names), lambda path: mask_files.is_drawn(folder / path))
    return [name for name in names if PurePosixPath(name) not in masks]
