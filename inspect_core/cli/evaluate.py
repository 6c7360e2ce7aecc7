"""`evaluate`: teach a folder and measure how well it separates good from defect."""

import argparse

from inspect_core.cli import teaching
from inspect_core.cli.console import ACCEPTED, path_argument, say
from inspect_core.cli.outputs import check_figures, write_figures
from inspect_core.guard.model import OFF
from inspect_core.judge.limits import in_parts
from inspect_core.study.evaluation import evaluate, in_parts_of, truth_masks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    teaching.add_options(parser)
    parser.add_argument(
        "--ks", type=int, nargs="+", help="values of the (first) live parameter to measure; the one in force otherwise"
    )
    parser.add_argument("--json", type=path_argument, help="write the figures there; replaces nothing but such figures")


def run(options: argparse.Namespace) -> int:
    if options.json:
        check_figures(options.json)
    study = teaching.taught(options, guard=OFF).study
    masks, name = truth_masks(study.scored), study.scored.views[0].live
    if options.ks and name is None:
        raise ValueError(f"{study.method} has no live parameter; leave --ks out")
    print(f"{name or '':>6} {'image AUROC':>12} {'pixel AUROC':>12} {'AUPRO':>12} {'FPR95':>12}")
    figures = []
    for value in options.ks or [study.live.get(name)]:
        live = study.live | ({name: value} if name else {})
        found = evaluate(study, study.default_limits(**live), masks, **live)
        fractions = (found.image_auroc, found.pixel_auroc, found.aupro, found.fpr95)
        print(f"{value or '':>6}", *(f"{fraction:12.4f}" for fraction in fractions))
        figures.append({"live": live, "image_auroc": found.image_auroc, "pixel_auroc": found.pixel_auroc,
                        "aupro": found.aupro, "fpr95": found.fpr95, "in_parts": in_parts(found.counts)})  # fmt: skip
    say(in_parts_of(study.scored, study.scores(), study.default_limits()))
    if options.json:
        write_figures(options.json, figures)
    return ACCEPTED
