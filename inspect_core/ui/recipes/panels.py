"""The parts of the Recipes page: what is saved, what is in it, opening, downloading, deleting."""

import os
import shutil
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import streamlit as st

from inspect_core.audit.changes import limits_in_words
from inspect_core.audit.life_cycle import APPROVED
from inspect_core.features.backbone_catalogue import spec_of
from inspect_core.judge.anomaly_map import AREA
from inspect_core.methods.table import title_of
from inspect_core.recipe import Recipe, loaded_backbone
from inspect_core.recipe_format.manifest import RecipeError
from inspect_core.recipe_format.zipped import zipped
from inspect_core.recipe_io import recipe_file
from inspect_core.recipe_io.difference import in_words, made
from inspect_core.runtime import workspace
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.ui import saved_recipes, shelf, shell, weights_panel
from inspect_core.ui.recipes import challenging, exporting, releasing
from inspect_core.ui.taught_part import TaughtPart


def card(path: Path, states: dict[str, str] | None) -> None:
    """One recipe: its contents and what can be done with it; a damaged one shows why and can only be deleted.

    states: returned by `releasing.states`.
    """
    with st.container(border=True):
        try:
            recipe = saved_recipes.checked(path)
            spec_of(recipe.backbone.name, has_weights=False)
        except Exception as error:  # whatever reading a file from elsewhere raises
            st.error(shell.plain(saved_recipes.reason(path, error)), icon=":material/broken_image:")
            _delete(path)
            return
        state, missing = releasing.state_of(str(recipe.digest), states), True
        with shell.errors_shown(Exception):  # the file is sound, and the other cards have no part in it
            _describe(path, recipe, state)
            releasing.what_changed(recipe, states, path.name)
            exporting.section(recipe, path)
            challenging.section(recipe, path.name)
            missing = weights_panel.offer_missing(recipe.backbone.name, path.name)
        with st.container(horizontal=True):
            key, icon = f"open-{path.name}", ":material/folder_open:"
            if st.button("Open", key=key, type="primary", icon=icon, disabled=missing):
                _open(recipe)
            releasing.change_state(recipe, state, path.name)
            key, icon, name = f"download-{path.name}", ":material/download:", f"{path.stem}.zip"
            data = partial(zipped, path)
            st.download_button("Download", data, name, "application/zip", key=key, icon=icon, on_click="ignore")
            _delete(path, recipe.digest, in_force=state == APPROVED)


def add_from_file() -> None:
    """A recipe made elsewhere, checked before it is kept."""
    with st.popover("Add a recipe from a file", icon=":material/upload_file:"):
        file = st.file_uploader("Recipe (zip)", ["zip"], key="recipe_upload")
        if file is None or not st.button("Check and add", key="add_recipe"):
            return
        target = workspace.recipes_folder() / f"{workspace.file_name(Path(file.name).stem)}.zip"
        target.parent.mkdir(parents=True, exist_ok=True)
        with shell.errors_shown(RecipeError, OSError):
            with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as aside:
                temporary = Path(aside) / target.name
                temporary.write_bytes(file.getbuffer())
                recipe_file.load(temporary)
                if os.path.lexists(target):
                    exists = f"{target.name}: a recipe with this name already exists"
                    raise RecipeError(f"{exists}; rename the file or delete that recipe")
                temporary.replace(target)
            st.toast(f"Added {shell.plain(target.stem)}.", icon=":material/check_circle:")


def _describe(path: Path, recipe: Recipe, state: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(shell.plain(recipe.product), width="content")
        releasing.badge(state)
    live = ", ".join(f"{name} = {value}" for name, value in recipe.live.items())
    st.markdown(
        f"{title_of(recipe.method)}{', ' + live if live else ''} · {limits_in_words(recipe.limits)} · "
        f"{len(recipe.calibration)} good parts set the limit"
    )
    st.caption(
        f"{str(recipe.digest)[:12]} · made {shell.plain(made(recipe))} by {shell.plain(recipe.provenance.author)}"
        + (f" · {shell.plain(recipe.provenance.reason)}" if recipe.provenance.reason else "")
    )
    with st.expander("What is in it"):
        rows = {"File": path.name, "Size on disk": f"{_bytes(path) / 2**20:.1f} MB", **in_words(recipe)}
        st.table({"": list(rows), "Value": [shell.plain(value) for value in rows.values()]}, hide_index=True)


def _open(recipe: Recipe) -> None:
    backbone = None
    with shell.errors_shown(ValueError, OSError), st.spinner("Loading the network…"):
        backbone = loaded_backbone(recipe.backbone)
    if backbone is None:
        return
    views = [replace(view, only=(view.value(recipe.live),)) for view in recipe.views]
    scored = ScoredPhotos(views, recipe.grid, recipe.map_size, area=recipe.live[AREA], areas=recipe.areas)
    taught = TaughtPart(
        recipe.product,
        scored,
        recipe.prepare(backbone),
        recipe=recipe,
        mm_per_pixel=recipe.mm_per_pixel,
        product_check=recipe.product_check,
        defect_types=recipe.defect_types,
        cases=recipe.gallery,
    )
    shelf.take(shelf.put(taught))
    st.switch_page("pages/inspect.py")


def _delete(path: Path, digest: str | None = None, *, in_force: bool = False) -> None:
    """digest: of the recipe, whose export is deleted with it; None if it is not a recipe."""
    words = "Retire it first." if in_force else None
    with st.popover("Delete", icon=":material/delete:", disabled=in_force, help=words):
        st.markdown(f"Delete **{shell.plain(path.name)}** permanently? Verdicts made with it are kept.")
        name = path.name if path.name.isprintable() else os.fsencode(path.name).hex()
        if st.button("Yes, delete it", key=f"delete-{name}"):
            with shell.errors_shown(OSError, RecursionError, begins="It could not be deleted: "):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
                if digest is not None:
                    workspace.export_of(digest).unlink(missing_ok=True)
                st.rerun()


def _bytes(path: Path) -> int:
    return path.stat().st_size if path.is_file() else sum(file.stat().st_size for file in path.rglob("*"))
