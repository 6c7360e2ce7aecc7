"""Challenge parts on a recipe's card: name them, photograph them now, see that each keeps its verdict and margin."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from inspect_core.audit import challenges
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.line.challenge import Answer, challenge, facts, name_parts, photos_by_part
from inspect_core.recipe import LoadedRecipe, Recipe, loaded_backbone
from inspect_core.records import recipe_file
from inspect_core.runtime import workspace
from inspect_core.ui import shell, uploads
from inspect_core.ui.photo_source import TYPES


def section(recipe: Recipe, key: str) -> None:
    """The challenge parts of one recipe. key: of its card."""
    with st.expander(
        "Challenge parts", key=f"challenge-{key}", on_change="rerun", icon=":material/fact_check:"
    ) as opened:
        if not opened.open:
            return
        st.markdown(
            "Real good and defective parts kept at the line. Photographing them again checks lamp, lens and fixture, "
            "which the recipe's own images cannot."
        )
        if recipe.challenge:
            _standing(recipe, key)
            _challenge(recipe, key)
        _name(recipe, key)


def _standing(recipe: Recipe, key: str) -> None:
    st.table(
        {
            "Part": [shell.plain(part.name) for part in recipe.challenge],
            "Truth": ["good" if part.good else "defective" for part in recipe.challenge],
            "Required verdict": [part.verdict for part in recipe.challenge],
            "Earlier score": [f"{part.score:.4g}" for part in recipe.challenge],
        },
        hide_index=True,
    )
    try:
        with AuditLog.open() as log:
            why = challenges.why_blocked(log, str(recipe.digest))
    except LogError as error:
        st.error(shell.plain(error), icon=":material/error:")
        return
    if why is None:
        st.success("The watch folder may run with this recipe.", icon=":material/check_circle:")
        return
    st.warning(f"The watch folder is blocked: {shell.plain(why)}.", icon=":material/block:")
    with st.popover("Override", icon=":material/gavel:"):
        reason = st.text_input("Reason", key=f"override-reason-{key}", max_chars=200)
        if st.button("Allow it to watch", key=f"override-{key}", type="primary", disabled=not reason.strip()):
            _recorded(challenges.override, recipe, reason=reason)


def _challenge(recipe: Recipe, key: str) -> None:
    files = st.file_uploader(
        "Photos of the parts, taken now", TYPES, accept_multiple_files=True, key=f"challenge-files-{key}",
        help="Name each file after its part: dent.png is a photo of the part “dent”.",
    )  # fmt: skip
    if st.button("Run the challenge", key=f"run-challenge-{key}", type="primary", disabled=not files):
        answers = _tried(lambda: challenge(_inspector(recipe), _kept(files)))
        if answers is not None:
            st.session_state[f"answers-{key}"] = answers
            _recorded(challenges.record, recipe, answers=[facts(answer) for answer in answers])
    if answers := st.session_state.get(f"answers-{key}"):
        _show(answers)


def _show(answers: Sequence[Answer]) -> None:
    for answer in answers:
        icon, colour = (":material/check_circle:", "green") if answer.passed else (":material/cancel:", "red")
        said = "passed" if answer.passed else "failed"
        st.markdown(f":{colour}[{icon} **{said}**] {shell.plain(answer.part.name)}: {shell.plain(answer.words)}")


def _name(recipe: Recipe, key: str) -> None:
    with st.popover("Name challenge parts", icon=":material/add:"):
        st.caption("They are saved in a new version of the recipe, each named after its file.")
        good = st.file_uploader("Good parts", TYPES, accept_multiple_files=True, key=f"name-good-{key}")
        defects = st.file_uploader("Defective parts", TYPES, accept_multiple_files=True, key=f"name-defects-{key}")
        if st.button("Name these parts", key=f"name-{key}", type="primary", disabled=not (good or defects)):

            def save() -> Recipe:
                parts = name_parts(_inspector(recipe), [*_kept(good).values()], [*_kept(defects).values()])
                return recipe_file.save(
                    recipe.with_challenge(parts, author=shell.current_user()),
                    workspace.free_recipe_path(recipe.product),
                )

            if (saved := _tried(save)) is not None:
                st.toast(
                    f"Saved version {str(saved.digest)[:8]} with its challenge parts.", icon=":material/check_circle:"
                )
                st.rerun()


def _inspector(recipe: Recipe) -> LoadedRecipe:
    return LoadedRecipe(recipe, loaded_backbone(recipe.backbone))


def _kept(files: Sequence) -> dict[str, Path]:
    if not files:
        return {}
    kept = uploads.keep([(file.name, file.getbuffer()) for file in files], workspace.uploads_folder())
    return photos_by_part(kept)


def _tried(work: Callable[[], Any]) -> Any:
    """Result of the work; None, with an error on the page, when it cannot be done."""
    try:
        with st.spinner("Inspecting…"):
            return work()
    except (ValueError, OSError, RuntimeError) as error:
        st.error(shell.plain(error), icon=":material/error:")
        return None


def _recorded(append: Callable, recipe: Recipe, **facts_of: Any) -> None:
    own = {"product": recipe.product, "recipe": str(recipe.digest), "user": shell.current_user()}
    try:
        with AuditLog.open() as log:
            append(log, **facts_of, **own)
    except (LogError, ValueError) as error:
        st.error(shell.plain(error), icon=":material/error:")
        return
    st.rerun()
