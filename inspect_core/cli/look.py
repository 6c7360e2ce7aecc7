"""`look`: what stands out among the good photos of a folder, before they are learned."""

import argparse

from inspect_core.cli import teaching
from inspect_core.cli.console import ACCEPTED, bar, say
from inspect_core.guard.model import OFF
from inspect_core.tuning.first_look import first_look
from inspect_core.tuning.teaching import feature_store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    teaching.add_options(parser)
    parser.add_argument("--most", type=int, default=10, help="photos to name that only lie ahead of the others")


def run(options: argparse.Namespace) -> int:
    samples = teaching.samples_of(options)
    order = teaching.order_of(options, samples, guard=OFF)
    with bar() as report:
        look = first_look(samples, order, feature_store(), report)
    for name, reason in look.skipped:
        say(f"Note: {name} was skipped: {reason}")
    say(look.sentence())
    for seen in look.found:
        say(seen.sample.name)
        for finding in seen.findings:
            say(f"    {finding.sentence}")
    rest = [seen for seen in look.photos if not seen.findings][: max(options.most, 0)]
    if rest:
        say("The others, those least like the rest first (score over the median):")
    for seen in rest:
        say(f"{seen.unlike:6.2f}  {seen.sample.name}")
    if look.photos:
        say("Leave a photo out with: fit --leave-out NAME")
    return ACCEPTED
