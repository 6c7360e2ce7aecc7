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
        look = first_look(samples, order, feature_store(), report)
    say_notes(f"{name} was skipped: {reason}" for name, reason in look.skipped)
    say(look.sentence())
    for seen in look.found:
        say(f"{seen.sample.name}: {' '.join(finding.sentence for finding in seen.findings)}")
    say("Most unusual first (score relative to the median):")
    for seen in look.photos[: max(options.most, 0)]:
        say(f"{seen.unlike:6.2f}  {seen.sample.name}")
    say("To exclude a photo: fit --leave-out NAME")
    return ACCEPTED
