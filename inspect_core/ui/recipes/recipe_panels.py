"""The parts of the Recipes page: the chosen recipe with its picture and what can be done with it, adding, deleting."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import streamlit as st

from inspect_core.audit import life_cycle
from inspect_core.audit.changes import limits_in_words
from inspect_core.audit.life_cycle import APPROVED
from inspect_core.audit.log import AuditLog
from inspect_core.images import heatmap
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.methods.registry import title_of
from inspect_core.recipe import Recipe
from inspect_core.recipe_format.recipe_package import RecipeError
from inspect_core.recipe_format.zipped import note_of, with_note, zipped
from inspect_core.recipe_io import recipe_file
from inspect_core.recipe_io.recipe_difference import in_words, made
from inspect_core.runtime import workspace
from inspect_core.ui import data_table, in_hand, open_recipe, saved_recipes, shell, weights_panel
from inspect_core.ui.recipes import approval_panel, challenge_panel, export_panel, extension_panel
from inspect_core.ui.recipes.recipe_table import RecipeSummary

FORM = 960
"""Pixels of the widest that a form is."""
PICTURE = 190
"""Pixels of the longer side of the picture."""


def of_one(line: RecipeSummary, others: Sequence[RecipeSummary], states: dict[str, str] | None) -> None:
    """Show the chosen recipe. others: all that are saved; states: returned by `approval_panel.states`."""
    path, key = line.path, line.path.name
    recipe = saved_recipes.checked(path)
    state = approval_panel.state_of(line.digest, states)
    with st.container(border=True, width=FORM, horizontal=True, gap="medium"):
        with shell.errors_shown(Exception):  # the file is sound, and what can be done with it is below
            if (picture := _picture(recipe, line.digest)) is not None:
                st.image(picture, width=PICTURE, alt=f"A typical part of {recipe.product}")
        with st.container(width="stretch"):
            missing = True
            with shell.errors_shown(Exception):
                _describe(recipe, state)
                _say_source(path, state)
                missing = weights_panel.offer_missing(recipe.backbone.name, key)
            with st.container(horizontal=True, gap="xsmall"):
                open_recipe.buttons(recipe, key, missing=missing)
                approval_panel.change_state(recipe, state, key)
                export_panel.next_step(recipe, path, is_approved=state == APPROVED)
                data = partial(_to_download, path, recipe, state)
                name = f"{path.stem}.zip"
                icon = ":material/download:"
                widget_key = f"download-{key}"
                st.download_button(
                    "Download", data, name, "application/zip", key=widget_key, icon=icon, on_click="ignore"
                )
                _delete(path, recipe.digest, in_force=state == APPROVED)
    with st.container(width=FORM), shell.errors_shown(Exception):
        same = (other.digest for other in others if other.product == recipe.product)
        approved = next((digest for digest in same if approval_panel.state_of(digest, states) == APPROVED), None)
        shown = {
            "Changes": lambda: approval_panel.what_changed(
                recipe, approved, {line.digest: line.path for line in others}
            ),
            "Contents": lambda: _contents(recipe, path),
            "Export": lambda: export_panel.section(recipe, path),
            "Add good parts": lambda: extension_panel.section(recipe, key),
            "Challenge parts": lambda: challenge_panel.section(recipe, key),
        }
        tabs = st.tabs(list(shown), key=f"more-{key}", on_change="rerun")
        for tab, show in zip(tabs, shown.values(), strict=True):
            if tab.open:
                with tab:
                    show()


def show_unsaved() -> None:
    """Say that no recipe holds the open product as it is, where that is so."""
    product = in_hand.current()
    if product is not None and not product.is_saved:
        state = saved_recipes.state(product.recipe_digest, is_saved=False)
        words = f"**{shell.escape(product.product)}** is {shell.escape(state)}. Save it on Inspect to find it here."
        st.info(words, icon=":material/edit_note:")


def damaged(path: Path, reason: str) -> None:
    """Show a file among the recipes that is none: why, and it can be deleted."""
    with st.container(border=True, width=FORM):
        st.error(shell.escape(reason), icon=":material/broken_image:")
        _delete(path)


def add_from_file() -> None:
    """Show a recipe made elsewhere, checked before it is kept."""
    with st.popover("Import recipe", icon=":material/upload_file:"):
        file = st.file_uploader("Recipe (zip)", ["zip"], key="recipe_upload")
        if file is None or not st.button("Check and import", key="add_recipe"):
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
            st.toast(f"Imported {shell.escape(saved_recipes.names([target])[target])}.", icon=":material/check_circle:")


def _describe(recipe: Recipe, state: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        name = f"{recipe.product}, {saved_recipes.versions()(str(recipe.digest))}"
        st.header(shell.escape(name), width="content", help=f"Digest {shell.escape(recipe.digest)}")
        approval_panel.badge(state)
    st.markdown(recipe.evidence().sentence(recipe.limits))
    live = ", ".join(f"{name} = {value}" for name, value in recipe.live_values.items())
    title = title_of(recipe.method, as_published=recipe.as_published)
    reason = f" · {shell.escape(recipe.provenance.reason)}" if recipe.provenance.reason else ""
    st.caption(
        f"{title}{(', ' + live if live else '')} · {limits_in_words(recipe.limits)}  \nCreated "
        f"{shell.escape(made(recipe))} by {shell.escape(recipe.provenance.author)}{reason}"
    )


def _to_download(path: Path, recipe: Recipe, state: str) -> bytes:
    """The recipe as a zip, with a note of its approval, which another workspace would not know of."""
    package = zipped(path)
    if state != APPROVED:
        return package
    with AuditLog.open() as log:
        entry = life_cycle.history(log, str(recipe.digest))[-1]
    version = saved_recipes.versions()(str(recipe.digest))
    return with_note(package, {"version": version, "by": entry.user[:60], "at": entry.time[:16].replace("T", " ")})


def _say_source(path: Path, state: str) -> None:
    """Say of a recipe that was approved elsewhere that it is not so here."""
    note = note_of(path)
    if state == APPROVED or not note:
        return
    who = f"{note.get('version', '')} by {note.get('by', '')}, {note.get('at', '')} UTC"
    words = f"{who}, at its source, not here. Approve it to use it for production here."
    st.caption(f":material/move_to_inbox: {shell.sentence(words)}")


def _contents(recipe: Recipe, path: Path) -> None:
    rows = {"File": path.name, "Size on disk": f"{_bytes(path) / 2**20:.1f} MB", **in_words(recipe)}
    data_table.show_cells({"Property": rows, "Value": rows.values()})


@st.cache_data(max_entries=64, show_spinner=False)
def _picture(_recipe: Recipe, digest: str) -> bytes | None:
    """WebP of the reference that parts are aligned to, else of the good photo with the middle score."""
    if _recipe.alignment is not None:
        return heatmap.thumbnail(_recipe.alignment.reference, side=2 * PICTURE)
    if _recipe.calibration_photos:
        typical = sorted(_recipe.calibration_photos, key=lambda row: row.score)[len(_recipe.calibration_photos) // 2]
        path = open_recipe.existing_photo_path(_recipe, typical)
        with contextlib.suppress(ImageError):
            if path is not None and (photo := read(path, _recipe.depth)).digest == typical.digest:
                return heatmap.thumbnail(photo.pixels, side=2 * PICTURE)
    return None


def _delete(path: Path, digest: str | None = None, *, in_force: bool = False) -> None:
    """digest: of the recipe, whose export is deleted with it; None if it is not a recipe."""
    words = "Retire this recipe before deleting it." if in_force else None
    with st.popover("Delete", icon=":material/delete:", disabled=in_force, help=words):
        st.markdown(f"Delete **{shell.escape(path.name)}** permanently? Verdicts made with it are kept.")
        name = path.name if path.name.isprintable() else os.fsencode(path.name).hex()
        if st.button("Delete recipe", key=f"delete-{name}"):
            with shell.errors_shown(OSError, RecursionError, begins="Could not delete: "):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
                if digest is not None:
                    workspace.export_of(digest).unlink(missing_ok=True)
                st.rerun()


def _bytes(path: Path) -> int:
    return path.stat().st_size if path.is_file() else sum(file.stat().st_size for file in path.rglob("*"))
