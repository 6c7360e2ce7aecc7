"""`look`: list the good photos of a folder that stand out, before learning from them."""

import argparse

from inspect_core.cli import teaching_options
from inspect_core.cli.console import ACCEPTED, bar, say, say_notes
from inspect_core.features.store import feature_store
from inspect_core.tuning.photo_screening import first_look
from inspect_core.whole_part.product_check import OFF


def add_arguments(parser: argparse.ArgumentParser) -> None:
    teaching_options.add_options(parser)
    parser.add_argument("--most", type=int, default=20, help="number of photos to list, most unusual first")


def run(options: argparse.Namespace) -> int:
    samples = teaching_options.samples_of(options)
    order = teaching_options.order_of(options, samples, product_check=OFF)
    with bar() as report:
        screening = first_look(samples, order, feature_store(), report)
    say_notes(f"{name} was skipped: {reason}" for name, reason in screening.skipped)
    say(screening.sentence())
    for screened in screening.found:
        say(f"{screened.sample.name}: {' '.join(finding.sentence for finding in screened.findings)}")
    say("Most unusual first (score relative to the median):")
    for screened in screening.photos[: max(options.most, 0)]:
        say(f"{screened.unlike:6.2f}  {screened.sample.name}")
    say("To exclude a photo: fit --leave-out NAME")
    return ACCEPTED
