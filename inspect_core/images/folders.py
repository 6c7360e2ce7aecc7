"""From a folder, zip archive or list of photos to samples: contents, skipped files with reasons, and warnings."""

import hashlib
import os
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path, PurePosixPath

import numpy as np

from inspect_core.images import preflight
from inspect_core.images.archives import unpacked
from inspect_core.images.depth import Values, depth_of
from inspect_core.images.duplicates import HASH_GRID, difference_hash
from inspect_core.images.header import opened
from inspect_core.images.layout import Place, arrange, is_defect_word, is_good_word, is_mask_folder, is_side
from inspect_core.images.listing import MAX_DEPTH, is_clutter, is_image, walk
from inspect_core.images.manifests.entry import Marks
from inspect_core.images.manifests.listed import is_list, listed
from inspect_core.images.read import ImageError, read_mask, thumbnail
from inspect_core.images.samples import GOOD, Sample, Samples, ScanError, Skipped, counted, examples, shown
from inspect_core.images.splitting import Split, split
from inspect_core.runtime import workspace

__all__ = ["Sample", "Samples", "Split", "inside", "scan", "split"]

MAX_FILES = 100_000
MAX_WORKERS = 4  # images looked at side by side; of large ones, `read` decodes one at a time
_STRAY_MASK = "it is a mask without a matching image; name it after its image, with _mask added"


@dataclass(frozen=True)
class _Look:
    """Result of one quick decode of an image: size, difference hash, digest of the file, its mask and the mask's defect
    type, or why it cannot be used, and the values of a 16-bit photo.
    """

    size: tuple[int, int]
    hash: np.ndarray
    file_digest: bytes
    mask: Path | None
    kind: str | None
    mask_problem: str | None
    values: Values | None


def inside(path: str | Path, roots: Sequence[str | Path]) -> Path:
    """Return the path with `~` and all links resolved; ValueError when it is then outside every allowed root."""
    resolved = Path(os.path.realpath(workspace.usable(path)))
    allowed = [Path(os.path.realpath(workspace.usable(root))) for root in roots]
    if not any(resolved.is_relative_to(root) for root in allowed):
        raise ValueError(
            f"path {str(path)!r} is outside the allowed folders ({', '.join(map(str, allowed)) or 'none'}); "
            "move the images there, or start Loupe with this folder allowed"
        )
    return resolved


def scan(path: str | Path) -> Samples:
    """Find the good images, the defects with their masks, and all that cannot be used, in any layout of `layout`.

    A zip archive is unpacked into the workspace, where it stays until the process ends; `Samples.root` tells where.
    A file that lists photos is read as `manifests.listed` does, with the photos below its own folder.
    Every image is decoded once, a JPEG at reduced size, so that damaged files are found now. No link is followed out
    of the folder. Raises ScanError when there is nothing to teach from: no such folder, unreadable, neither folder, zip
    archive nor list, no image, no good image.
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
            return _listed(Path(os.path.realpath(path)))
        if not path.is_file() or not zipfile.is_zipfile(path):
            raise ScanError(
                f"{path.name} is neither a folder, a zip archive nor a list of photos; name the folder with the images"
            )
        root = unpacked(path)
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
    skipped += [Skipped(str(file), reason, "image") for file, reason in layout.refused.items()]
    skipped += [Skipped(str(file), _STRAY_MASK, "mask") for file in layout.stray_masks]
    return _samples(root, layout.images, layout.masks, skipped)


def _listed(path: Path) -> Samples:
    files, others = _walk(path.parent)
    problems = {skipped.name: skipped.reason for skipped in others if skipped.role == "image"}
    return _samples(path.parent, *listed(path, files, problems))


def _samples(
    root: Path,
    images: Mapping[PurePosixPath, Place],
    masks: Mapping[PurePosixPath, PurePosixPath | Marks],
    skipped: list[Skipped],
) -> Samples:
    """The samples from the images at these places; masks: by image, a file below `root` or marks to be painted."""
    masks = {file: mask for file, mask in masks.items() if images[file].kind != GOOD}
    with ThreadPoolExecutor(min(MAX_WORKERS, os.cpu_count() or 1)) as pool:
        found = list(pool.map(lambda file: _look(root, file, masks.get(file)), images))

    samples, looks = [], []
    for (file, place), look in zip(images.items(), found, strict=True):
        if isinstance(look, str):
            skipped.append(Skipped(str(file), look, "image"))
            continue
        if look.mask_problem:
            mask = masks[file]
            skipped.append(Skipped(mask.name if isinstance(mask, Marks) else str(mask), look.mask_problem, "mask"))
        looks.append(look)
        kind = look.kind or place.kind
        samples.append(Sample(root / file, str(file), kind, look.size, look.mask, place.part_of, place.group))
    samples, looks, values = _of_one_depth(samples, looks, skipped)
    good = tuple(sample for sample in samples if sample.kind == GOOD)
    defects = tuple(sample for sample in samples if sample.kind != GOOD)
    skipped.sort()
    _require_good(root, good, defects, skipped)
    warnings = preflight.warnings(
        samples,
        skipped,
        hashes=np.array([look.hash for look in looks]),
        file_digests=[look.file_digest for look in looks],
    )
    return Samples(root, good, defects, tuple(skipped), warnings, values)


def _of_one_depth(
    samples: Sequence[Sample], looks: Sequence[_Look], skipped: list[Skipped]
) -> tuple[list[Sample], list[_Look], Values | None]:
    """The photos of the depth that most good ones have, and the values of the good ones; other photos are skipped."""
    depth = depth_of([look.values for sample, look in zip(samples, looks, strict=True) if sample.kind == GOOD])
    kept = []
    for sample, look in zip(samples, looks, strict=True):
        try:
            if depth is not None:
                depth.check_file(sample.name, is_deep=look.values is not None)
        except ImageError as error:
            skipped.append(Skipped(sample.name, f"{error.reason}; {error.remedy}", "image"))
            continue
        kept.append((replace(sample, depth=depth), look))
    values = [look.values for sample, look in kept if sample.kind == GOOD and look.values is not None]
    return [sample for sample, _ in kept], [look for _, look in kept], Values.together(values) if values else None


def _descend(root: Path, *, archive: bool) -> Path:
    """Go down while a folder holds just one folder, as archives do, but not into one whose name says what it holds.

    A folder with only images may be one defect type: it is entered only in an archive, where a wrapping folder is
    usual.
    """
    for _ in range(MAX_DEPTH):
        folders, images = _content(root)
        if len(folders) != 1 or images:
            return root
        name = folders[0].name
        if is_good_word(name) or is_defect_word(name) or is_side(name) or is_mask_folder(name):
            return root
        if not archive and not _content(folders[0])[0]:
            return root
        root = folders[0]
    return root


def _content(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the folders that are not empty and the images directly in a folder."""
    files = takewhile(lambda found: "/" not in found[0], walk(folder))
    images = [folder / name for name, problem in files if not problem and is_image(name)]
    visible = [child for child in folder.iterdir() if not is_clutter(child.name)]
    return [child for child in visible if child.is_dir() and not child.is_symlink() and any(walk(child))], images


