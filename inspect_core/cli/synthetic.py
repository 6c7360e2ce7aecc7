"""`synthetic`: write the sample products, drawn by computer, with exact masks of their defects."""

import argparse

from inspect_core.cli.console import ACCEPTED, path_argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    out = "folder to write to (default: sample_data)"
    parser.add_argument("--out", type=path_argument, default="sample_data", help=out)
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other parts (default: 0)")
    variant = parser.add_mutually_exclusive_group()
    moved = (
        "the parts as a conveyor brings them, shifted by up to 8 %% and turned by up to 10°, with their poses; "
        "similarity: nearer or farther too, by up to 3 %%"
    )
    variant.add_argument("--moved", choices=("rigid", "similarity"), help=moved)
    large = "instead a panel of boards in photos of 12 megapixels, with defects of 10 to 40 pixels; 310 MB"
    variant.add_argument("--large", action="store_true", help=large)


def run(options: argparse.Namespace) -> int:
    """Raises ValueError where the generator is missing: it lies beside the package, not in it."""
    try:
        from sample_data.make import conveyor, panel, products
    except ImportError as error:
        raise ValueError(
            "the generator of the sample parts is not installed with Loupe; run this in the folder of its source"
        ) from error
    if options.large:
        panel.write(options.out, seed=options.seed)
    else:
        moved = {"rigid": conveyor.RIGID, "similarity": conveyor.SCALED}
        products.write(options.out, seed=options.seed, conveyor=moved[options.moved] if options.moved else None)
    return ACCEPTED
