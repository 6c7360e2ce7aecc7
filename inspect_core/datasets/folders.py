"""From a folder, zip archive or list of photos to samples: contents, skipped files with reasons, and warnings."""

import hashlib
import os
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from inspect_core.datasets import preflight
from inspect_core.datasets.archives import unpacked
from inspect_core.datasets.dataset import GOOD, Dataset, PhotoFile, ScanError, SkippedFile
from inspect_core.datasets.duplicates import HASH_GRID, difference_hash, near_duplicates
from inspect_core.datasets.layout import PathLabels, is_mask_folder, is_plain_folder, is_side
from inspect_core.datasets.listing import MAX_DEPTH, is_clutter, is_image, walk
from inspect_core.datasets.lists_above import lists_above
from inspect_core.datasets.manifests.manifest_entry import UNNAMED, Annotation
from inspect_core.datasets.manifests.photo_list import is_list
from inspect_core.datasets.photo_labels import NAMES, PhotoLabels, UnclearLabels, is_document, read_labels
from inspect_core.datasets.splitting import Split as Split
from inspect_core.datasets.splitting import split as split
from inspect_core.datasets.verdict_words import condition_sign, words_of
from inspect_core.images.depth import ValueStatistics, depth_of
from inspect_core.images.header import open_photo
from inspect_core.images.photo_reader import ImageError, read_mask, thumbnail
from inspect_core.runtime import workspace
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.runtime.wording import escape_line, join_first_names, pluralise

MAX_FILES = 100_000
OTHER_PICTURES = frozenset({".gif", ".heic", ".heif", ".avif", ".jp2", ".svg", ".psd", ".dng", ".raw"})
FLAT = 1  # most grey levels by which the thumbnail of a photo differs that shows nothing
MAX_WORKERS = 4  # images looked at side by side; of large ones, `read` decodes one at a time
RECIPE_FILE = "recipe.json"
"""A folder with this file is a recipe, whose tables are Loupe's own."""
BESIDE_PHOTOS = words_of("annotations annotation labels label ann annos anno split_csv imagesets")
"""Folders of files on photos that lie beside them."""


class _ScannedPhoto(NamedTuple):
    """A sample that was decoded once: its thumbnail, the digest of its file, and its values if it has 16 bits."""

    sample: PhotoFile
    grey: np.ndarray
    file_digest: bytes
    values: ValueStatistics | None
    is_mosaic: bool
    has_blank_alpha: bool


def resolve_allowed_path(path: str | Path, roots: Sequence[str | Path]) -> Path:
    """The path with `~` and all links resolved. Raises ValueError when it is then outside every allowed root."""
    resolved = Path(os.path.realpath(workspace.expand_path(path)))
    allowed = [Path(os.path.realpath(workspace.expand_path(root))) for root in roots]
    if not any(resolved.is_relative_to(root) for root in allowed):
        reason = f"“{path}” is outside the allowed folders ({', '.join(map(str, allowed)) or 'none'})"
        raise ValueError(f"{reason}; move the photos there, or add this folder to LOUPE_ROOTS and restart Loupe")
    return resolved


def scan(
    path: str | Path,
    *,
    stays: bool = False,
    labels: str | None = None,
    roots: Sequence[str | Path] | None = None,
    report: Report = ignore_progress,
) -> Dataset:
    """Find the good images, the defects with their masks, and all that cannot be used, in any layout of `photo_labels`.

    A zip archive is unpacked into the workspace until the process ends, or for good if it `stays`; a file that lists
    photos is read with the photos below its own folder, or beside it where it lies in a folder of annotations. labels:
    one of `photo_labels.READINGS`, by which labels are read. roots: folders that are not left upwards; None for all.
    Every image is decoded once, a JPEG at reduced size, so that damaged files are found now. No link is followed out of
    the folder. Raises UnclearLabels where labels can be read in more than one way, and ScanError when there is nothing
    to teach from, and whatever `report` raises to stop.
    """
    source = PhotoTree.open(path, stays=stays, roots=roots)
    try:
        return _samples(source, source.read_labels(labels), report)
    except OSError as error:
        source.discard()
        raise _unreadable(path, error) from error
    except ScanError as error:
        if not (stays and isinstance(error, UnclearLabels)):
            source.discard()
        raise


