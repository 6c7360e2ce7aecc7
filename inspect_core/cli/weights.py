"""`weights`: list the networks worth having, and fetch or import the weights of one."""

import argparse
from pathlib import Path

from inspect_core.cli.console import ACCEPTED, print_line
from inspect_core.features.backbone_catalogue import WORTH_HAVING, spec_of
from inspect_core.features.weights_download import download_weights, import_weights
from inspect_core.features.weights_files import find_weights


def add_arguments(parser: argparse.ArgumentParser) -> None:
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--download", metavar="NAME", help="fetch the weights of this network")
    words = "store a weights file as those of this network"
    either.add_argument("--import", nargs=2, dest="imported", metavar=("NAME", "FILE"), help=words)


def run(options: argparse.Namespace) -> int:
    """Print a line for each network worth having, or where the weights that were asked for are now."""
    if options.download:
        print_line(str(download_weights(spec_of(options.download, has_weights=True))))
    elif options.imported:
        name, file = options.imported
        print_line(str(import_weights(spec_of(name, has_weights=True), Path(file).read_bytes())))
    else:
        for line in offers():
            print_line(line)
    return ACCEPTED


def offers() -> list[str]:
    """A line for each network worth having: what it is, and where it is or how to get it."""
    lines = []
    for name, offer in WORTH_HAVING.items():
        spec = spec_of(name, has_weights=True)
        facts = f"{offer.licence}; {offer.times:g} times the time of a photo; {offer.gain}"
        path = find_weights(spec)
        lines.append(f"{name} ({facts}): {path or f'{spec.download}, with weights --download {name}'}")
    return lines
