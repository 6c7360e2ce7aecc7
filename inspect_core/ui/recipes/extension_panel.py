"""Further good parts for a recipe: those that people called good, or a folder; first what they would change."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import streamlit as st

from inspect_core.audit import inspections
from inspect_core.audit.changes import limits_in_words
from inspect_core.audit.entry import RELABELLED
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.datasets.dataset import GOOD, ScanError
from inspect_core.datasets.folders import labels_at
from inspect_core.datasets.listing import photos_in
from inspect_core.datasets.photo_tree import resolve_allowed_path, resolved
from inspect_core.features.store import feature_store
from inspect_core.images import heatmap
from inspect_core.images.depth import Depth
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.inspection import Inspection
from inspect_core.line.photo_inspection import inspect_photo, inspect_photos
from inspect_core.line.verdict_changes import VerdictChanges
from inspect_core.recipe import LoadedRecipe, Recipe, loaded_backbone
from inspect_core.recipe_format.recorded_photos import TeachingPhoto
from inspect_core.recipe_io.recorded_saving import save_recorded
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import Job
from inspect_core.runtime.progress import stage
from inspect_core.runtime.wording import pluralise
from inspect_core.tuning.recipe_extension import (
    LEARNED_FROM,
    compare_with_previous,
    extend_recipe,
    newly_accepted,
    plan_extension,
)
from inspect_core.ui import data_table, label_question, result_cache, saved_recipes, shell
from inspect_core.ui.photo_source import fingerprint, folder_at
from inspect_core.verdict import VERDICT_PHRASES
from inspect_core.whole_part.product_check import STOP

MOST = 5000
"""Inspections that are judged again."""
SHOWN = 24
ACROSS = 6
PICTURE = 110
"""Photos on a page of the list, in a row of it, and pixels of the longer side of each."""
ExtensionResult = tuple[Recipe, VerdictChanges, list[str], tuple[str, ...]]


@dataclass(frozen=True)
class Candidate:
    """A photo that may be learned.

    words: who says that it is good; defective: whether it is a known defect; overridden: whether the recipe rejected
    it, and a person then accepted it.
    """

    name: str
    path: Path
    words: str = ""
    defective: bool = False
    overridden: bool = False


def section(recipe: Recipe, key: str) -> None:
    """Show what may be learned, what it changes, and saving it as a draft. key: unique to the recipe's file."""
    st.markdown("Teaches the recipe again with its original photos plus these good parts. Nothing is saved yet.")
    if recipe.teaching is None:
        st.info("This recipe does not record its training photos. Teach it again from its folder.")
        return
    candidates = _called_good(recipe)
    if (folder := folder_at("Folder with good photos", key=f"learn-folder-{key}")) is not None:
        with shell.errors_shown(ScanError, OSError):
            candidates += _in_folder(folder, key)
    photos = _choose(recipe, candidates, key)
    defects = {resolved(candidate.path): candidate.words for candidate in candidates if candidate.defective}
    subject = ("learn", str(recipe.digest), tuple(str(path) for _, path in photos))
    if not photos:
        return
    title = f"Adding {pluralise(len(photos), 'photo')} to {recipe.product}"
    work = partial(_work, recipe, photos, defects)
    result = result_cache.result_or_button("Add and show changes", "", title, subject, work)
    if result is not None:
        _shown(recipe, result, key, subject)


def _in_folder(folder: Path, key: str) -> list[Candidate]:
    """The photos of a folder; those that names, lists or masks call defective are known defects.

    Raises ScanError and OSError.
    """
    choice = label_question.choose(folder, fingerprint(folder), to_teach=False)
    if not choice.is_clear:
        return []
    photos = photos_in([folder], workspace.readable_roots())
    if not photos:
        raise ScanError(f"There are no photos in “{folder.name}”; choose the folder that holds the good parts")
    labels = labels_at([folder], choice.reading)
    labelled = [(name, path, labels.get(resolved(path), GOOD)) for name, path in photos]
    return [
        Candidate(name, path) if label == GOOD else Candidate(name, path, f"labelled {label}", defective=True)
        for name, path, label in labelled
    ]