def labels_at(paths: Iterable[Path], reading: str | None = None) -> dict[Path, str]:
    """What names, lists, annotations and masks say of the photos at paths: "good" or the defect type, by the
    path with links in its folder resolved.

    Nothing of the photos of a folder, zip or list where nothing says anything. A photo given by itself has the label of
    its name or its folder's, if that is a defect's. Raises as `scan`, but not where there is nothing to teach from.
    """
    labels: dict[Path, str] = {}
    for path in paths:
        if path.is_file() and not is_list(path) and path.suffix.lower() != ".zip":
            signs = map(condition_sign, (path.stem, path.absolute().parent.name))
            labels |= {resolved(path): sign.word for sign in signs if sign is not None and sign.condition != GOOD}
            continue
        tree = PhotoTree.open(path)
        labels_read = tree.read_labels(reading, to_teach=False).images
        if any(place.is_said for place in labels_read.values()):
            labels |= {tree.root / photo: place.label for photo, place in labels_read.items()}
    return labels


def photos_of_list(path: Path) -> list[tuple[str, Path]]:
    """(name, path) of the photos that a list of another tool names. Raises ScanError for a damaged list."""
    tree = PhotoTree.open(path)
    return [(str(photo), tree.root / photo) for photo in tree.read_labels(NAMES).images]


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
    while not is_chosen_list and is_plain_folder(folder.name) and is_within(folder.parent, roots):
        folder = folder.parent
        neighbours = [child.name for child in folder.iterdir() if child.is_dir() and not child.is_symlink()]
        if any(map(_is_beside_photos, neighbours)):
            return folder
    return bottom


