"""`synthetic`: write the sample products, drawn by computer, with exact masks of their defects."""

import argparse
import os
import tempfile
from pathlib import Path

from inspect_core.cli.console import ACCEPTED, path_argument, whole_argument
from inspect_core.recipe_format.output_paths import OutputPathError
from inspect_core.runtime.json_record import MANY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    out = "folder to write to (default: sample_data)"
    parser.add_argument("--out", type=path_argument, default="sample_data", help=out)
    parser.add_argument(
        "--seed",
        type=whole_argument(0, MANY),
        default=0,
        help="random seed; each seed gives different parts (default: 0)",
    )
    variant = parser.add_mutually_exclusive_group()
    moved = (
        "vary part positions as on a conveyor, shifted by up to 8%% and rotated by up to 10°, and write the poses; "
        "similarity: also scaled by up to 3%%"
    )
    variant.add_argument("--moved", choices=("rigid", "similarity"), help=moved)
    large = "instead a panel of boards in photos of 12 megapixels, with defects of 10 to 40 pixels; 310 MB"
    variant.add_argument("--large", action="store_true", help=large)


def run(options: argparse.Namespace) -> int:
    """Raise ValueError where the generator is missing: it lies beside the package, not in it; OutputPathError where a
    file of another content is in the way.
    """
    try:
        from sample_data.make import conveyor, panel, products
    except ImportError as error:
        raise ValueError(
            "the sample generator is not part of the installed package; run this in a source checkout"
        ) from error
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".loupe-", dir=options.out) as folder:
        if options.large:
            panel.write(folder, seed=options.seed)
        else:
            moved = {"rigid": conveyor.RIGID, "similarity": conveyor.SCALED}
            products.write(folder, seed=options.seed, conveyor=moved[options.moved] if options.moved else None)
        _move(Path(folder), options.out)
    return ACCEPTED


def _move(folder: Path, out: Path) -> None:
    """Move the files to where they belong, or none of them, where that would replace another file."""
    places = {path: out / path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()}
    for path, place in places.items():
        if os.path.lexists(place) and not (place.is_file() and place.read_bytes() == path.read_bytes()):
            raise OutputPathError(f"{place} is another file, so nothing was written; name another --out")
    for path, place in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        path.replace(place)
