"""`evaluate`: teach a folder and measure how well one detector, or each of several, separates good from defect."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from inspect_core.cli import teaching_options, worker_options
from inspect_core.cli.console import ACCEPTED, path_argument, print_line, print_notes, print_table, progress_bar
from inspect_core.features.store import feature_store
from inspect_core.methods.registry import ALL
from inspect_core.recipe_format.output_paths import require_distinct_paths, require_own_file
from inspect_core.recipe_format.spreadsheet import table_bytes
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.runtime.progress import stage
from inspect_core.scoring.counts import counts_sentence
from inspect_core.study.evaluation import figures, outcomes, score_test_photos
from inspect_core.study.evaluation_scores import EvaluationScores
from inspect_core.study.scored_photo import UnscoredPhoto
from inspect_core.study.study import FittedStudy
from inspect_core.tuning.comparison_report import CSV_BEGINS, HTML_BEGINS, figures_of, html_of, lines_of, table_of
from inspect_core.tuning.detector_comparison import compare
from inspect_core.tuning.teaching import teach
from inspect_core.whole_part.product_check import OFF

TEACHING = 0.8
"""Fraction of the progress bar; judging takes the rest."""
FIGURES_BEGIN = b'[\n {\n  "live": '

MEASURED = ("image_auroc", "pixel_auroc", "aupro", "fpr95", "good_rejected_at_95_caught")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    teaching_options.add_options(parser)
    worker_options.add_options(parser)
    ks = "values of the (first) live parameter to measure (default: the current one)"
    parser.add_argument("--ks", type=int, nargs="+", help=ks)
    parser.add_argument(
        "--json", type=path_argument, help="JSON file for the figures; overwrites only a file of figures"
    )
    parser.add_argument("--compare", action="store_true", help="measure all detectors side by side, at their defaults")
    only = "with --compare: these only, separated by commas"
    parser.add_argument("--detectors", type=_detectors, default=ALL, help=only)
    parser.add_argument("--csv", type=path_argument, help="with --compare: file to write the table to")
    parser.add_argument("--report", type=path_argument, help="with --compare: write one HTML file with table and plots")


def run(options: argparse.Namespace) -> int:
    if options.compare and (options.ks or options.detector):
        raise ValueError("--compare cannot be combined with --ks or --detector; use --detectors")
    if not options.compare and (options.csv or options.report or options.detectors is not ALL):
        raise ValueError("--csv, --report and --detectors require --compare")
    require_distinct_paths([options.json, options.csv, options.report])
    for path, begins, subject in (
        (options.json, FIGURES_BEGIN, "a file of figures"),
        (options.csv, CSV_BEGINS, "a table of detectors"),
        (options.report, HTML_BEGINS.encode(), "a report"),
    ):
        if path:
            require_own_file(path, begins, subject)
    return _compare(options) if options.compare else _evaluate(options)


def _evaluate(options: argparse.Namespace) -> int:
    order = teaching_options.build_config(options, product_check=OFF)
    shown, photos = order.photos.test, order.photos
    if photos.limit_photos(order.seed):  # else the judged ones set the limit
        order = replace(order, photos=replace(photos, test=()))
    with worker_options.study_workers(options) as workers, progress_bar() as report:
        result = teach(order, feature_store(), stage(report, 0.0, TEACHING), workers)
        study = result.study
        moves, name = _moves(study, options.ks)
        lives = [study.live | move for move in moves]
        lives += () if study.live in lives else (study.live,)
        known = {*dict(study.skipped), *study.not_located}
        scores_by_move = score_test_photos(study, shown, lives, stage(report, TEACHING, 1.0))
    unscored = study.photo_features.unscored(("test", sample) for sample in shown)
    teaching_options.print_teaching_result(result)
    lost = [(photo, reason) for photo, reason in [*study.skipped, *study.not_located.items()] if photo not in known]
    print_notes(f"{photo} was not judged: {reason}" for photo, reason in lost)
    print(f"{name:>6} {'image AUROC':>12} {'pixel AUROC':>12} {'AUPRO':>12} {'FPR95':>12} {'good at 95%':>12}")
    rows = []
    for move, live, evaluated in zip(moves, lives, scores_by_move, strict=False):
        row = figures(evaluated, study.default_limits(**live), unscored)
        measured = {name: getattr(row, name) for name in MEASURED}
        print(f"{move.get(name, ''):>6}", *(f"{fraction:12.4f}" for fraction in measured.values()))
        rows.append({"live": live, **measured, "in_parts": counts_sentence(row.counts), **outcomes(row)})
    begun = scores_by_move[lives.index(study.live)]
    print_line(_sentence(study, begun, unscored))
    if changed := figures(begun, study.default_limits()).changed:
        print_line(changed.sentence())
    print_line("FPR95: share of the defects accepted by the limit that accepts 95% of the good parts; lower is better.")
    if options.json:
        write_figures(options.json, rows)
    return ACCEPTED


def _sentence(study: FittedStudy, evaluated: EvaluationScores, unscored: Sequence[UnscoredPhoto]) -> str:
    """What the suggested limits do at the live values, in parts; without other good photos, to their own."""
    none_good = not (np.any(~evaluated.defect) or any(photo.label == "good" for photo in unscored))
    if none_good:
        unscored = [*unscored, *(photo for photo in study.scored.unscored if photo.subset == "calibration")]
    evidence = evaluated.evidence(unscored)
    if none_good:
        evidence = replace(evidence.with_good(study.calibration_scores()), limits_set_here=True)
    return evidence.sentence(study.default_limits())


def _moves(study: FittedStudy, values: list[int] | None) -> tuple[list[dict[str, int]], str]:
    """The live values to measure at, and the name of the live parameter. Raises ValueError where it has none."""
    name = study.scored.views[0].live_parameter
    if values and not name:
        raise ValueError(f"{study.method} has no live parameter; omit --ks")
    return ([{name: value} for value in values or [study.live[name]]] if name else [{}]), name


def _compare(options: argparse.Namespace) -> int:
    order = teaching_options.build_config(options, product_check=OFF)
    with worker_options.study_workers(options) as workers, progress_bar() as report:
        comparison = compare(
            order, feature_store(), report, options.detectors, workers=workers, as_published=options.as_published
        )
    print_table(table_of(comparison))
    if len(comparison.rows) > 1:
        for line in comparison.reason().splitlines():
            print_line(line)
    print_notes(comparison.notes)
    if options.json:
        write_figures(options.json, figures_of(comparison))
    if options.csv:
        with atomic_replace(options.csv) as new:
            new.write_bytes(table_bytes(lines_of(comparison)))
    if options.report:
        _write(options.report, html_of(comparison, order))
    return ACCEPTED


def write_figures(path: Path, figures: list[dict]) -> None:
    """Write rows of figures, of which each has "live" as its first field, as JSON.

    Raises OutputPathError when something else stands at `path`, OSError when the disk is full or not writable.
    """
    require_own_file(path, FIGURES_BEGIN, "a file of figures")
    _write(path, json.dumps(figures, indent=1))


def _write(path: Path, text: str) -> None:
    with atomic_replace(path) as new:
        new.write_text(text, encoding="utf-8", newline="")


def _detectors(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(teaching_options.detector_argument(name.strip()) for name in text.split(",")))
