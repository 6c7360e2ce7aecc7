"""The photos that a recipe was taught, calibrated and judged with, found again by their content."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from inspect_core.datasets.dataset import CALIBRATION, TEST, ScanError
from inspect_core.datasets.listing import photos_in
from inspect_core.datasets.photo_labels import NAMES
from inspect_core.datasets.photo_tree import PhotoTree, resolve_allowed_path
from inspect_core.images.depth import Depth
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.recipe import Recipe
from inspect_core.recipe_format.recorded_photos import CalibrationPhoto, TeachingPhoto


class ParityPhotos(NamedTuple):
    """paths: of the photos that were found; missing: names of those that were not."""

    paths: tuple[Path, ...]
    missing: tuple[str, ...]


def known_sets(recipe: Recipe) -> dict[str, str]:
    """CALIBRATION or TEST by the digest of the photo."""
    sets = {row.digest: TEST for row in recipe.test_photos}
    return sets | {row.digest: CALIBRATION for row in recipe.calibration_photos}


def find_photos(recipe: Recipe, folder: Path | None = None) -> ParityPhotos:
    """Find them in `folder`, or where they were when the recipe was taught: by name first, then by content.

    Raises ValueError, with the remedy, when none is found.
    """
    rows = [*recipe.calibration_photos, *recipe.test_photos]
    roots = recipe.provenance.folders if folder is None else [folder]
    by_digest = by_content(rows, roots, recipe.depth)
    if not by_digest:
        place = roots[0] if roots else "any folder"
        raise ValueError(
            f"none of the {len(rows)} photos that {recipe.product} was calibrated with was found in {place}, so the "
            "export cannot be verified; specify their folder with --photos"
        )
    paths = tuple(path for path, _ in by_digest.values())
    return ParityPhotos(paths, tuple(row.name for row in rows if row.digest not in by_digest))


def by_content(
    rows: Sequence[CalibrationPhoto | TeachingPhoto], folders: Sequence[Path], depth: Depth | None
) -> dict[str, tuple[Path, tuple[int, int]]]:
    """Path and (height, width) of these photos by the digest of their content, wherever they lie in the folders; no
    link out of a folder is followed.
    """
    missing_digests: set[str] = {row.digest for row in rows}
    photos: dict[str, tuple[Path, tuple[int, int]]] = {}
    for root in folders:
        if not root.is_dir():
            continue
        by_name = [path for row in rows if (path := root / row.name).is_file()]
        for path in dict.fromkeys([*by_name, *(path for _, path in photos_in([root]))]):
            if missing_digests <= photos.keys():
                break
            if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
                continue
            with suppress(ImageError):
                if (picture := read(path, depth)).digest in missing_digests:
                    photos.setdefault(picture.digest, (path, picture.pixels.shape[:2]))
    return photos


def masks_in(folder: Path, roots: Sequence[Path] | None = None) -> dict[Path, Path]:
    """The masks of the defects in a folder, by the path of their photo; none where labels are not clear.

    roots: folders that are not left upwards, None for all.
    """
    try:
        tree = PhotoTree.open(folder, roots=roots)
        marks = tree.read_labels(NAMES).marks
    except ScanError:
        return {}
    masks = {}
    for photo, mark in marks.items():
        if isinstance(mark, PurePosixPath):
            masks[tree.root / photo] = tree.root / mark
            continue
        with suppress(ImageError):
            masks[tree.root / photo], _ = mark.save_mask(read(tree.root / photo).pixels.shape[:2])
    return masks


def existing_path(recipe: Recipe, row: CalibrationPhoto, roots: Sequence[Path]) -> Path | None:
    """The file of this name where the recipe was taught, within these roots; None when it is gone."""
    try:
        folder = resolve_allowed_path(recipe.provenance.photo_root or "", roots)
        path = resolve_allowed_path(folder / row.name, [folder])
    except (ValueError, OSError):
        return None
    return path if recipe.provenance.photo_root and path.is_file() else None
