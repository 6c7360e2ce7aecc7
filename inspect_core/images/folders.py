"""From a folder, zip archive or list of photos to samples: contents, skipped files with reasons, and warnings."""

import hashlib
import os
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from inspect_core.images import preflight
from inspect_core.images.archives import unpacked
from inspect_core.images.depth import ValueStatistics, depth_of
from inspect_core.images.duplicates import HASH_GRID, difference_hash, near_duplicates
from inspect_core.images.header import open_photo
from inspect_core.images.layout import PathLabels, classify_paths, is_defect_word, is_good_word, is_mask_folder, is_side
from inspect_core.images.listing import MAX_DEPTH, is_clutter, is_image, walk
from inspect_core.images.manifests.manifest_entry import Annotation
from inspect_core.images.manifests.photo_list import is_list, read_photo_list
from inspect_core.images.photo_reader import ImageError, read_mask, thumbnail
from inspect_core.images.samples import (
    GOOD,
    Dataset,
    PhotoFile,
    ScanError,
    SkippedFile,
    escape_line,
    join_first_names,
    pluralise,
)
from inspect_core.images.splitting import Split as Split
from inspect_core.images.splitting import split as split
from inspect_core.runtime import workspace

MAX_FILES = 100_000
OTHER_PICTURES = frozenset({".gif", ".heic", ".heif", ".avif", ".jp2", ".svg", ".psd", ".dng", ".raw"})
FLAT = 1  # most grey levels by which the thumbnail of a photo differs that shows nothing
MAX_WORKERS = 4  # images looked at side by side; of large ones, `read` decodes one at a time
_STRAY_MASK = "mask without a matching photo; give it the photo's name plus _mask"


class _ScannedPhoto(NamedTuple):
    """A sample that was decoded once: its thumbnail, the digest of its file, and its values if it has 16 bits."""

    sample: PhotoFile
    grey: np.ndarray
    file_digest: bytes
    values: ValueStatistics | None


def resolve_allowed_path(path: str | Path, roots: Sequence[str | Path]) -> Path:
    """Return the path with `~` and all links resolved. Raises ValueError when it is then outside every allowed root."""
    resolved = Path(os.path.realpath(workspace.expand_path(path)))
    allowed = [Path(os.path.realpath(workspace.expand_path(root))) for root in roots]
    if not any(resolved.is_relative_to(root) for root in allowed):
        reason = f"path {str(path)!r} is outside the allowed folders ({', '.join(map(str, allowed)) or 'none'})"
        raise ValueError(f"{reason}; move the photos there, or add this folder to LOUPE_ROOTS and restart Loupe")
    return resolved


def scan(path: str | Path, *, stays: bool = False) -> Dataset:
    """Find the good images, the defects with their masks, and all that cannot be used, in any layout of `layout`.

    A zip archive is unpacked into the workspace until the process ends, or for good if it `stays`; a file that lists
    photos is read as `photo_list.read_photo_list` does, with the photos below its own folder. Every image is decoded
    once, a JPEG at reduced size, so that damaged files are found now. No link is followed out of the folder. Raises
    ScanError when there is nothing to teach from.
    """
    try:
        path = workspace.expand_path(path)
    except ValueError as error:
        raise ScanError(str(error)) from error
    try:
        if path.is_dir():
            return _scan(_descend(Path(os.path.realpath(path)), archive=False))
        if not path.exists():
            raise ScanError(f"{path} does not exist; check the path")
        if path.is_file() and is_list(path):  # a pipe would keep a reader waiting
            path = Path(os.path.realpath(path))
            files, others = _walk(path.parent)
            problems = {skipped.name: skipped.reason for skipped in others if skipped.role == "photo"}
            return _samples(path.parent, *read_photo_list(path, files, problems))
        if not path.is_file() or not zipfile.is_zipfile(path):
            if path.is_file() and path.suffix.lower() == ".zip":
                raise ScanError(f"{path.name} is a damaged or incomplete zip archive; copy or download it again")
            reason = "is not a folder, zip archive or list of photos; choose the folder with the photos"
            raise ScanError(f"{path.name} {reason}")
        root = unpacked(path, stays=stays)
        try:
            return _scan(_descend(root, archive=True))
        except (ScanError, OSError):
            shutil.rmtree(root)
            raise
    except OSError as error:
        raise ScanError(f"{path} cannot be read ({error.strerror or error}); check its permissions") from error


def _scan(root: Path) -> Dataset:
    files, skipped = _walk(root)
    layout = classify_paths(files)
    skipped += [SkippedFile(str(file), reason, "photo") for file, reason in layout.refused.items()]
    skipped += [SkippedFile(str(file), _STRAY_MASK, "mask") for file in layout.stray_masks]
    return _samples(root, layout.images, layout.masks, skipped)


