"""`inspect`: judge photos with a recipe."""

import argparse
import sys
import time

from tqdm import tqdm

from inspect_core.cli.console import ACCEPTED, COULD_NOT_RUN, NOT_ACCEPTED, path_argument, say
from inspect_core.cli.outputs import Maps, check_table, table_row, write_table
from inspect_core.features.backbone_catalogue import spec_of
from inspect_core.features.weights import download_weights
from inspect_core.images.listing import photos_in
from inspect_core.images.read import ImageError, read
from inspect_core.recipe import inspect, loaded_backbone
from inspect_core.records.recipe_file import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", type=path_argument)
    parser.add_argument("paths", type=path_argument, nargs="+", metavar="PATH", help="photos or folders of them")
    parser.add_argument(
        "--csv", type=path_argument,
        help="table of the verdicts; replaces nothing but such a table. A text that begins with = + - @ or ' has ' in "
        "front there, so that a spreadsheet runs no formula",
    )  # fmt: skip
    parser.add_argument(
        "--maps", type=path_argument,
        help="folder for the heatmaps (PNG) and raw maps (.npy); replaces nothing but what Loupe wrote there",
    )  # fmt: skip
    parser.add_argument("--device", default="auto")
    parser.add_argument("--download", action="store_true", help="fetch the backbone's weights when there are none")


def run(options: argparse.Namespace) -> int:
    maps = Maps(options.maps) if options.maps else None
    if options.csv:
        check_table(options.csv)
    recipe = load(options.recipe)
    photos = [(name, path) for name, path in photos_in(options.paths) if maps is None or not maps.holds(path)]
    if not photos:
        raise ValueError("no photo was found at the given paths; name PNG, JPEG, BMP, TIFF or WebP files or folders")
    if maps is not None:
        maps.expect([name for name, _ in photos])
    if options.download:
        download_weights(spec_of(recipe.backbone.name, has_weights=False))
    backbone = loaded_backbone(recipe.backbone, options.device)
    rows, outcome = [], ACCEPTED
    for name, path in tqdm(photos, unit="part", disable=not sys.stderr.isatty()):
        began = time.perf_counter()
        try:
            picture = read(path, recipe.depth)
            verdict = inspect(picture.pixels, recipe, backbone=backbone)
        except (ValueError, RuntimeError, MemoryError) as error:
            reason = f"{error.reason}; {error.remedy}" if isinstance(error, ImageError) else error
            say(f"Skipped {name}: {reason}", sys.stderr)
            outcome = COULD_NOT_RUN
            continue
        rows.append(table_row(name, picture.digest, verdict, recipe, seconds=time.perf_counter() - began))
        say(f"{verdict.verdict:7} {verdict.score:10.4f}  {name}")
        if maps is not None:
            maps.write(name, picture.pixels, verdict.anomaly_map, recipe.limits.review)
        if verdict.verdict != "accept":
            outcome = max(outcome, NOT_ACCEPTED)
        del picture  # before the next is read: memory holds one photo at a time
    if options.csv:
        write_table(options.csv, rows)
    accepted = sum(row[3] == "accept" for row in rows)
    say(f"Accepted {accepted} of {len(rows)}; recipe {recipe.product} {str(recipe.digest)[:12]}, {backbone.engine}.")
    return outcome