def _work(recipe: Recipe, photos: list[tuple[str, Path]], defects: dict[Path, str], job: Job) -> ExtensionResult:
    with AuditLog.open() as log:
        past_inspections = inspections.read(log, recipe=recipe.digest, most=MOST)
    roots = [resolve_allowed_path(folder, workspace.readable_roots()) for folder in recipe.provenance.folders]
    task = plan_extension(recipe, photos, roots, past_inspections, labels=defects)
    new, study = extend_recipe(task, feature_store(), stage(job.report, 0.0, 0.9), author=job.owner)
    old = LoadedRecipe(recipe, loaded_backbone(recipe.backbone))
    changes, notes = compare_with_previous(task, old, new, study, past_inspections, stage(job.report, 0.9, 0.97))
    accepted = newly_accepted([inspected.row for inspected in inspect_photos(old, photos)], new)
    return new, changes, [*task.sentences(), *accepted, *notes], task.defective


def _shown(recipe: Recipe, result: ExtensionResult, key: str, subject: tuple) -> None:
    new, changes, notes, defective = result
    st.markdown(f"**{shell.escape(changes.sentence())}**")
    limits = f"New limits: {limits_in_words(new.limits)}. Before: {limits_in_words(recipe.limits)}."
    st.caption(shell.escape(limits))
    for note in notes:
        st.caption(shell.escape(note))
    if changes.changes:
        data_table.show_cells(
            {
                "Part": [change.after.name for change in changes.changes],
                "Label": [change.after.truth or "–" for change in changes.changes],
                "Before": [VERDICT_PHRASES[change.before.verdict] for change in changes.changes],
                "After": [VERDICT_PHRASES[change.after.verdict] for change in changes.changes],
            }
        )
    label = "Reason (recorded in the recipe)"
    if changes.escapes or defective:
        defects = pluralise(len(changes.escapes), "known defect")
        learned = f"{pluralise(len(defective), 'known defect')} would be learned as good; " if defective else ""
        words = f"{learned}{defects} would now be accepted. Remove parts that were marked good by mistake."
        st.error(shell.escape(words), icon=":material/warning:")
        label = "Why it may be saved nevertheless"
    reason = st.text_input(shell.escape(label), max_chars=200, key=f"learn-reason-{key}").strip()
    if st.button("Save as draft", key=f"learn-save-{key}", type="primary", disabled=not reason):
        with shell.errors_shown(OSError, LogError):
            _save(recipe, new, reason)
            result_cache.result_cache().put(subject, None)
            st.rerun()


def _save(recipe: Recipe, new: Recipe, reason: str) -> None:
    author = new.provenance.author
    with workspace.free_recipe_path(new.product) as path:
        saved = save_recorded(new.with_reason(reason), path, recipe.limits, reason=reason, user=author)
    name = saved_recipes.versions()(str(saved.digest))
    st.toast(shell.escape(f"Saved {saved.product} as {name}."), icon=":material/check_circle:")


def _choose(recipe: Recipe, candidates: list[Candidate], key: str) -> list[tuple[str, Path]]:
    """Every photo with what is known of it; (name, path) of those that are ticked."""
    if not candidates:
        return []
    known = {} if recipe.teaching is None else {photo.digest: photo for photo in recipe.teaching.photos}
    with st.spinner("Reading the photos…"):
        scanned = [_looked_at(str(part.path), part.path.stat().st_mtime_ns, recipe.depth) for part in candidates]
        rows = [
            _inspection_of(str(part.path), part.path.stat().st_mtime_ns, str(recipe.digest), recipe)
            for part in candidates
        ]
    tested = {row.digest for row in recipe.test_photos}
    described = [
        _described(candidate, known.get(digest), row, is_tested=digest in tested)
        for candidate, (digest, _), row in zip(candidates, scanned, rows, strict=True)
    ]
    shown = shell.paginate(range(len(candidates)), SHOWN, f"learn-page-{key}")
    for first in range(0, len(shown), ACROSS):
        for column, number in zip(st.columns(ACROSS), shown[first : first + ACROSS], strict=False):
            candidate, (digest, picture), (words, is_chosen) = candidates[number], scanned[number], described[number]
            with column:
                if picture:
                    st.image(picture, width=PICTURE, alt=candidate.name)
                label = shell.escape(candidate.name.rsplit("/", 1)[-1])
                widget_key = f"learn-{key}-{candidate.path}"
                st.checkbox(label, value=is_chosen, disabled=not digest, key=widget_key)
                st.caption(shell.escape(words))
    return [
        (candidate.name, candidate.path)
        for candidate, (_, is_chosen) in zip(candidates, described, strict=True)
        if st.session_state.get(f"learn-{key}-{candidate.path}", is_chosen)
    ]