def _walk(root: Path) -> tuple[list[PurePosixPath], list[Skipped]]:
    """Return the image files below `root`, by extension, and all other files; no link leads out of it."""
    files: list[PurePosixPath] = []
    skipped: list[Skipped] = []
    for name, problem in walk(root):
        path = root / name
        link = path.is_symlink()
        if problem:
            skipped.append(Skipped(shown(name), problem, "image"))
        elif link and path.is_dir():
            skipped.append(Skipped(shown(name), "it is a link to a folder; copy the folder itself", "image"))
        elif not is_image(name):
            kind = path.suffix.lower() or "no extension"
            skipped.append(Skipped(shown(name), f"it is not an image ({shown(kind)})", "other"))
        elif not name.isprintable():
            reason = "its name holds characters that cannot be shown; rename it"
            skipped.append(Skipped(shown(name), reason, "image"))
        elif link and not path.exists():
            skipped.append(Skipped(name, "it is a link that leads nowhere; copy the file itself", "image"))
        elif link and not Path(os.path.realpath(path)).is_relative_to(root):
            skipped.append(Skipped(name, "it is a link out of the folder; copy the file itself", "image"))
        else:
            files.append(PurePosixPath(name))
        if len(files) + len(skipped) > MAX_FILES:
            raise ScanError(f"{root} holds more than {MAX_FILES:,} files; name the folder of one product")
    return files, skipped


def _look(root: Path, file: PurePosixPath, mask: PurePosixPath | Marks | None) -> _Look | str:
    """The look at an image, or why it cannot be used: as text, since an exception would keep the decoded image
    alive.
    """
    path = root / file
    try:
        look = thumbnail(path, HASH_GRID)
        with opened(path) as content:
            file_digest = hashlib.file_digest(content, "sha256").digest()
    except ImageError as error:
        return f"{error.reason}; {error.remedy}"
    kept, kind, problem = None, None, None
    try:
        if isinstance(mask, Marks):
            kept, kind = mask.kept(look.size)
        elif mask is not None:
            kept = _usable(root / mask, look.size)
    except ImageError as error:
        problem = f"{error.reason}; {error.remedy}"
    return _Look(look.size, difference_hash(look.grey), file_digest, kept, kind, problem, look.values)


def _usable(path: Path, size: tuple[int, int]) -> Path:
    """The path of a mask. Raises ImageError as `read_mask` does, and when it marks nothing."""
    if not read_mask(path, size).any():
        raise ImageError(path.name, "the mask marks nothing", "paint the defect white, or remove the mask")
    return path


def _require_good(root: Path, good: Sequence[Sample], defects: Sequence[Sample], skipped: Sequence[Skipped]) -> None:
    """Raise ScanError when there is nothing to teach from, saying what was found instead."""
    if any(sample.part_of != "test" for sample in good):
        return
    name = root.name or str(root)
    if good:
        raise ScanError(f"{name} has good images in test/ only; put those to be taught into train/good/")
    if defects:
        defect_types = examples(sorted({sample.kind for sample in defects}))
        raise ScanError(f"{name} has no good images, only {defect_types}; put the good ones into a folder named good")
    if skipped:
        first = f"{skipped[0].name}: {skipped[0].reason}"
        raise ScanError(
            f"{name} has no usable image and {counted(len(skipped), 'other file')} ({first}); "
            "add images of good parts as PNG, JPEG, BMP, TIFF or WebP"
        )
    raise ScanError(f"{name} is empty; put images of good parts into it")