@dataclass(frozen=True)
class PhotoTree:
    """The files below a folder, an unpacked archive, or the folder of a list.

    name: of what the user chose; chosen: the list, below `root`; files: images, by extension; documents: files that may
    be lists; skipped: all others with the reason; unpacked: the folder of an archive.
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
            raise _unreadable(path, error) from error

    @classmethod
    def _below(cls, root: Path, name: str, *, within: PurePosixPath | None = None, **more: Any) -> "PhotoTree":
        return cls(root, name, *_walk(root, within), **more)

    def read_labels(self, reading: str | None, *, to_teach: bool = True) -> PhotoLabels:
        """The labels of the photos, as `photo_labels.read_labels`."""
        others = {skipped.name: skipped.reason for skipped in self.skipped if skipped.role == "photo"}
        unread = [PurePosixPath(skipped.name) for skipped in self.skipped if skipped.role == "other"]
        known = {"name": self.name, "chosen": self.chosen, "reading": reading, "to_teach": to_teach}
        return read_labels(self.root, self.files, self.documents, others, unread=unread, **known)

    def discard(self) -> None:
        """Remove what was unpacked."""
        if self.unpacked is not None:
            shutil.rmtree(self.unpacked)


def _unreadable(path: str | Path, error: OSError) -> ScanError:
    return ScanError(f"{path} cannot be read ({error.strerror or error}); check its permissions")


def _samples(tree: PhotoTree, labels_read: PhotoLabels, report: Report) -> Dataset:
    """The samples of the images of a tree, read as `found` says."""
    root, images, masks = tree.root, labels_read.images, labels_read.marks
    read = {escape_line(str(name)) for name in labels_read.lists}
    skipped = [*labels_read.skipped]
    if tree.chosen is None:
        skipped += [file for file in tree.skipped if file.name not in read]
    with ThreadPoolExecutor(min(MAX_WORKERS, os.cpu_count() or 1)) as pool:
        looks: list[tuple[_ScannedPhoto | None, list[SkippedFile]]] = []
        for scanned_photo in pool.map(lambda file: _scan_photo(root, file, images[file], masks.get(file)), images):
            looks.append(scanned_photo)
            report(len(looks) / len(images), f"checking photo {len(looks):,} of {len(images):,}")
    skipped += [file for _, refused in looks for file in refused]
    usable = _distinct(_of_one_depth([scanned for scanned, _ in looks if scanned is not None], skipped), skipped)
    samples = [scanned.sample for scanned in usable]
    good, defects = (
        tuple(sample for sample in samples if (sample.label == GOOD) == is_good) for is_good in (True, False)
    )
    skipped.sort()
    _require_good(root, good, defects, skipped)
    warnings = preflight.warnings(samples, skipped, file_digests=[scanned.file_digest for scanned in usable])
    empty = [photo.sample.name for photo in usable if photo.sample.label == GOOD and int(np.ptp(photo.grey)) <= FLAT]
    if empty:
        warnings += (
            f"{pluralise(len(empty), 'good photo')} of one even tone ({join_first_names(empty)}): they show nothing.",
        )
    warnings += (*_remarks(usable), *labels_read.notes)
    values = [scanned.values for scanned in usable if scanned.sample.label == GOOD and scanned.values is not None]
    together = ValueStatistics.together(values) if values else None
    return Dataset(root, good, defects, tuple(skipped), warnings, together, copies=_copies(usable))


def _remarks(usable: Sequence[_ScannedPhoto]) -> Iterator[str]:
    """Yield what is odd in the pixels of photos and no reason to skip them."""
    mosaics = [photo.sample.name for photo in usable if photo.is_mosaic]
    if 2 * len(mosaics) > len(usable):
        yield (
            f"{pluralise(len(mosaics), 'photo')} look like raw Bayer data, one colour per pixel "
            f"({join_first_names(mosaics)}); convert them to RGB or grey in the camera or its software."
        )
    if blank := [photo.sample.name for photo in usable if photo.has_blank_alpha]:
        yield (
            f"{pluralise(len(blank), 'photo')} with an alpha of 0 everywhere ({join_first_names(blank)}): it is "
            "ignored, and the colours are used."
        )


def _copies(looks: Sequence[_ScannedPhoto]) -> tuple[tuple[str, ...], ...]:
    """Names of the good photos that are nearly the same, set by set."""
    good = [scanned for scanned in looks if scanned.sample.label == GOOD]
    hashes = np.array([difference_hash(scanned.grey) for scanned in good], np.uint64).reshape(-1, 4)
    return tuple(tuple(good[i].sample.name for i in group) for group in near_duplicates(hashes))


def _distinct(looks: list[_ScannedPhoto], skipped: list[SkippedFile]) -> list[_ScannedPhoto]:
    """The photos without good ones that are byte for byte another of the same side: they show one part."""
    first: dict[tuple[bytes, str | None], str] = {}
    distinct = []
    for scanned in looks:
        sample = scanned.sample
        name = (
            first.setdefault((scanned.file_digest, sample.split_side), sample.name)
            if sample.label == GOOD
            else sample.name
        )
        if name == sample.name:
            distinct.append(scanned)
        else:
            skipped.append(
                SkippedFile(sample.name, f"it is a copy of {escape_line(name)}; one photo is one part", "photo")
            )
    return distinct


def _of_one_depth(photos: list[_ScannedPhoto], skipped: list[SkippedFile]) -> list[_ScannedPhoto]:
    """The photos of the depth that most good ones have; others are skipped."""
    depth = depth_of([scanned.values for scanned in photos if scanned.sample.label == GOOD])
    if depth is None:
        return photos
    same_depth = []
    for scanned in photos:
        try:
            depth.check_file(scanned.sample.name, is_deep=scanned.values is not None)
        except ImageError as error:
            skipped.append(SkippedFile(scanned.sample.name, error.why, "photo"))
        else:
            same_depth.append(scanned._replace(sample=replace(scanned.sample, depth=depth)))
    return same_depth


def is_within(folder: Path, roots: Sequence[str | Path] | None) -> bool:
    """Whether a folder lies in one of those that may be read; None: all may."""
    if roots is None:
        return True
    try:
        resolve_allowed_path(folder, roots)
    except ValueError:
        return False
    return True


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


def _has_documents(folder: Path) -> bool:
    """Whether files that may be lists lie directly in a folder."""
    return any(is_document(child.name) for child in folder.iterdir() if child.is_file())


def _content(folder: Path) -> tuple[list[Path], bool]:
    """The folders directly in a folder that are not empty, and whether images are."""
    files = takewhile(lambda entry: "/" not in entry[0], walk(folder))
    has_images = any(not problem and is_image(name) for name, problem in files)
    visible = [child for child in folder.iterdir() if not is_clutter(child.name)]
    return [child for child in visible if child.is_dir() and not child.is_symlink() and _holds(child)], has_images


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
        return is_document(name)
    return path.is_relative_to(folder) or _is_beside_photos(path.parts[0])


def _is_beside_photos(folder: str) -> bool:
    return folder.casefold() in BESIDE_PHOTOS or is_mask_folder(folder)


def _walk(
    root: Path, within: PurePosixPath | None
) -> tuple[list[PurePosixPath], list[SkippedFile], list[PurePosixPath]]:
    """The image files below `root`, by extension, all other files, and those of them that may be lists; no link
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
            if path.suffix.lower() in OTHER_PICTURES:
                reason = f"Loupe reads no {path.suffix[1:].upper()}; save it as PNG"
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