def _samples(
    root: Path,
    images: Mapping[PurePosixPath, PathLabels],
    masks: Mapping[PurePosixPath, PurePosixPath | Annotation],
    skipped: list[SkippedFile],
) -> Dataset:
    """Return the samples of the images at these places; masks: by image, a file below `root` or marks to paint."""
    masks = {file: mask for file, mask in masks.items() if images[file].label != GOOD}
    with ThreadPoolExecutor(min(MAX_WORKERS, os.cpu_count() or 1)) as pool:
        looks = list(pool.map(lambda file: _scan_photo(root, file, images[file], masks.get(file)), images))
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
    values = [scanned.values for scanned in usable if scanned.sample.label == GOOD and scanned.values is not None]
    together = ValueStatistics.together(values) if values else None
    return Dataset(root, good, defects, tuple(skipped), warnings, together, copies=_copies(usable))


def _copies(looks: Sequence[_ScannedPhoto]) -> tuple[tuple[str, ...], ...]:
    """Return names of the good photos that are nearly the same, set by set."""
    good = [scanned for scanned in looks if scanned.sample.label == GOOD]
    hashes = np.array([difference_hash(scanned.grey) for scanned in good], np.uint64).reshape(-1, 4)
    return tuple(tuple(good[i].sample.name for i in group) for group in near_duplicates(hashes))


def _distinct(looks: list[_ScannedPhoto], skipped: list[SkippedFile]) -> list[_ScannedPhoto]:
    """Return the photos without good ones that are byte for byte another of the same side: they show one part."""
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
    """Return the photos of the depth that most good ones have; others are skipped."""
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


def _descend(root: Path, *, archive: bool) -> Path:
    """Go down while a folder holds just one folder, as archives do, but not into one whose name says what it holds.

    A folder with only images may be a defect type: it is entered in an archive alone, where wrapping folders are usual.
    """
    for _ in range(MAX_DEPTH):
        folders, has_images = _content(root)
        if len(folders) != 1 or has_images:
            break
        only = folders[0]
        says = any(says(only.name) for says in (is_good_word, is_defect_word, is_side, is_mask_folder))
        if says or not (archive or _content(only)[0]):
            break
        root = only
    return root


def _content(folder: Path) -> tuple[list[Path], bool]:
    """Return the folders directly in a folder that are not empty, and whether images are."""
    files = takewhile(lambda entry: "/" not in entry[0], walk(folder))
    has_images = any(not problem and is_image(name) for name, problem in files)
    visible = [child for child in folder.iterdir() if not is_clutter(child.name)]
    return [child for child in visible if child.is_dir() and not child.is_symlink() and _holds(child)], has_images


def _holds(folder: Path) -> bool:
    """Return whether something may lie in a folder; one that cannot be read is named later, by itself."""
    try:
        return any(walk(folder))
    except OSError:
        return True


def _walk(root: Path) -> tuple[list[PurePosixPath], list[SkippedFile]]:
    """Return the image files below `root`, by extension, and all other files; no link leads out of it."""
    files: list[PurePosixPath] = []
    skipped: list[SkippedFile] = []
    for name, problem in walk(root):
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
    return files, skipped


def _scan_photo(
    root: Path, file: PurePosixPath, place: PathLabels, mask: PurePosixPath | Annotation | None
) -> tuple[_ScannedPhoto | None, list[SkippedFile]]:
    """Return the photo if it can be used, and what of it and its mask cannot."""
    path = root / file
    try:
        preview = thumbnail(path, HASH_GRID)
        with open_photo(path) as content:
            file_digest = hashlib.file_digest(content, "sha256").digest()
    except ImageError as error:
        return None, [SkippedFile(str(file), error.why, "photo")]
    mask_path = None
    kind = place.label
    skipped = []
    try:
        if isinstance(mask, Annotation):
            mask_path, kind = mask.save_mask(preview.size)
        elif mask is not None:
            if not read_mask(root / mask, preview.size).any():
                raise ImageError(mask.name, "the mask is empty", "paint the defect white, or remove the mask")
            mask_path = root / mask
    except ImageError as error:
        skipped.append(SkippedFile(mask.name if isinstance(mask, Annotation) else str(mask), error.why, "mask"))
    sample = PhotoFile(path, str(file), kind, preview.size, mask_path, place.split_side, place.group)
    return _ScannedPhoto(sample, preview.grey, file_digest, preview.values), skipped


def _require_good(
    root: Path, good: Sequence[PhotoFile], defects: Sequence[PhotoFile], skipped: Sequence[SkippedFile]
) -> None:
    """Raise ScanError when there is nothing to teach from, saying what was found instead."""
    if any(sample.split_side != "test" for sample in good):
        return
    name = root.name or str(root)
    if good:
        raise ScanError(f"{name} has good photos in test/ only; move the training photos to train/good/")
    if defects:
        kinds = join_first_names(sorted({sample.label for sample in defects}))
        raise ScanError(f"{name} has no good photos, only {kinds}; put good photos into a folder named good")
    if skipped:
        others = f"{pluralise(len(skipped), 'other file')} ({skipped[0].name}: {skipped[0].reason})"
        remedy = "add photos of good parts as PNG, JPEG, BMP, TIFF or WebP"
        raise ScanError(f"{name} has no usable photo and {others}; {remedy}")
    raise ScanError(f"{name} is empty; put photos of good parts into it")
