"""Further good parts for a recipe: those that people called good, or a folder; first what they would change."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import streamlit as st

from inspect_core.audit import inspections
from inspect_core.audit.changes import limits_changed, limits_in_words
from inspect_core.audit.entry import RELABELLED
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.features.store import feature_store
from inspect_core.images import heatmap
from inspect_core.images.depth import Depth
from inspect_core.images.folders import inside
from inspect_core.images.listing import photos_in
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.images.samples import GOOD, counted
from inspect_core.line.verdict_changes import VerdictChanges
from inspect_core.recipe import LoadedRecipe, Recipe, loaded_backbone
from inspect_core.recipe_format.recorded_photos import TaughtPhoto
from inspect_core.recipe_io import recipe_file
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import Job
from inspect_core.runtime.progress import stage
from inspect_core.tuning.recipe_extension import LEARNED_FROM, learn, lesson, regression
from inspect_core.ui import result_cache, shell
from inspect_core.ui.photo_source import folder_at
from inspect_core.verdict import SPOKEN

MOST = 5000
"""Inspections that are judged again."""
SHOWN = 24
ACROSS = 6
PICTURE = 110
"""Photos on a page of the list, in a row of it, and pixels of the longer side of each."""
Found = tuple[Recipe, VerdictChanges, list[str], tuple[str, ...]]


@dataclass(frozen=True)
class Candidate:
    """A photo that may be learned; words: who says that it is good; defective: whether it is a known defect."""

    name: str
    path: Path
    words: str = ""
    defective: bool = False


def section(recipe: Recipe, key: str) -> None:
    """What may be learned, what it changes, and saving it as a draft. key: unique to the recipe's file."""
    st.markdown("Teaches the recipe again with its original photos plus these good parts. Nothing is saved yet.")
    if recipe.taught is None:
        st.info("This recipe does not record its training photos. Teach it again from its folder.")
        return
    candidates = _called_good(recipe)
    if (folder := folder_at("Folder with good photos", key=f"learn-folder-{key}")) is not None:
        with shell.errors_shown(OSError):
            candidates += [Candidate(name, path) for name, path in photos_in([folder])]
    photos = _choose(recipe, candidates, key)
    about = ("learn", str(recipe.digest), tuple(str(path) for _, path in photos))
    if photos:
        title, work = f"Adding {counted(len(photos), 'photo')} to {recipe.product}", partial(_work, recipe, photos)
        result_cache.offer("Add and show changes", "", title, about, work)
    found = result_cache.kept().get(about)
    if found is not None:
        _shown(recipe, found, key, about)


def _work(recipe: Recipe, photos: list[tuple[str, Path]], job: Job) -> Found:
    with AuditLog.open() as log:
        judged = [one for one in inspections.read(log, most=MOST) if one.recipe == recipe.digest]
    roots = [inside(folder, [*workspace.allowed_roots(), workspace.root()]) for folder in recipe.provenance.folders]
    task = lesson(recipe, photos, roots, judged)
    new, study = learn(task, feature_store(), stage(job.report, 0.0, 0.9), author=job.owner)
    old = LoadedRecipe(recipe, loaded_backbone(recipe.backbone))
    changes, notes = regression(task, old, new, study, judged, stage(job.report, 0.9, 1.0))
    return new, changes, [*task.sentences(), *notes], task.defective


def _shown(recipe: Recipe, found: Found, key: str, about: tuple) -> None:
    new, changes, notes, defective = found
    st.markdown(f"**{shell.plain(changes.sentence())}**")
    limits = f"New limits: {limits_in_words(new.limits)}. Before: {limits_in_words(recipe.limits)}."
    st.caption(shell.plain(limits))
    for note in notes:
        st.caption(shell.plain(note))
    if changes.changes:
        st.table(
            {
                "Part": [shell.plain(one.after.name) for one in changes.changes],
                "Label": [shell.plain(one.after.truth or "–") for one in changes.changes],
                "Before": [SPOKEN[one.before.verdict] for one in changes.changes],
                "After": [SPOKEN[one.after.verdict] for one in changes.changes],
            },
            hide_index=True,
        )
    label = "Reason (recorded in the recipe)"
    if changes.escapes or defective:
        some = counted(len(changes.escapes), "known defect")
        learned = f"{counted(len(defective), 'known defect')} would be learned as good; " if defective else ""
        words = f"{learned}{some} would now be accepted. Remove parts that were marked good by mistake."
        st.error(shell.plain(words), icon=":material/warning:")
        label = "Why it may be saved nevertheless"
    reason = st.text_input(shell.plain(label), max_chars=200, key=f"learn-reason-{key}").strip()
    if st.button("Save as draft", key=f"learn-save-{key}", type="primary", disabled=not reason):
        with shell.errors_shown(OSError, LogError):
            _save(recipe, new, reason)
            result_cache.kept().put(about, None)
            st.rerun()


