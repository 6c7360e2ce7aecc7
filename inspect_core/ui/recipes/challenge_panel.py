"""Challenge parts of a recipe: name them, photograph them now, see that each keeps its verdict and margin."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from inspect_core.audit import challenges
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.line.challenge import challenge, name_parts, photos_by_part, result_facts
from inspect_core.recipe import LoadedRecipe, Recipe, loaded_backbone
from inspect_core.recipe_io import recipe_file
from inspect_core.runtime import workspace
from inspect_core.ui import data_table, saved_recipes, shell
from inspect_core.ui.photo_source import TYPES
from inspect_core.ui.recipes import approval_panel
from inspect_core.workbench import uploads

FAILURES = (ValueError, OSError, RuntimeError)


def section(recipe: Recipe, key: str) -> None:
    """Show the challenge parts of one recipe. key: unique to its file."""
    st.markdown(
        "Physical good and defective parts kept at the line. Photographing them again checks the lamp, lens and "
        "fixture, which stored photos cannot."
    )
    if recipe.challenge_parts:
        _show_clearance(recipe, key)
        _challenge(recipe, key)
    _name(recipe, key)


def _show_clearance(recipe: Recipe, key: str) -> None:
    data_table.show_cells(
        {
            "Part": [part.name for part in recipe.challenge_parts],
            "Known condition": ["good" if part.good else "defective" for part in recipe.challenge_parts],
            "Required verdict": [part.verdict for part in recipe.challenge_parts],
            "Reference score": [f"{part.score:.4g}" for part in recipe.challenge_parts],
        }
    )
    reason_given = ""
    with shell.errors_shown(LogError), AuditLog.open() as log:
        reason_given = challenges.why_blocked(log, str(recipe.digest))
    if reason_given is None:
        st.success("This recipe is cleared for watched folders.", icon=":material/check_circle:")
    if reason_given:
        st.warning(f"Watching is blocked: {shell.escape(reason_given)}.", icon=":material/block:")
        with st.popover("Override", icon=":material/gavel:"):
            reason = st.text_input("Reason", key=f"override-reason-{key}", max_chars=200)
            if st.button("Allow watching", key=f"override-{key}", type="primary", disabled=not reason.strip()):
                approval_panel.record(challenges.override, recipe, recipe=str(recipe.digest), reason=reason)


def _challenge(recipe: Recipe, key: str) -> None:
    named = "Name each file after its part: dent.png is a photo of the part “dent”."
    files = _photos("New photos of the parts", f"challenge-files-{key}", named)
    if st.button("Run challenge", key=f"run-challenge-{key}", type="primary", disabled=not files):
        with shell.errors_shown(*FAILURES):
            inspector = _inspector(recipe)
            with st.spinner("Inspecting…"), shell.device_held(inspector.backbone.device):
                answers = challenge(inspector, _upload(files))
            st.session_state[f"answers-{key}"] = answers
            results = [result_facts(answer) for answer in answers]
            approval_panel.record(challenges.record, recipe, recipe=str(recipe.digest), answers=results)
    for answer in st.session_state.get(f"answers-{key}", ()):
        icon, colour = (":material/check_circle:", "green") if answer.passed else (":material/cancel:", "red")
        outcome = "passed" if answer.passed else "failed"
        st.markdown(f":{colour}[{icon} **{outcome}**] {shell.escape(answer.part.name)}: {shell.escape(answer.words)}")


def _name(recipe: Recipe, key: str) -> None:
    with st.popover("Add challenge parts", icon=":material/add:"):
        st.caption("Saved in a new recipe version. Each part is named after its file.")
        good, defects = _photos("Good parts", f"name-good-{key}"), _photos("Defective parts", f"name-defects-{key}")
        if st.button("Add these parts", key=f"name-{key}", type="primary", disabled=not (good or defects)):
            with shell.errors_shown(*FAILURES):
                inspector = _inspector(recipe)
                with st.spinner("Inspecting…"), shell.device_held(inspector.backbone.device):
                    parts = name_parts(inspector, [*_upload(good).values()], [*_upload(defects).values()])
                    named = recipe.with_challenge(parts, author=shell.current_user())
                    with workspace.free_recipe_path(recipe.product) as path:
                        saved = recipe_file.save(named, path)
                name = shell.escape(saved_recipes.versions()(str(saved.digest)))
                st.toast(f"Saved as {name}, with the challenge parts.", icon=":material/check_circle:")
                st.rerun()


def _photos(label: str, key: str, words: str | None = None) -> Sequence:
    return st.file_uploader(label, TYPES, accept_multiple_files=True, key=key, help=words)


def _inspector(recipe: Recipe) -> LoadedRecipe:
    return LoadedRecipe(recipe, loaded_backbone(recipe.backbone))


def _upload(files: Sequence) -> dict[str, Path]:
    if not files:
        return {}
    paths = uploads.keep([(file.name, file.getbuffer()) for file in files], workspace.uploads_folder())
    return photos_by_part(paths)
