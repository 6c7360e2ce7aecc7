"""Photos that were inspected before, drawn with their heatmap by the saved recipe that inspected them."""

from pathlib import Path

import streamlit as st

from inspect_core.line.batch_report import picture_of
from inspect_core.line.inspector import Inspector
from inspect_core.recipe import LoadedRecipe, loaded_backbone
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_io import recipe_file
from inspect_core.recipe_io.fused_recipe import FusedRecipe
from inspect_core.runner import Runner
from inspect_core.runtime import workspace


def inspector_of(recipe: str, digest: str, *, in_process: bool = True) -> tuple[Inspector, Path]:
    """A saved recipe by its file's name and its digest, and where it lies: as exported for the line, if it was
    (the same verdicts in less time). in_process: whether no other process judges with it. Raises ValueError and
    OSError, naming it, when it cannot be used.
    """
    path = workspace.recipes_folder() / recipe
    exported = workspace.export_of(digest)
    for place in (exported, path):
        if place.exists() and recipe_package.is_exported(place):
            return Runner(place, threads=1), place
    loaded = recipe_file.load(path)
    backbone = loaded_backbone(loaded.backbone)
    return (FusedRecipe(loaded, backbone, path) if in_process else LoadedRecipe(loaded, backbone)), path


@st.cache_data(max_entries=64, show_spinner="Drawing the heatmap…")
def heatmap_of(recipe: str, recipe_digest: str, path: str, digest: str, side: int) -> bytes | None:
    """The photo at this path with its heatmap as WebP, its longer side this long; None when the photo or the
    recipe has changed. recipe: its file's name; digest: of the photo's pixels. Raises as `inspector_of`.
    """
    inspector = _inspector(recipe, recipe_digest)
    if inspector.digest != recipe_digest:
        return None
    return picture_of(inspector, Path(path).name, Path(path), side=side, digest=digest)


@st.cache_resource(max_entries=1, show_spinner="Loading the recipe…")
def _inspector(recipe: str, digest: str) -> Inspector:
    return inspector_of(recipe, digest)[0]