def _save(recipe: Recipe, new: Recipe, reason: str) -> None:
    saved = recipe_file.save(new.explained(reason), workspace.free_recipe_path(new.product))
    own = {"product": saved.product, "recipe": str(saved.digest), "user": saved.provenance.author}
    entry = limits_changed(recipe.limits, saved.limits, reason=reason, **own)
    with AuditLog.open() as log:
        log.append_all([] if entry is None else [entry])
    st.toast(shell.plain(f"Saved {saved.product} {str(saved.digest)[:8]} as a draft."), icon=":material/check_circle:")


def _choose(recipe: Recipe, candidates: list[Candidate], key: str) -> list[tuple[str, Path]]:
    """Every photo with what is known of it; (name, path) of those that are ticked."""
    if not candidates:
        return []
    known = {} if recipe.taught is None else {photo.digest: photo for photo in recipe.taught.photos}
    with st.spinner("Reading the photos…"):
        seen = [_looked_at(str(own.path), own.path.stat().st_mtime_ns, recipe.depth) for own in candidates]
    described = [
        _described(own, known.get(digest), digest in {row.digest for row in recipe.judged})
        for own, (digest, _) in zip(candidates, seen, strict=True)
    ]
    shown = shell.one_page(range(len(candidates)), SHOWN, f"learn-page-{key}")
    for first in range(0, len(shown), ACROSS):
        for column, number in zip(st.columns(ACROSS), shown[first : first + ACROSS], strict=False):
            candidate, (digest, picture), (words, is_chosen) = candidates[number], seen[number], described[number]
            with column:
                if picture:
                    st.image(picture, width=PICTURE, alt=shell.plain(candidate.name))
                label, own = shell.plain(candidate.name.rsplit("/", 1)[-1]), f"learn-{key}-{candidate.path}"
                st.checkbox(label, value=is_chosen, disabled=not digest, key=own)
                st.caption(shell.plain(words))
    return [
        (candidate.name, candidate.path)
        for candidate, (_, is_chosen) in zip(candidates, described, strict=True)
        if st.session_state.get(f"learn-{key}-{candidate.path}", is_chosen)
    ]


def _described(candidate: Candidate, photo: TaughtPhoto | None, is_tested: bool) -> tuple[str, bool]:
    """What is known of a photo, and whether it is chosen to begin with: a known defect never is.

    photo: what the recipe was taught with it as; is_tested: whether it is a test photo.
    """
    words = [candidate.words]
    if photo is not None:
        words.append("learned before" if photo.set in LEARNED_FROM else f"known as {photo.kind}")
    if is_tested:
        words.append("a test photo, which leaves the test photos")
    is_defect = candidate.defective or (photo is not None and photo.kind != GOOD)
    is_learned = photo is not None and photo.set in LEARNED_FROM
    return "; ".join(filter(None, words)) or "nothing known of it", not is_defect and not is_learned


@st.cache_data(max_entries=2000, show_spinner=False)
def _looked_at(path: str, written: int, _depth: Depth | None) -> tuple[str, bytes]:
    """The digest of a photo and a small picture of it; "" and b"" for one that cannot be read."""
    try:
        picture = read(Path(path), _depth)
    except ImageError:
        return "", b""
    return picture.digest, heatmap.thumbnail(picture.pixels)


def _called_good(recipe: Recipe) -> list[Candidate]:
    """The parts that people called good under this recipe, where their photos are still there."""
    photos = {photo.digest: photo for photo in recipe.taught.photos} if recipe.taught else {}
    found: dict[str, Candidate] = {}
    with shell.errors_shown(LogError), AuditLog.open() as log:
        for one in inspections.read(log, most=MOST):
            if one.recipe == recipe.digest and one.overridden is not None and one.final == "accept":
                found[one.digest] = Candidate(one.name, Path(one.path), f"{SPOKEN[one.verdict]}, then marked good")
        for entry in log.entries(kind=RELABELLED, newest=MOST):
            name, digest = str(entry.facts.get("name")), str(entry.facts.get("digest"))
            if entry.recipe == recipe.digest and entry.facts.get("after") == GOOD:
                added = workspace.uploads_folder() / f"{digest[:32]}.png"
                path = added if added.is_file() else Path(recipe.provenance.photos or "") / name
                found[digest] = Candidate(name, path, "labelled good on Inspect")
    learned = {digest for digest, photo in photos.items() if photo.set in LEARNED_FROM}
    defects = {digest for digest, photo in photos.items() if photo.kind != GOOD}
    return [
        replace(candidate, defective=digest in defects)
        for digest, candidate in found.items()
        if digest not in learned and _readable(candidate.path)
    ]


def _readable(path: Path) -> bool:
    try:
        return inside(path, [*workspace.allowed_roots(), workspace.root()]).is_file()
    except (ValueError, OSError):
        return False