def _described(
    candidate: Candidate, photo: TeachingPhoto | None, row: Inspection, *, is_tested: bool
) -> tuple[str, bool]:
    """What is known of a photo, and whether it is chosen to begin with: never a known defect, another product,
    or a part that the recipe rejected and a person accepted.

    photo: what the recipe was taught with it as; row: what the recipe makes of it, its product check as strict as it
    can be; is_tested: whether it is a test photo.
    """
    words = [candidate.words]
    if row.is_stopped:
        words.append("shows another product, so it is not ticked")
    elif row.score is not None:
        words.append(f"score {row.score:.3g}, {VERDICT_PHRASES[row.verdict]}")
    else:
        words.append(row.reason)
    if candidate.overridden:
        words.append("learned, it would raise the limit, so it is not ticked")
    if photo is not None:
        words.append("learned before" if photo.subset in LEARNED_FROM else f"known as {photo.label}")
    if is_tested:
        words.append("a test photo, which leaves the test photos")
    is_defect = candidate.defective or (photo is not None and photo.label != GOOD)
    is_learned = photo is not None and photo.subset in LEARNED_FROM
    is_doubtful = row.is_stopped or candidate.overridden or row.score is None
    return "; ".join(filter(None, words)), not (is_defect or is_learned or is_doubtful)


@st.cache_data(max_entries=5000, show_spinner=False)
def _inspection_of(path: str, written: int, digest: str, _recipe: Recipe) -> Inspection:
    """What a recipe makes of a photo, its product check stopping what it takes for another product."""
    return inspect_photo(_strict(digest, _recipe), Path(path).name, Path(path)).row


@st.cache_resource(max_entries=2, show_spinner=False)
def _strict(digest: str, _recipe: Recipe) -> LoadedRecipe:
    check = _recipe.product_check and _recipe.product_check.with_mode(STOP)
    return LoadedRecipe(replace(_recipe, product_check=check), loaded_backbone(_recipe.backbone))


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
    photos = {photo.digest: photo for photo in recipe.teaching.photos} if recipe.teaching else {}
    candidates: dict[str, Candidate] = {}
    with shell.errors_shown(LogError), AuditLog.open() as log:
        for inspection in inspections.read(log, recipe=recipe.digest, most=MOST):
            if inspection.override is not None and inspection.final_verdict == "accept":
                candidates[inspection.digest] = Candidate(
                    inspection.name,
                    Path(inspection.path),
                    f"{VERDICT_PHRASES[inspection.verdict]}, then marked good",
                    overridden=inspection.verdict == "reject",
                )
        for entry in log.entries(kind=RELABELLED, newest=MOST):
            name, digest = str(entry.facts.get("name")), str(entry.facts.get("digest"))
            if entry.recipe == recipe.digest and entry.facts.get("after") == GOOD:
                added = workspace.uploads_folder() / f"{digest[:32]}.png"
                path = added if added.is_file() else Path(recipe.provenance.photo_root or "") / name
                candidates[digest] = Candidate(name, path, "labelled good on Inspect")
    learned = {digest for digest, photo in photos.items() if photo.subset in LEARNED_FROM}
    defects = {digest for digest, photo in photos.items() if photo.label != GOOD}
    return [
        replace(candidate, defective=digest in defects)
        for digest, candidate in candidates.items()
        if digest not in learned and _readable(candidate.path)
    ]


def _readable(path: Path) -> bool:
    try:
        return resolve_allowed_path(path, workspace.readable_roots()).is_file()
    except (ValueError, OSError):
        return False
