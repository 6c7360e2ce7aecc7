"""`convert`: write a recipe of an earlier version of Loupe in today's form, with the same scores to the bit."""

import argparse

from inspect_core.audit.log import AuditLog
from inspect_core.cli.console import ACCEPTED, path_argument, print_line
from inspect_core.recipe_io import schema_conversion
from inspect_core.runtime import users


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", type=path_argument, help="recipe or export to convert; it is not changed")
    out = "recipe to write, a folder or .zip file; overwrites only a Loupe recipe"
    parser.add_argument("--out", type=path_argument, required=True, help=out)


def run(options: argparse.Namespace) -> int:
    with AuditLog.open() as log:
        recipe = schema_conversion.convert(options.recipe, options.out, log, user=users.local_user())
    print_line(f"Saved {options.out} (recipe {str(recipe.digest)[:12]}); verdicts and scores are the same.")
    return ACCEPTED
