"""`screen`: list the good photos of a folder that stand out, before learning from them."""

import argparse

from inspect_core.cli import teaching_options
from inspect_core.cli.console import ACCEPTED, print_line, print_notes, progress_bar
from inspect_core.features.store import feature_store
from inspect_core.tuning.photo_screening import screen_photos
from inspect_core.whole_part.product_check import OFF


def add_arguments(parser: argparse.ArgumentParser) -> None:
    teaching_options.add_options(parser)
    parser.add_argument("--most", type=int, default=20, help="number of photos to list, most unusual first")


def run(options: argparse.Namespace) -> int:
    samples = teaching_options.load_dataset(options)
    order = teaching_options.build_config(options, samples, product_check=OFF)
    with progress_bar() as report:
        screening = screen_photos(samples, order, feature_store(), report)
    print_notes(f"{name} was skipped: {reason}" for name, reason in screening.skipped)
    print_line(screening.sentence())
    for screened in screening.unusual:
        print_line(f"{screened.sample.name}: {' '.join(finding.sentence for finding in screened.findings)}")
    print_line("Most unusual first (score relative to the median):")
    for screened in screening.photos[: max(options.most, 0)]:
        print_line(f"{screened.score_ratio:6.2f}  {screened.sample.name}")
    print_line("To exclude a photo: fit --leave-out NAME")
    return ACCEPTED
