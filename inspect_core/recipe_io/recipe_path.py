"""Where a recipe may be saved: nothing but another recipe of Loupe's is ever replaced, and no photo is touched."""

import os
import stat
from pathlib import Path

from inspect_core.datasets.photo_tree import top_folder
from inspect_core.methods.registry import FIELDS
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_format.output_paths import OutputPathError, check_folder
from inspect_core.recipe_format.recipe_package import RecipeError
from inspect_core.runtime import workspace


def check_place(path: str | Path, *, photos: Path | None = None) -> Path:
    """The place that `path` names, links in its folder resolved, when a recipe may be saved there.

    The place must be free, or hold a whole recipe of this version of Loupe: a zip if the name ends in .zip, else a
    folder. photos: the folder, zip or list that is taught from; the recipe may not be it, lie in it or contain it, nor
    lie in the folder of a list.
    Raises OutputPathError for any other place and ValueError for a path that the system cannot look up.
    """
    path = workspace.expand_path(path)
    whole = path.name in ("", "..")
    place = Path(os.path.realpath(path)) if whole else Path(os.path.realpath(path.parent), path.name)
    photos = photos and top_folder(photos)
    if photos is not None and (workspace.is_inside(place, photos) or workspace.is_inside(photos, place)):
        raise OutputPathError(f"{place} overlaps the photo folder ({photos}); save the recipe elsewhere")
    check_folder(place)
    if os.path.lexists(place) and not _is_recipe(place):
        form = "zip" if place.suffix == ".zip" else "folder"
        raise OutputPathError(
            f"{place} already exists and is not a complete Loupe recipe as a {form}, so it is not replaced; choose "
            "another name, or delete it yourself"
        )
    return place


def _is_recipe(place: Path) -> bool:
    mode = os.lstat(place).st_mode
    if not (stat.S_ISREG(mode) if place.suffix == ".zip" else stat.S_ISDIR(mode)):
        return False
    try:
        recipe_package.read_document(recipe_package.check(place), FIELDS)
    except (RecipeError, OSError):
        return False
    return True
