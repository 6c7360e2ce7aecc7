"""`extend`: a recipe taught again with further good parts; first it is shown which verdicts change."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from inspect_core.audit import changes, inspections
from inspect_core.audit.log import AuditLog
from inspect_core.cli import inspector_options, worker_options
from inspect_core.cli.console import (
    ACCEPTED,
    NOT_ACCEPTED,
    add_labels,
    argument,
    chosen_reading,
    path_argument,
    print_line,
    print_notes,
    progress_bar,
)
from inspect_core.datasets.folders import labels_at
from inspect_core.datasets.listing import photos_in
from inspect_core.features.store import feature_store
from inspect_core.recipe import LoadedRecipe
from inspect_core.recipe_format.output_paths import OutputPathError
from inspect_core.recipe_io.recipe_path import check_place
from inspect_core.recipe_io.recorded_saving import save_recorded
from inspect_core.runtime import users
from inspect_core.runtime.wording import join_first_names, pluralise
from inspect_core.tuning.recipe_extension import (
    ExtensionPlan,
    compare_with_previous,
    extend_recipe,
    plan_extension,
    rejected_photos,
)
from inspect_core.verdict import VERDICT_PHRASES

MOST_REJUDGED = 5000


@argument
def reason_argument(text: str) -> str:
    """A reason in words, for argparse."""
    if not text.strip():
        raise ValueError("the reason is blank; say why the recipe may be saved")
    return text.strip()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", type=path_argument, help="recipe to extend; it is not changed")
    parser.add_argument("good", type=path_argument, nargs="+", help="good photos or folders")
    add_labels(parser)
    out = "draft recipe to write, a folder or .zip file; overwrites only a Loupe recipe"
    parser.add_argument("--out", type=path_argument, required=True, help=out)
    photos = "folder with the original training photos, if they were moved; repeatable"
    parser.add_argument("--photos", type=path_argument, metavar="FOLDER", action="append", default=[], help=photos)
    parser.add_argument("--reason", default="good parts added", help="why; recorded in the recipe")
    override = (
        "learn also what the recipe rejects and known defects, and save even if a known defect would now be accepted; "
        "the reason is recorded"
    )
    parser.add_argument("--override", metavar="REASON", type=reason_argument, help=override)
    parser.add_argument("--download", action="store_true", help="download the backbone's weights if they are missing")
    worker_options.add_options(parser)
    parser.set_defaults(weights=None)


def run(options: argparse.Namespace) -> int:
    check_place(options.out)
    if options.out.resolve() == options.recipe.resolve():
        raise OutputPathError(
            f"{options.out} is the recipe to teach further, which stays as it is; choose another name"
        )
    inspector = inspector_options.load_recipe(options.recipe, download=options.download)
    recipe = inspector.recipe
    who = users.local_user()
    folders = [*options.photos, *recipe.provenance.folders]
    with AuditLog.open() as log:  # one that cannot be written is said before anything is learned
        past_inspections = inspections.read(log, recipe=recipe.digest, most=MOST_REJUDGED)
    labels = labels_at(options.good, chosen_reading(options))
    photos = photos_in(options.good)
    task = plan_extension(recipe, photos, folders, past_inspections, labels=labels)
    print_notes(task.sentences())
    if options.override is None and (doubtful := _doubtful(task, inspector, photos)):
        print_line(f"Not learned: {doubtful}. Leave them out, or give --override with the reason why they are good.")
        return NOT_ACCEPTED
    reason = options.reason if options.override is None else f"{options.reason}; {options.override}"
    with worker_options.study_workers(options) as workers, progress_bar() as report:
        new, study = extend_recipe(task, feature_store(), report, workers, author=who, reason=reason)
        verdict_changes, notes = compare_with_previous(task, inspector, new, study, past_inspections, report)
    for change in verdict_changes.changes:
        known = f", known as {change.after.truth}" if change.after.truth else ""
        print_line(
            f"{VERDICT_PHRASES[change.before.verdict]:>9} → {VERDICT_PHRASES[change.after.verdict]:<9}  "
            f"{change.after.name}{known}"
        )
    print_line(verdict_changes.sentence())
    print_notes(notes)
    if verdict_changes.escapes and options.override is None:
        subject = f"{pluralise(len(verdict_changes.escapes), 'known defect')} would now be accepted"
        print_line(f"Not saved: {subject}. Remove photos added by mistake, or use --override with a reason.")
        return NOT_ACCEPTED
    saved = save_recorded(new, options.out, recipe.limits, reason=reason, user=who)
    limits = changes.limits_in_words(saved.limits)
    more = pluralise(len(task.added), "photo")
    print_line(f"Added {more}: {limits}, before {changes.limits_in_words(recipe.limits)}.")
    print_line(f"Saved {options.out} (recipe {saved.digest!s:.12}, draft, based on {recipe.digest!s:.12}).")
    return ACCEPTED


def _doubtful(task: ExtensionPlan, inspector: LoadedRecipe, photos: Sequence[tuple[str, Path]]) -> str:
    """The photos that are known to be defective, and those that the recipe rejects, in words; "" for none."""
    rejected = rejected_photos(task, inspector, photos)
    several = (
        f"{pluralise(len(names), 'photo')} {words} ({join_first_names(names)})"
        for names, words in ((list(task.defective), "known to be defective"), (rejected, "that the recipe rejects"))
        if names
    )
    return "; ".join(several)
