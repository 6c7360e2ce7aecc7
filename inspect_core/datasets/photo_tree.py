"""The files below a folder, archive or list of photos: images, lists, and all others with the reason."""

import os
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

from inspect_core.datasets.archives import unpacked
from inspect_core.datasets.dataset import ScanError, SkippedFile
from inspect_core.datasets.layout import BESIDE_PHOTOS, is_mask_folder, is_plain_folder, is_side
from inspect_core.datasets.listing import MAX_DEPTH, is_clutter, is_image, is_picture, walk
from inspect_core.datasets.lists_above import lists_above
from inspect_core.datasets.manifests.photo_list import is_list
from inspect_core.datasets.photo_labels import PhotoLabels, read_labels
from inspect_core.datasets.verdict_words import LABEL_WORDS, condition_sign, words_of
from inspect_core.images.header import unread_reason
from inspect_core.runtime import workspace
from inspect_core.runtime.wording import escape_line

MAX_FILES = 100_000
RECIPE_FILE = "recipe.json"
"""A folder with this file is a recipe, whose tables are Loupe's own."""
_SILENT = {use: words_of(words) for use, words in LABEL_WORDS["silent_files"].items()}


def resolve_allowed_path(path: str | Path, roots: Sequence[str | Path]) -> Path:
    """The path with `~` and all links resolved. Raises ValueError when it is then outside every allowed root."""
    resolved = Path(os.path.realpath(workspace.expand_path(path)))
    allowed = [Path(os.path.realpath(workspace.expand_path(root))) for root in roots]
    if not any(resolved.is_relative_to(root) for root in allowed):
        reason = f"“{path}” is outside the allowed folders ({', '.join(map(str, allowed)) or 'none'})"
        raise ValueError(f"{reason}; move the photos there, or add this folder to LOUPE_ROOTS and restart Loupe")
    return resolved


def is_within(folder: Path, roots: Sequence[str | Path] | None) -> bool:
    """Whether a folder lies in one of those that may be read; None: all may."""
    if roots is None:
        return True
    try:
        resolve_allowed_path(folder, roots)
    except ValueError:
        return False
    return True


def resolved(path: Path) -> Path:
    """The path of a file with links in its folder resolved, but not one that the file itself is."""
    return Path(os.path.realpath(path.parent), path.name)


def top_folder(path: Path, roots: Sequence[str | Path] | None = None) -> Path:
    """The folder below which the photos of a folder or a list are looked for; any other path as it is.

    Above a list among annotations it is the next one; above images/ the one that has labels or masks beside it. roots:
    folders that are not left upwards, None for all.
    """
    is_chosen_list = path.is_file() and is_list(path)
    if not (is_chosen_list or path.is_dir()):
        return path
    bottom = Path(os.path.realpath(path))
    bottom = bottom.parent if is_chosen_list else bottom
    if is_chosen_list and bottom.name.casefold() in BESIDE_PHOTOS and is_within(bottom.parent, roots):
        return bottom.parent
    folder = bottom
    while not is_chosen_list and _is_below_annotated(folder.name) and is_within(folder.parent, roots):
        folder = folder.parent
        neighbours = [child.name for child in folder.iterdir() if child.is_dir() and not child.is_symlink()]
        if any(map(_is_beside_photos, neighbours)):
            return folder
    return bottom


@dataclass(frozen=True)
class PhotoTree:
    """The files below a folder, an unpacked archive, or the folder of a list.

    name: of what the user chose; chosen: the list, below `root`; files: images, by extension; documents: files that may
    say what photos show; skipped: all others with the reason; unpacked: the folder of an archive.
    """

    root: Path
    name: str
    files: list[PurePosixPath]
    skipped: list[SkippedFile]
    documents: list[PurePosixPath]
    chosen: PurePosixPath | None = None
    unpacked: Path | None = None

    @classmethod
    def open(cls, path: str | Path, *, stays: bool = False, roots: Sequence[str | Path] | None = None) -> "PhotoTree":
        """Find the files at a path. Raises ScanError for a path without photos to look for, and as `scan`."""
        try:
            path = workspace.expand_path(path)
        except ValueError as error:
            raise ScanError(str(error)) from error
        try:
            if path.is_dir():
                real = Path(os.path.realpath(path))
                top = top_folder(real, roots)
                if top != real:
                    return cls._below(top, real.name, within=PurePosixPath(real.relative_to(top).as_posix()))
                tree = cls._below(_descend(real, archive=False), real.name)
                above = lists_above(real, tree.root, lambda folder: is_within(folder, roots))
                return replace(tree, documents=[*tree.documents, *above])
            if not path.exists():
                raise ScanError(f"{path} does not exist; check the path")
            if path.is_file() and is_list(path):  # a pipe would keep a reader waiting
                real = Path(os.path.realpath(path))
                root = top_folder(real, roots)
                return cls._below(root, real.stem, chosen=PurePosixPath(real.relative_to(root).as_posix()))
            if not path.is_file() or not zipfile.is_zipfile(path):
                if path.is_file() and path.suffix.lower() == ".zip":
                    raise ScanError(f"{path.name} is a damaged or incomplete zip archive; copy or download it again")
                reason = "is not a folder, zip archive or list of photos; choose the folder with the photos"
                raise ScanError(f"{path.name} {reason}")
            root = unpacked(path, stays=stays)
            return cls._below(_descend(root, archive=True), path.stem, unpacked=root)
        except OSError as error:
            raise unreadable(path, error) from error

    @classmethod
    def _below(cls, root: Path, name: str, *, within: PurePosixPath | None = None, **more: Any) -> "PhotoTree":
        return cls(root, name, *_walk(root, within), **more)

    def read_labels(self, reading: str | None, *, to_teach: bool = True) -> PhotoLabels:
        """The labels of the photos, as `photo_labels.read_labels`."""
        others = {skipped.name: skipped.reason for skipped in self.skipped if skipped.role == "photo"}
        options = {"name": self.name, "chosen": self.chosen, "reading": reading, "to_teach": to_teach}
        return read_labels(self.root, self.files, self.documents, others, **options)

    def discard(self) -> None:
        """Remove what was unpacked."""
        if self.unpacked is not None:
            shutil.rmtree(self.unpacked)


