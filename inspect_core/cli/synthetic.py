"""`synthetic`: write the sample products, drawn by computer, with exact masks of their defects."""

import argparse

from inspect_core.cli.console import ACCEPTED, path_argument
from inspect_core.images.synthetic.conveyor import RIGID, SCALED
from inspect_core.images.synthetic.products import write

MOVES = {"rigid": RIGID, "similarity": SCALED}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=path_argument, default="sample_data", help="folder to write to (default: sample_data)"
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other parts (default: 0)")
    parser.add_argument(
        "--moved", choices=MOVES,
        help="the parts as a conveyor brings them, shifted by up to 8 %% and turned by up to 10°, with their poses; "
        "similarity: nearer or farther too, by up to 3 %%",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    write(options.out, seed=options.seed, conveyor=MOVES[options.moved] if options.moved else None)
    return ACCEPTED
