"""From a folder, archive or list to samples that were looked at, files that were skipped and why, and warnings."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import cv2
import numpy as np

from inspect_core.datasets import preflight
from inspect_core.datasets.dataset import GOOD, Dataset, PhotoFile, ScanError, SkippedFile
from inspect_core.datasets.duplicates import HASH_GRID, difference_hash, near_duplicates, same_pictures
from inspect_core.datasets.layout import PathLabels
from inspect_core.datasets.manifests.manifest_entry import Annotation
from inspect_core.datasets.manifests.photo_list import is_list
from inspect_core.datasets.photo_labels import NAMES, PhotoLabels, UnclearLabels
from inspect_core.datasets.photo_tree import PhotoTree, resolved, unreadable
from inspect_core.datasets.splitting import Split as Split
from inspect_core.datasets.splitting import split as split
from inspect_core.datasets.verdict_words import UNNAMED, condition_sign
from inspect_core.images.depth import ValueStatistics, depth_of
from inspect_core.images.header import open_photo
from inspect_core.images.photo_reader import ImageError, read, read_mask, thumbnail
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.runtime.wording import escape_line, join_first_names, pluralise

FLAT = 1  # most grey levels by which the thumbnail of a photo differs that shows nothing
MAX_WORKERS = 4  # images looked at side by side; of large ones, `read` decodes one at a time


class _ScannedPhoto(NamedTuple):
    """A sample that was decoded once: its thumbnail, the digest of its file, and its values if it has 16 bits."""

    sample: PhotoFile
    grey: np.ndarray
    file_digest: bytes
    values: ValueStatistics | None
    is_mosaic: bool
    has_blank_alpha: bool


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
        raise unreadable(path, error) from error
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
            known = (sign for sign in signs if sign is not None and sign.condition in ("defective", "type"))
            labels |= {resolved(path): sign.word for sign in known}
            continue
        tree = PhotoTree.open(path)
        labels_read = tree.read_labels(reading, to_teach=False).images
        if any(place.is_said for place in labels_read.values()):
            labels |= {tree.root / photo: str(place.label) for photo, place in labels_read.items()}
    return labels


def photos_of_list(path: Path) -> list[tuple[str, Path]]:
    """(name, path) of the photos that a list of another tool names. Raises ScanError for a damaged list."""
    tree = PhotoTree.open(path)
    return [(str(photo), tree.root / photo) for photo in tree.read_labels(NAMES).images]


def _samples(tree: PhotoTree, labels_read: PhotoLabels, report: Report) -> Dataset:
    """The samples of the images of a tree, read as `labels_read` says."""
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
    of_one_depth = _of_one_depth([scanned for scanned, _ in looks if scanned is not None], skipped)
    usable = _uncontradicted(_distinct(of_one_depth, skipped), skipped)
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


def _uncontradicted(photos: list[_ScannedPhoto], skipped: list[SkippedFile]) -> list[_ScannedPhoto]:
    """The photos without those good ones that are defective ones too: copied, or saved once more."""
    good = [photo for photo in photos if photo.sample.label == GOOD]
    defective = [photo for photo in photos if photo.sample.label != GOOD]
    by_digest = {photo.file_digest: photo for photo in defective}

    def difference(is_good: bool, row: int, other: int) -> float:
        try:
            second = (good if is_good else defective)[other].sample
            pixels = [read(sample.path, sample.depth).pixels for sample in (good[row].sample, second)]
        except ImageError:
            return np.inf
        return float(np.mean(cv2.absdiff(*pixels))) if pixels[0].shape == pixels[1].shape else np.inf

    thumbnails = (np.array([photo.grey for photo in several], np.int32) for several in (good, defective))
    same = {row: defective[other] for row, other in same_pictures(*thumbnails, difference).items()}
    same |= {row: by_digest[photo.file_digest] for row, photo in enumerate(good) if photo.file_digest in by_digest}
    for row, other in same.items():
        words = f"the same photo is also {escape_line(other.sample.label)} ({escape_line(other.sample.name)})"
        skipped.append(SkippedFile(good[row].sample.name, f"{words}; remove one of them", "photo"))
    left_out = {id(good[row]) for row in same}
    return [photo for photo in photos if id(photo) not in left_out]


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
    label = str(place.label)
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
