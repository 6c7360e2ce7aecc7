"""`learn`: a recipe taught again with further good parts; first it is shown which verdicts change."""

import argparse

from inspect_core.audit import changes, inspections
from inspect_core.audit.log import AuditLog
from inspect_core.cli import inspector_options, worker_options
from inspect_core.cli.console import ACCEPTED, NOT_ACCEPTED, argument, bar, path_argument, say, say_notes
from inspect_core.features.store import feature_store
from inspect_core.images.listing import photos_in
from inspect_core.images.samples import counted, examples
from inspect_core.recipe_format.output_paths import PlaceError
from inspect_core.recipe_io.recipe_file import save
from inspect_core.recipe_io.recipe_path import check_place
from inspect_core.runtime import users
from inspect_core.tuning.recipe_extension import learn, lesson, regression
from inspect_core.verdict import SPOKEN

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
    out = "draft recipe to write, a folder or .zip file; overwrites only a Loupe recipe"
    parser.add_argument("--out", type=path_argument, required=True, help=out)
    photos = "folder with the original training photos, if they were moved; repeatable"
    parser.add_argument("--photos", type=path_argument, metavar="FOLDER", action="append", default=[], help=photos)
    parser.add_argument("--reason", default="good parts added", help="why; recorded in the recipe")
    override = "save even if a known defect would now be accepted; the reason is recorded"
    parser.add_argument("--override", metavar="REASON", type=reason_argument, help=override)
    parser.add_argument("--download", action="store_true", help="download the backbone's weights if they are missing")
    worker_options.add_options(parser)
    parser.set_defaults(weights=None)


def run(options: argparse.Namespace) -> int:
    check_place(options.out)
    if options.out.resolve() == options.recipe.resolve():
        raise PlaceError(f"{options.out} is the recipe to teach further, which stays as it is; choose another name")
    inspector = inspector_options.load_recipe(options.recipe, download=options.download)
    recipe, who = inspector.recipe, users.at_this_machine()
    folders = [*options.photos, *recipe.provenance.folders]
    with AuditLog.open() as log:  # one that cannot be written is said before anything is learned
        judged = [one for one in inspections.read(log, most=MOST_REJUDGED) if one.recipe == recipe.digest]
    task = lesson(recipe, photos_in(options.good), folders, judged)
    say_notes(task.sentences())
    if task.defective and options.override is None:
        named = f"{counted(len(task.defective), 'photo')} known to be defective ({examples(list(task.defective))})"
        say(f"Not learned: {named}. Leave them out, or give --override with the reason why they are good.")
        return NOT_ACCEPTED
    reason = options.reason if options.override is None else f"{options.reason}; {options.override}"
    with worker_options.study_workers(options) as workers, bar() as report:
        new, study = learn(task, feature_store(), report, workers, author=who, reason=reason)
        found, notes = regression(task, inspector, new, study, judged, report)
    for one in found.changes:
        known = f", known as {one.after.truth}" if one.after.truth else ""
        say(f"{SPOKEN[one.before.verdict]:>9} → {SPOKEN[one.after.verdict]:<9}  {one.after.name}{known}")
    say(found.sentence())
    say_notes(notes)
    if found.escapes and options.override is None:
        what = f"{counted(len(found.escapes), 'known defect')} would now be accepted"
        say(f"Not saved: {what}. Remove photos added by mistake, or use --override with a reason.")
        return NOT_ACCEPTED
    saved = save(new, options.out)
    with AuditLog.open() as log:
        known = {"product": saved.product, "recipe": str(saved.digest), "user": who}
        entry = changes.limits_changed(recipe.limits, saved.limits, reason=reason, **known)
        log.append_all([] if entry is None else [entry])
    limits, more = changes.limits_in_words(saved.limits), counted(len(task.new), "photo")
    say(f"Added {more}: {limits}, before {changes.limits_in_words(recipe.limits)}.")
    say(f"Saved {options.out} (recipe {saved.digest!s:.12}, draft, based on {recipe.digest!s:.12}).")
    return ACCEPTED