def _scan_photo(
    root: Path, file: PurePosixPath, place: PathLabels, mask: PurePosixPath | Annotation | None
) -> tuple[_ScannedPhoto | None, list[SkippedFile]]:
    """The photo if it can be used, and what of it and its mask cannot."""
    path = root / file
    try:
        preview = thumbnail(path, HASH_GRID)
        with open_photo(path) as content:
            file_digest = hashlib.file_digest(content, "sha256").digest()
    except ImageError as error:
        return None, [SkippedFile(str(file), error.why, "photo")]
    mask_path = None
    label = place.label
    skipped = []
    try:
        if isinstance(mask, Annotation):
            mask_path, painted = mask.save_mask(preview.size)
            label = painted if painted != UNNAMED else label
        elif mask is not None:
            if not read_mask(root / mask, preview.size).any():
                raise ImageError(mask.name, "the mask is empty", "paint the defect white, or remove the mask")
            mask_path = root / mask
    except ImageError as error:
        skipped.append(SkippedFile(mask.name if isinstance(mask, Annotation) else str(mask), error.why, "mask"))
    signs = place.source
    sample = PhotoFile(path, str(file), label, preview.size, mask_path, place.split_side, place.group, source=signs)
    remarks = preview.is_mosaic, preview.has_blank_alpha
    return _ScannedPhoto(sample, preview.grey, file_digest, preview.values, *remarks), skipped


def _require_good(
    root: Path, good: Sequence[PhotoFile], defects: Sequence[PhotoFile], skipped: Sequence[SkippedFile]
) -> None:
    """Raise ScanError when there is nothing to teach from, saying what was found instead."""
    if any(sample.split_side != "test" for sample in good):
        return
    name = root.name or str(root)
    if good:
        raise ScanError(f"“{name}” has good photos in test/ only; move the training photos to train/good/")
    if defects:
        types = join_first_names(sorted({sample.label for sample in defects}))
        raise ScanError(f"“{name}” has no good photos, only {types}; put good photos into a folder named good")
    if skipped:
        others = f"{pluralise(len(skipped), 'other file')} ({skipped[0].name}: {skipped[0].reason})"
        remedy = "add photos of good parts as PNG, JPEG, BMP, TIFF or WebP"
        raise ScanError(f"No photos in “{name}”: it holds {others}; {remedy}")
    raise ScanError(f"The folder “{name}” is empty; put photos of good parts into it")