def unreadable(path: str | Path, error: OSError) -> ScanError:
    """What to tell of a path that the system does not let read."""
    return ScanError(f"{path} cannot be read ({error.strerror or error}); check its permissions")


def _descend(root: Path, *, archive: bool) -> Path:
    """Go down while a folder holds just one folder, as archives do, but not into one whose name says what it holds.

    A folder with only images may be a defect type: it is entered in an archive alone, where wrapping folders are usual.
    """
    for _ in range(MAX_DEPTH):
        folders, has_images = _content(root)
        if len(folders) != 1 or has_images:
            break
        only = folders[0]
        says = condition_sign(only.name) is not None or is_side(only.name) or is_mask_folder(only.name)
        if says or not (archive or _content(only)[0]) or _has_documents(root):
            break
        root = only
    return root


def _content(folder: Path) -> tuple[list[Path], bool]:
    """The folders directly in a folder that are not empty, and whether images are."""
    files = takewhile(lambda entry: "/" not in entry[0], walk(folder))
    has_images = any(not problem and is_image(name) for name, problem in files)
    visible = [child for child in folder.iterdir() if not is_clutter(child.name)]
    return [child for child in visible if child.is_dir() and not child.is_symlink() and _holds(child)], has_images


def is_document(name: str) -> bool:
    """Whether a file that is no image may say what photos show: all may but those that `label_words.toml` names."""
    path = PurePosixPath(name.casefold())
    return path.suffix not in _SILENT["endings"] and not path.name.startswith(tuple(_SILENT["names"]))


def _has_documents(folder: Path) -> bool:
    """Whether files that may be lists lie directly in a folder."""
    return any(is_document(child.name) for child in folder.iterdir() if child.is_file())


def _holds(folder: Path) -> bool:
    """Whether something may lie in a folder; one that cannot be read is named later, by itself."""
    try:
        return any(walk(folder))
    except OSError:
        return True


def _is_of(name: str, folder: PurePosixPath) -> bool:
    """Whether a file lies in a folder that the user chose, or beside it and may say what its photos show."""
    path = PurePosixPath(name)
    if path.parent == PurePosixPath():
        return not is_image(name)
    sides, chosen = ({part.casefold() for part in parts if is_side(part)} for parts in (path.parts, folder.parts))
    is_of_side = not (sides and chosen) or sides == chosen
    return path.is_relative_to(folder) or (_is_beside_photos(path.parts[0]) and is_of_side)


def _is_below_annotated(folder: str) -> bool:
    """Whether a folder of photos may have their annotations in one beside it, or beside one above."""
    return is_plain_folder(folder) or is_side(folder)


def _is_beside_photos(folder: str) -> bool:
    return folder.casefold() in BESIDE_PHOTOS or is_mask_folder(folder)


def _walk(
    root: Path, within: PurePosixPath | None
) -> tuple[list[PurePosixPath], list[SkippedFile], list[PurePosixPath]]:
    """The image files below `root`, by extension, all other files, and those of them that may speak of photos; no link
    leads out of it. within: the folder below `root` whose photos are meant, None for all.
    """
    files: list[PurePosixPath] = []
    skipped: list[SkippedFile] = []
    documents: list[PurePosixPath] = []
    for name, problem in walk(root):
        if within is not None and not _is_of(name, within):
            continue
        if len(files) + len(skipped) == MAX_FILES:
            raise ScanError(f"{root} holds more than {MAX_FILES:,} files; choose the folder of a single product")
        path = root / name
        role = "photo"
        link = path.is_symlink()
        if problem:
            reason = problem
        elif link and path.is_dir():
            reason = "it is a link to a folder; copy the folder itself"
        elif not is_image(name):
            reason = f"it is not a photo ({escape_line(path.suffix.lower() or 'no extension')})"
            role = "other"
            if is_picture(path):
                reason = unread_reason(name)
                role = "photo"
            elif (
                is_document(name)
                and not link
                and path.is_file()
                and name.isprintable()
                and not _is_in_recipe(path, root)
            ):
                documents.append(PurePosixPath(name))
        elif not name.isprintable():
            reason = "its name contains characters that cannot be displayed; rename it"
        elif link and not path.exists():
            reason = "broken link; copy the file itself"
        elif link and not Path(os.path.realpath(path)).is_relative_to(root):
            reason = "link to a file outside the folder; copy the file itself"
        else:
            files.append(PurePosixPath(name))
            continue
        skipped.append(SkippedFile(escape_line(name), reason, role))
    return files, skipped, documents


def _is_in_recipe(path: Path, root: Path) -> bool:
    """Whether a file below `root` lies in a recipe."""
    return any((folder / RECIPE_FILE).is_file() for folder in path.parents if folder.is_relative_to(root))
