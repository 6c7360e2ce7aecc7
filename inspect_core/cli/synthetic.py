"""`synthetic`: write the sample products, drawn by computer, with exact masks of their defects."""

import argparse

from inspect_core.cli.console import ACCEPTED, path_argument
from inspect_core.images.synthetic.products import write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=path_argument, default="sample_data", help="folder to write to (default: sample_data)"
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other parts (default: 0)")


def run(options: argparse.Namespace) -> int:
    write(options.out, seed=options.seed)
    return ACCEPTED
