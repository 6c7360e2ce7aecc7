"""The photos that a recipe was calibrated and judged with, found again by their content."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from inspect_core.images.folders import inside
from inspect_core.images.listing import photos_in
from inspect_core.images.read import ImageError, read
from inspect_core.recipe import Recipe
from inspect_core.recipe_format.known_parts import CALIBRATE, JUDGE, Calibrated


class CheckPhotos(NamedTuple):
    """paths: of the photos that were found; missing: names of those that were not."""

    paths: tuple[Path, ...]
    missing: tuple[str, ...]


def known_sets(recipe: Recipe) -> dict[str, str]:
    """ "calibrate" or "judge" by the digest of the photo."""
    sets = {row.digest: JUDGE for row in recipe.judged}
    return sets | {row.digest: CALIBRATE for row in recipe.calibration}


def find_photos(recipe: Recipe, folder: Path | None = None) -> CheckPhotos:
    """Find them in `folder`, or where they were when the recipe was taught: by name first, then by content.

    Raises ValueError, with the remedy, when none is found.
    """
    rows = [*recipe.calibration, *recipe.judged]
    root = folder or (Path(recipe.provenance.photos) if recipe.provenance.photos else None)
    wanted, found = {row.digest for row in rows}, {}
    if root and root.is_dir():
        by_name = [path for row in rows if (path := root / row.name).is_file()]
        for path in dict.fromkeys([*by_name, *(path for _, path in photos_in([root]))]):
            if wanted <= set(found):
                break
            try:
                digest = read(path, recipe.depth).digest
            except ImageError:
                continue
            if digest in wanted:
                found.setdefault(digest, path)
    if not found:
        raise ValueError(
            f"none of the {len(rows)} photos that {recipe.product} was calibrated with was found in "
            f"{root or 'any folder'}, so nothing can be proved; name the folder they are in with --photos"
        )
    return CheckPhotos(tuple(found.values()), tuple(row.name for row in rows if row.digest not in found))


def still_there(recipe: Recipe, row: Calibrated, roots: Sequence[Path]) -> Path | None:
    """The file of this name where the recipe was taught, if it lies there and within these roots; its content may have
    changed.
    """
    try:
        folder = inside(recipe.provenance.photos or "", roots)
        path = inside(folder / row.name, [folder])
    except (ValueError, OSError):
        return None
    return path if recipe.provenance.photos and path.is_file() else None
