"""Further good parts for a recipe: those that people called good, or a folder; first what they would change."""

from functools import partial
from pathlib import Path

import streamlit as st

from inspect_core.audit import inspections
from inspect_core.audit.changes import limits_changed, limits_in_words
from inspect_core.audit.entry import RELABELLED
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.features.store import feature_store
from inspect_core.images.folders import inside
from inspect_core.images.listing import photos_in
from inspect_core.images.samples import GOOD, counted
from inspect_core.line.changed import Changed
from inspect_core.recipe import LoadedRecipe, Recipe, loaded_backbone
from inspect_core.recipe_io import recipe_file
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import Job
from inspect_core.runtime.progress import stage
from inspect_core.tuning.learning import LEARNED_FROM, learn, lesson, regression
from inspect_core.ui import results, shell
from inspect_core.ui.photo_source import folder_at
from inspect_core.verdict import SPOKEN

MOST = 5000
"""Inspections that are judged again."""
Found = tuple[Recipe, Changed, list[str]]


def section(recipe: Recipe, key: str) -> None:
    """What may be learned, what it changes, and saving it as a draft. key: unique to the recipe's file."""
    st.markdown(
        "Teaches the recipe again with further good parts, from its own photos and these. Nothing is saved yet."
    )
    if recipe.taught is None:
        st.info("This recipe does not say which photos it was taught from; teach it again from its folder.")
        return
    called = _called_good(recipe)
    words = f"{counted(len(called), 'part')} that people called good on Inspect or in History"
    photos = called if called and st.toggle(words, value=True, key=f"called-{key}") else []
    if (folder := folder_at("Folder of photos of good parts", key=f"learn-folder-{key}")) is not None:
        with shell.errors_shown(OSError):
            photos = [*photos, *photos_in([folder])]
    about = ("learn", str(recipe.digest), tuple(str(path) for _, path in photos))
    if photos:
        title, work = f"Learning {counted(len(photos), 'photo')} for {recipe.product}", partial(_work, recipe, photos)
        results.offer("Learn, and show what changes", "", title, about, work)
    found = results.kept().get(about)
    if found is not None:
        _shown(recipe, found, key, about)


def _work(recipe: Recipe, photos: list[tuple[str, Path]], job: Job) -> Found:
    with AuditLog.open() as log:
        judged = [one for one in inspections.read(log, most=MOST) if one.recipe == recipe.digest]
    roots = [inside(recipe.provenance.photos, workspace.allowed_roots())] if recipe.provenance.photos else []
    task = lesson(recipe, photos, roots)
    new, study = learn(task, feature_store(), stage(job.report, 0.0, 0.9), author=job.owner)
    old = LoadedRecipe(recipe, loaded_backbone(recipe.backbone))
    changes, notes = regression(task, old, new, study, judged, stage(job.report, 0.9, 1.0))
    return new, changes, [*task.sentences(), *notes]


def _shown(recipe: Recipe, found: Found, key: str, about: tuple) -> None:
    new, changes, notes = found
    st.markdown(f"**{shell.plain(changes.sentence())}**")
    limits = f"Limits: {limits_in_words(new.limits)}; before: {limits_in_words(recipe.limits)}."
    st.caption(shell.plain(limits))
    for note in notes:
        st.caption(shell.plain(note))
    if changes.changes:
        st.table(
            {
                "Part": [shell.plain(one.after.name) for one in changes.changes],
                "Known as": [shell.plain(one.after.truth or "–") for one in changes.changes],
                "Was": [SPOKEN[one.before.verdict] for one in changes.changes],
                "Would be": [SPOKEN[one.after.verdict] for one in changes.changes],
            },
            hide_index=True,
        )
    label = "Reason, recorded in the recipe"
    if changes.escapes:
        some = counted(len(changes.escapes), "known defect")
        st.error(f"{some} would now be accepted. Leave out what was called good by mistake.", icon=":material/warning:")
        label = "Why it may be saved all the same"
    reason = st.text_input(shell.plain(label), max_chars=200, key=f"learn-reason-{key}").strip()
    if st.button("Save as a draft", key=f"learn-save-{key}", type="primary", disabled=not reason):
        with shell.errors_shown(OSError, LogError):
            _save(recipe, new, reason)
            results.kept().put(about, None)
            st.rerun()


def _save(recipe: Recipe, new: Recipe, reason: str) -> None:
    saved = recipe_file.save(new.explained(reason), workspace.free_recipe_path(new.product))
    own = {"product": saved.product, "recipe": str(saved.digest), "user": saved.provenance.author}
    entry = limits_changed(recipe.limits, saved.limits, reason=reason, **own)
    with AuditLog.open() as log:
        log.append_all([] if entry is None else [entry])
    st.toast(shell.plain(f"Saved {saved.product} {str(saved.digest)[:8]}, a draft."), icon=":material/check_circle:")


def _called_good(recipe: Recipe) -> list[tuple[str, Path]]:
    """(name, path) of the parts that people called good under this recipe, where their photos are still there."""
    photos = recipe.taught.photos if recipe.taught else ()
    learned = {photo.digest for photo in photos if photo.set in LEARNED_FROM}
    found: dict[str, tuple[str, Path]] = {}
    with shell.errors_shown(LogError), AuditLog.open() as log:
        for one in inspections.read(log, most=MOST):
            if one.recipe == recipe.digest and one.overridden is not None and one.final == "accept":
                found[one.digest] = one.name, Path(one.path)
        for entry in log.entries(kind=RELABELLED, newest=MOST):
            name, digest = str(entry.facts.get("name")), str(entry.facts.get("digest"))
            if entry.recipe == recipe.digest and entry.facts.get("after") == GOOD:
                added = workspace.uploads_folder() / f"{digest[:32]}.png"
                found[digest] = name, added if added.is_file() else Path(recipe.provenance.photos or "") / name
    return [photo for digest, photo in found.items() if digest not in learned and _readable(photo[1])]


def _readable(path: Path) -> bool:
    try:
        return inside(path, [*workspace.allowed_roots(), workspace.root()]).is_file()
    except (ValueError, OSError):
        return False
