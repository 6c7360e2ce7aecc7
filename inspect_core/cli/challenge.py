"""`challenge`: check that new photos of the challenge parts get their verdicts with enough margin."""

import argparse

from inspect_core.audit import challenges
from inspect_core.audit.log import AuditLog
from inspect_core.cli import inspector_options
from inspect_core.cli.console import ACCEPTED, NOT_ACCEPTED, path_argument, print_line
from inspect_core.datasets.dataset import GOOD
from inspect_core.line.challenge import challenge, name_parts, photos_by_part, result_facts
from inspect_core.runtime import users


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inspector_options.add_options(parser)
    parser.add_argument("folder", type=path_argument, help="new photos of the parts, each named after its part")
    parts = (
        "add challenge parts instead: photos in good/ are good, all others defective; the recipe with these parts "
        "is written to this path"
    )
    parser.add_argument("--name", type=path_argument, metavar="RECIPE", help=parts)
    parser.add_argument("--override", metavar="REASON", help="allow watching despite a failed challenge")


def run(options: argparse.Namespace) -> int:
    if options.name:
        return _name(options)
    inspector = inspector_options.open_inspector(options)
    answers = challenge(inspector, photos_by_part(options.folder))
    log_context = {"product": inspector.product, "recipe": inspector.digest, "user": users.local_user()}
    with AuditLog.open() as log:
        challenges.record(log, [result_facts(answer) for answer in answers], **log_context)
        if options.override is not None and not all(answer.passed for answer in answers):
            challenges.override(log, reason=options.override, **log_context)
    for answer in answers:
        print_line(f"{'passed' if answer.passed else 'FAILED'}  {answer.part.name}: {answer.words}")
    passed = sum(answer.passed for answer in answers)
    print_line(f"{passed} of {len(answers)} challenge parts passed; {inspector.product} {inspector.digest[:12]}.")
    return ACCEPTED if passed == len(answers) else NOT_ACCEPTED


def _name(options: argparse.Namespace) -> int:
    # Imported where it is used: parts are named where the app is, and a challenge on the line has no torch.
    from inspect_core.recipe_io.recipe_file import save

    if options.release is not None:
        raise ValueError("add challenge parts to the recipe, not to its export; omit --release")
    inspector = inspector_options.load_recipe(options.recipe, device=options.device, download=options.download)
    photos = photos_by_part(options.folder).values()
    good = [path for path in photos if path.parent.name == GOOD]
    parts = name_parts(inspector, good, [path for path in photos if path not in good])
    recipe = save(inspector.recipe.with_challenge(parts, author=users.local_user()), options.name)
    print_line(
        f"{len(recipe.challenge_parts)} challenge parts added. Saved {options.name} (recipe {str(recipe.digest)[:12]})."
    )
    return ACCEPTED
