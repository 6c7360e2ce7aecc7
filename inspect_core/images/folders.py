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
from inspect_core.images.depth import Values, depth_of
from inspect_core.images.duplicates import HASH_GRID, difference_hash, near_duplicates
from inspect_core.images.header import opened
from inspect_core.images.layout import Place, arrange, is_defect_word, is_good_word, is_mask_folder, is_side
from inspect_core.images.listing import MAX_DEPTH, is_clutter, is_image, walk
from inspect_core.images.manifests.manifest_entry import Annotation
from inspect_core.images.manifests.photo_list import is_list, listed
from inspect_core.images.photo_reader import ImageError, read_mask, thumbnail
from inspect_core.images.samples import GOOD, Sample, Samples, ScanError, Skipped, counted, examples, shown
from inspect_core.images.splitting import Split as Split
from inspect_core.images.splitting import split as split
from inspect_core.runtime import workspace

MAX_FILES = 100_000
OTHER_PICTURES = frozenset({".gif", ".heic", ".heif", ".avif", ".jp2", ".svg", ".psd", ".dng", ".raw"})
FLAT = 1  # most grey levels by which the thumbnail of a photo differs that shows nothing
MAX_WORKERS = 4  # images looked at side by side; of large ones, `read` decodes one at a time
_STRAY_MASK = "mask without a matching photo; give it the photo's name plus _mask"


class _Look(NamedTuple):
    """A sample that was decoded once: its thumbnail, the digest of its file, and its values if it has 16 bits."""

    sample: Sample
    grey: np.ndarray
    file_digest: bytes
    values: Values | None


def inside(path: str | Path, roots: Sequence[str | Path]) -> Path:
    """The path with `~` and all links resolved. Raises ValueError when it is then outside every allowed root."""
    resolved = Path(os.path.realpath(workspace.usable(path)))
    allowed = [Path(os.path.realpath(workspace.usable(root))) for root in roots]
    if not any(resolved.is_relative_to(root) for root in allowed):
        reason = f"path {str(path)!r} is outside the allowed folders ({', '.join(map(str, allowed)) or 'none'})"
        raise ValueError(f"{reason}; move the photos there, or add this folder to LOUPE_ROOTS and restart Loupe")
    return resolved


def scan(path: str | Path, *, stays: bool = False) -> Samples:
    """Find the good images, the defects with their masks, and all that cannot be used, in any layout of `layout`.

    A zip archive is unpacked into the workspace until the process ends, or for good if it `stays`; a file that lists
    photos is read as `manifests.listed` does, with the photos below its own folder. Every image is decoded once, a JPEG
    at reduced size, so that damaged files are found now. No link is followed out of the folder. Raises ScanError when
    there is nothing to teach from.
    """
    try:
        path = workspace.usable(path)
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
            return _samples(path.parent, *listed(path, files, problems))
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


def _scan(root: Path) -> Samples:
    files, skipped = _walk(root)
    layout = arrange(files)
    skipped += [Skipped(str(file), reason, "photo") for file, reason in layout.refused.items()]
    skipped += [Skipped(str(file), _STRAY_MASK, "mask") for file in layout.stray_masks]
    return _samples(root, layout.images, layout.masks, skipped)


def _samples(
    root: Path,
    images: Mapping[PurePosixPath, Place],
    masks: Mapping[PurePosixPath, PurePosixPath | Annotation],
    skipped: list[Skipped],
) -> Samples:
    """The samples from the images at these places; masks: by image, a file below `root` or marks to be painted."""
    masks = {file: mask for file, mask in masks.items() if images[file].kind != GOOD}
    with ThreadPoolExecutor(min(MAX_WORKERS, os.cpu_count() or 1)) as pool:
        looks = list(pool.map(lambda file: _look(root, file, images[file], masks.get(file)), images))
    skipped += [one for _, refused in looks for one in refused]
    usable = _distinct(_of_one_depth([look for look, _ in looks if look is not None], skipped), skipped)
    samples = [look.sample for look in usable]
    good, defects = (tuple(one for one in samples if (one.kind == GOOD) == is_good) for is_good in (True, False))
    skipped.sort()
    _require_good(root, good, defects, skipped)
    warnings = preflight.warnings(samples, skipped, file_digests=[look.file_digest for look in usable])
    empty = [look.sample.name for look in usable if look.sample.kind == GOOD and int(np.ptp(look.grey)) <= FLAT]
    if empty:
        warnings += (f"{counted(len(empty), 'good photo')} of one even tone ({examples(empty)}): they show nothing.",)
    values = [look.values for look in usable if look.sample.kind == GOOD and look.values is not None]
    together = Values.together(values) if values else None
    return Samples(root, good, defects, tuple(skipped), warnings, together, copies=_copies(usable))


def _copies(looks: Sequence[_Look]) -> tuple[tuple[str, ...], ...]:
    """Names of the good photos that are nearly the same, set by set."""
    good = [look for look in looks if look.sample.kind == GOOD]
    hashes = np.array([difference_hash(look.grey) for look in good], np.uint64).reshape(-1, 4)
    return tuple(tuple(good[i].sample.name for i in group) for group in near_duplicates(hashes))


