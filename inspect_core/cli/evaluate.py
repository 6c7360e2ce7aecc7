"""`evaluate`: teach a folder and measure how well one detector, or each of several, separates good from defect."""

import argparse

from inspect_core.cli import teaching, working
from inspect_core.cli.console import ACCEPTED, bar, path_argument, say
from inspect_core.cli.outputs import check_figures, write_figures, write_text
from inspect_core.guard.model import OFF
from inspect_core.judge.limits import in_parts
from inspect_core.package.place import check_own
from inspect_core.study.evaluation import evaluate, in_parts_of, truth_masks
from inspect_core.tuning.compare import compare
from inspect_core.tuning.comparison import ALL
from inspect_core.tuning.report import CSV_BEGINS, HTML_BEGINS, csv_of, figures_of, html_of, table_of
from inspect_core.tuning.teaching import feature_store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    teaching.add_options(parser)
    parser.add_argument(
        "--ks", type=int, nargs="+", help="values of the (first) live parameter to measure (default: the current one)"
    )
    parser.add_argument("--json", type=path_argument, help="file to write the figures to; replaces only such a file")
    parser.add_argument("--compare", action="store_true", help="measure all detectors side by side, at their defaults")
    parser.add_argument(
        "--detectors", type=_detectors, default=ALL, help="with --compare: these only, separated by commas"
    )
    parser.add_argument("--csv", type=path_argument, help="with --compare: file to write the table to")
    parser.add_argument("--report", type=path_argument, help="with --compare: write one HTML file with table and plots")


def run(options: argparse.Namespace) -> int:
    if options.compare and (options.ks or options.detector):
        raise ValueError("--compare takes neither --ks nor --detector; name detectors with --detectors")
    if not options.compare and (options.csv or options.report or options.detectors is not ALL):
        raise ValueError("--csv, --report and --detectors go with --compare; add it")
    if options.json:
        check_figures(options.json)
    return _compare(options) if options.compare else _evaluate(options)


def _evaluate(options: argparse.Namespace) -> int:
    study = teaching.taught(options, guard=OFF).study
    masks, name = truth_masks(study.results), study.results.views[0].live
    if options.ks and not name:
        raise ValueError(f"{study.method} has no live parameter; leave --ks out")
    print(f"{name:>6} {'image AUROC':>12} {'pixel AUROC':>12} {'AUPRO':>12} {'FPR95':>12}")
    figures = []
    moves = [{}] if not name else [{name: value} for value in options.ks or [study.live[name]]]
    for moved in moves:
        live = study.live | moved
        found = evaluate(study, study.default_limits(**live), masks, **live)
        fractions = (found.image_auroc, found.pixel_auroc, found.aupro, found.fpr95)
        print(f"{moved.get(name, ''):>6}", *(f"{fraction:12.4f}" for fraction in fractions))
        figures.append({"live": live, "image_auroc": found.image_auroc, "pixel_auroc": found.pixel_auroc,
                        "aupro": found.aupro, "fpr95": found.fpr95, "in_parts": in_parts(found.counts)})  # fmt: skip
    say(in_parts_of(study.results, study.scores(), study.default_limits()))
    if options.json:
        write_figures(options.json, figures)
    return ACCEPTED


def _compare(options: argparse.Namespace) -> int:
    if options.csv:
        check_own(options.csv, CSV_BEGINS.encode(), "a table of detectors")
    if options.report:
        check_own(options.report, HTML_BEGINS.encode(), "a report")
    order = teaching.order_of(options, guard=OFF)
    with working.study_workers(options) as workers, bar() as report:
        comparison = compare(order, feature_store(), report, options.detectors, workers=workers)
    table = table_of(comparison)
    widths = [max(map(len, (name, *cells))) for name, cells in table.items()]
    for line in (tuple(table), *zip(*table.values(), strict=True)):
        say("  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())
    if len(comparison.rows) > 1:
        say(f"Start with: {comparison.reason()}")
    if options.json:
        write_figures(options.json, figures_of(comparison))
    if options.csv:
        write_text(options.csv, csv_of(comparison))
    if options.report:
        write_text(options.report, html_of(comparison, order))
    return ACCEPTED


def _detectors(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(teaching.detector_argument(name.strip()) for name in text.split(",")))
