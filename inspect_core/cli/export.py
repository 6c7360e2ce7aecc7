"""`export`: write a recipe for the line, with the proof that it gives the same verdicts there."""

import argparse

from inspect_core.audit import life_cycle
from inspect_core.audit.log import AuditLog
from inspect_core.cli.console import ACCEPTED, path_argument, print_line, print_notes, progress_bar
from inspect_core.datasets.listing import photos_in
from inspect_core.recipe_io.onnx_export import export
from inspect_core.recipe_io.parity_photos import find_photos
from inspect_core.recipe_io.recipe_file import load
from inspect_core.runtime import users


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", type=path_argument)
    out = "output folder or .zip file; overwrites only a Loupe recipe"
    parser.add_argument("--out", type=path_argument, required=True, help=out)
    photos = "folder with the calibration and test photos (default: their original location)"
    parser.add_argument("--photos", type=path_argument, help=photos)
    bits = (
        "16: store constants in 16 bits; 8: also quantise the network to 8-bit integers; refused if scores change "
        "too much"
    )
    parser.add_argument("--bits", type=int, choices=(32, 16, 8), default=32, help=bits)
    parser.add_argument("--also", type=path_argument, nargs="+", help="additional photos or folders to compare")


def run(options: argparse.Namespace) -> int:
    recipe = load(options.recipe)
    photos = find_photos(recipe, options.photos)
    also = [path for _, path in photos_in(options.also)] if options.also else []
    with progress_bar() as report:
        proof = {"check_images": [*photos.paths, *also], "source": options.recipe}
        parity = export(recipe, options.out, **proof, bits=options.bits, report=report)
    if photos.missing:
        print_line(f"Note: {len(photos.missing)} photos of the recipe were not found, including {photos.missing[0]}.")
    print_notes(f"{part} are not exported because the line does not use them." for part in parity.left_out)
    print_line(
        f"Verified on {len(parity.table)} photos: all verdicts match, and scores differ by at most "
        f"{parity.largest_difference:.2g} ({parity.allowed:.2g} allowed)."
    )
    with AuditLog.open() as log:
        log_context = {"recipe": str(recipe.digest), "product": recipe.product, "user": users.local_user()}
        life_cycle.released(log, parity.release, **log_context)
    print_line(f"Saved {options.out} (recipe {str(recipe.digest)[:12]}).")
    print_line(
        f"Release {parity.release}: pass it to inspect, watch and challenge with --release to refuse any other export."
    )
    return ACCEPTED