def _distinct(looks: list[_Look], skipped: list[Skipped]) -> list[_Look]:
    """The photos without good ones that are byte for byte another good one of the same side: they show one part, and
    would count as several.
    """
    first: dict[tuple[bytes, str | None], str] = {}
    distinct = []
    for look in looks:
        sample = look.sample
        name = first.setdefault((look.file_digest, sample.part_of), sample.name) if sample.kind == GOOD else sample.name
        if name == sample.name:
            distinct.append(look)
        else:
            skipped.append(
                Skipped(sample.name, f"it is a copy of {shown(name)}; one photo counts as one part", "photo")
            )
    return distinct


def _of_one_depth(found: list[_Look], skipped: list[Skipped]) -> list[_Look]:
    """The photos of the depth that most good ones have; others are skipped."""
    depth = depth_of([look.values for look in found if look.sample.kind == GOOD])
    if depth is None:
        return found
    kept = []
    for look in found:
        try:
            depth.check_file(look.sample.name, is_deep=look.values is not None)
        except ImageError as error:
            skipped.append(Skipped(look.sample.name, error.why, "photo"))
        else:
            kept.append(look._replace(sample=replace(look.sample, depth=depth)))
    return kept


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
    """The folders directly in a folder that are not empty, and whether images are."""
    files = takewhile(lambda found: "/" not in found[0], walk(folder))
    has_images = any(not problem and is_image(name) for name, problem in files)
    visible = [child for child in folder.iterdir() if not is_clutter(child.name)]
    return [child for child in visible if child.is_dir() and not child.is_symlink() and _holds(child)], has_images


def _holds(folder: Path) -> bool:
    """Whether something may lie in a folder; one that cannot be read is named later, by itself."""
    try:
        return any(walk(folder))
    except OSError:
        return True


def _walk(root: Path) -> tuple[list[PurePosixPath], list[Skipped]]:
    """The image files below `root`, by extension, and all other files; no link leads out of it."""
    files: list[PurePosixPath] = []
    skipped: list[Skipped] = []
    for name, problem in walk(root):
        if len(files) + len(skipped) == MAX_FILES:
            raise ScanError(f"{root} holds more than {MAX_FILES:,} files; choose the folder of a single product")
        path, role = root / name, "photo"
        link = path.is_symlink()
        if problem:
            reason = problem
        elif link and path.is_dir():
            reason = "it is a link to a folder; copy the folder itself"
        elif not is_image(name):
            reason, role = f"it is not a photo ({shown(path.suffix.lower() or 'no extension')})", "other"
            if path.suffix.lower() in OTHER_PICTURES:
                reason, role = f"Loupe reads no {path.suffix[1:].upper()}; save it as PNG", "photo"
        elif not name.isprintable():
            reason = "its name contains characters that cannot be displayed; rename it"
        elif link and not path.exists():
            reason = "broken link; copy the file itself"
        elif link and not Path(os.path.realpath(path)).is_relative_to(root):
            reason = "link to a file outside the folder; copy the file itself"
        else:
            files.append(PurePosixPath(name))
            continue
        skipped.append(Skipped(shown(name), reason, role))
    return files, skipped


def _look(
    root: Path, file: PurePosixPath, place: Place, mask: PurePosixPath | Annotation | None
) -> tuple[_Look | None, list[Skipped]]:
    """The photo if it can be used, and what of it and its mask cannot."""
    path = root / file
    try:
        look = thumbnail(path, HASH_GRID)
        with opened(path) as content:
            file_digest = hashlib.file_digest(content, "sha256").digest()
    except ImageError as error:
        return None, [Skipped(str(file), error.why, "photo")]
    kept, kind, skipped = None, place.kind, []
    try:
        if isinstance(mask, Annotation):
            kept, kind = mask.kept(look.size)
        elif mask is not None:
            if not read_mask(root / mask, look.size).any():
                raise ImageError(mask.name, "the mask is empty", "paint the defect white, or remove the mask")
            kept = root / mask
    except ImageError as error:
        skipped.append(Skipped(mask.name if isinstance(mask, Annotation) else str(mask), error.why, "mask"))
    sample = Sample(path, str(file), kind, look.size, kept, place.part_of, place.group)
    return _Look(sample, look.grey, file_digest, look.values), skipped


def _require_good(root: Path, good: Sequence[Sample], defects: Sequence[Sample], skipped: Sequence[Skipped]) -> None:
    """Raise ScanError when there is nothing to teach from, saying what was found instead."""
    if any(sample.part_of != "test" for sample in good):
        return
    name = root.name or str(root)
    if good:
        raise ScanError(f"{name} has good photos in test/ only; move the training photos to train/good/")
    if defects:
        kinds = examples(sorted({sample.kind for sample in defects}))
        raise ScanError(f"{name} has no good photos, only {kinds}; put good photos into a folder named good")
    if skipped:
        found = f"{counted(len(skipped), 'other file')} ({skipped[0].name}: {skipped[0].reason})"
        remedy = "add photos of good parts as PNG, JPEG, BMP, TIFF or WebP"
        raise ScanError(f"{name} has no usable photo and {found}; {remedy}")
    raise ScanError(f"{name} is empty; put photos of good parts into it")
