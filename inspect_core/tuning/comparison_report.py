"""A comparison as rows of figures, as a table to read, as CSV, and as one HTML file that opens without a network."""

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

import numpy as np
from PIL import Image
from plotly.graph_objects import Figure

from inspect_core.images import heatmap
from inspect_core.images.boxes import downscale
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.line.histogram import stacked
from inspect_core.line.html_page import page, webp
from inspect_core.plots import comparison_plots as plots
from inspect_core.plots.chart_theme import LIGHT, ChartTheme
from inspect_core.plots.svg import svg
from inspect_core.recipe_format.spreadsheet import Cell, table_bytes
from inspect_core.runtime.wording import pluralise
from inspect_core.scoring.counts import UnscoredCounts, counts_sentence
from inspect_core.scoring.metrics import roc_curve
from inspect_core.study.evaluation import Evaluation, outcomes
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.comparison_result import Comparison, ComparisonRow, Estimate
from inspect_core.verdict import Limits, Verdict, Visibility, assemble

CSV_BEGINS = table_bytes([("detector", "title", "as_published", "chosen")]).removesuffix(b"\r\n")
HTML_BEGINS = "<!doctype html>\n<!-- Detectors compared by Loupe -->\n"
SHARES = {"Synthetic defects": "synthetic", "Known defects": "known", "Image AUROC": "image_auroc", "AUPRO": "aupro"}
FIGURES = ("quality", *SHARES.values())
COLUMN_HELP = {
    "False rejects": "good parts rejected at the suggested limits",
    "Escapes": "defective parts accepted at the suggested limits",
    "Detected": "defective parts not accepted, by whether a region above the review limit overlaps the true defect",
    "Repeatability": "parts whose verdict changes on a repeat photo within the tolerances",
    "Synthetic defects": (
        "how clearly the detector separates synthetic defects from the good photos they were pasted into; 100% is "
        "perfect"
    ),
    "Known defects": "the same for the validation defects; no other figure uses them",
    "Image AUROC": "the probability that a defective part scores higher than a good one; 50% is guessing",
    "AUPRO": "how well the anomaly map covers the true defect areas, up to a pixel false-positive rate of 30%",
    "Fit": "training time, without feature extraction",
    "Verdict": "time from photo file to patch scores",
    "Size": "size of the fitted model in the recipe",
}
"""Meaning of the table's columns; brackets hold 95 % intervals, and a value inside the best one's interval is a tie."""
PARTS = 4
SIDE = 240


@dataclass(frozen=True, eq=False)
class DetectorVerdict:
    """One part under one detector: its verdict, and the reduced photo with the heatmap scaled by the limits."""

    row: ComparisonRow
    limits: Limits
    verdict: Verdict
    picture: Image.Image


def figures_of(comparison: Comparison) -> list[dict]:
    """The figures of every row as JSON can hold them, the live parameters first; None for what is not known."""
    rows = []
    for row in comparison.rows:
        evaluation = row.evaluation
        figures: dict[str, Estimate] = {name: getattr(row, name) for name in FIGURES}
        rows.append(
            {
                "live": row.scored.live,
                "detector": row.detector,
                "title": row.title,
                "as_published": row.as_published,
                "chosen": row is comparison.chosen(),
                **{name: _number(estimate.value) for name, estimate in figures.items()},
                "pixel_auroc": evaluation and _number(evaluation.pixel_auroc),
                "fpr95": evaluation and _number(evaluation.fpr95),
                "good_rejected_at_95_caught": evaluation and _number(evaluation.good_rejected_at_95_caught),
                "intervals": {
                    name: [_number(estimate.low), _number(estimate.high)] for name, estimate in figures.items()
                },
                "limits": row.limits and asdict(row.limits),
                "in_parts": evaluation and counts_sentence(evaluation.counts),
                **(outcomes(evaluation) if evaluation else {}),
                "fit_seconds": row.fit_seconds,
                "verdict_ms": _number(row.verdict_ms),
                "arrays_mb": row.arrays_mb,
            }
        )
    return rows


def lines_of(comparison: Comparison) -> list[list[Cell]]:
    """The heads, then a line per detector: the figures of `figures_of`, None for what is not known."""
    lines = []
    for row in figures_of(comparison):
        live, intervals = row.pop("live"), row.pop("intervals")
        limits = row.pop("limits") or {"review": None, "reject": None}
        ends = {
            f"{name}_{end}": interval[i]
            for name, interval in intervals.items()
            for i, end in enumerate(("low", "high"))
        }
        live = " ".join(f"{name}={value}" for name, value in live.items())
        lines.append(row | ends | limits | {"live": live})
    return [list(lines[0]), *(list(line.values()) for line in lines)]


def table_of(
    comparison: Comparison, current: str = "", rows: Sequence[ComparisonRow] | None = None
) -> dict[str, list[str]]:
    """The table to read: cells by column, rows in order; a figure that no photo can give has no column.

    current: the title of the detector on the bench, if any; rows: those shown, by default all.
    """
    rows = comparison.rows if rows is None else rows
    table = {"Detector": [row.title for row in rows]}
    marks = {comparison.chosen().title: ["recommended"]}
    marks.setdefault(current, []).append("in use")
    table["Choice"] = [", ".join(marks.get(row.title, ())) for row in rows]
    counted = [{} if row.evaluation is None else _counted(row.evaluation) for row in rows]
    for heading in dict.fromkeys(heading for cells in counted for heading in cells):
        table[heading] = [cells.get(heading, "") for cells in counted]
    for heading, name in SHARES.items():
        estimates = [getattr(row, name) for row in rows]
        if not all(math.isnan(estimate.value) for estimate in estimates):
            marks_of = dict(zip(comparison.rows, comparison.tie_marks(name), strict=True))
            table[heading] = list(map(_cell, estimates, [marks_of[row] for row in rows]))
    table["Fit"] = [f"{row.fit_seconds:.1f} s" for row in rows]
    table["Verdict"] = [f"{row.verdict_ms:.0f} ms" if math.isfinite(row.verdict_ms) else "" for row in rows]
    table["Size"] = [f"{row.arrays_mb:.1f} MB" for row in rows]
    return table


def _counted(evaluation: Evaluation) -> dict[str, str]:
    """The cells of a row that count parts, by column."""
    count = evaluation.counts
    changed = evaluation.changed
    cells = dict[str, str]()
    if count.good_total:
        aside = _aside(count.good_reviewed, count.good_unscored)
        cells["False rejects"] = f"{count.good_rejected} of {count.good_total} good{aside}"
    if count.defects_total:
        aside = _aside(count.defects_reviewed, count.defects_unscored)
        cells["Escapes"] = f"{count.defects_missed} of {count.defects_total} defects{aside}"
    if count.with_mask:
        cells["Detected"] = f"{count.caught_at_defect} at the defect, {count.caught_elsewhere} elsewhere"
    if changed is not None:
        cells["Repeatability"] = f"{changed.changed} of {changed.total} change"
    return cells


def curves(rows: Sequence[ComparisonRow], theme: ChartTheme) -> dict[str, tuple[str, Figure]]:
    """(title, figure) of ROC and PRO curves on the test photos, a line per row; none without such photos."""
    roc = {}
    for row in rows:
        good, defects = judged_scores(row)
        if len(good) and len(defects):
            truth = np.repeat([False, True], [len(good), len(defects)])
            roc[row.title] = roc_curve(np.concatenate([good, defects]), truth)
    drawn = {}
    if roc:
        figure = plots.rates(roc, theme, x="good parts above the limit", y="defects above the limit")
        drawn["ROC"] = "Parts: defects caught against good parts rejected", figure
    if pro := {row.title: row.pro for row in rows if row.pro is not None}:
        figure = plots.rates(pro, theme, x="good pixels above the limit", y="defect area covered", most=0.3)
        drawn["PRO"] = "Pixels: defect area covered against false alarms", figure
    return drawn


def judged_scores(row: ComparisonRow) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the good and of the defective test photos."""
    scores = row.scored.scores()
    judge = row.scored.of_subset("test")
    good, defect = row.scored.good_and_defect()
    return scores[judge & good], scores[judge & defect]


def most_disputed(comparison: Comparison) -> list[int]:
    """Positions of the test photos: first those on which the verdicts of the detectors differ, then defects."""
    scored = comparison.rows[0].scored
    judging = [row.evidence.ranks(row.limits) for row in comparison.rows if row.limits is not None]
    judge = np.flatnonzero(scored.of_subset("test")).tolist()

    def rank(i: int) -> tuple:
        verdicts = {int(ranks[i]) for ranks in judging}
        return -len(verdicts), not scored.photos[i].is_defect, i

    return sorted(judge, key=rank)


def side_by_side(rows: Sequence[ComparisonRow], position: int, side: int = SIDE) -> list[DetectorVerdict]:
    """One photo, reduced to `side` pixels, under every detector of these with limits.

    Raises ImageError for a photo that can no longer be read.
    """
    photo = rows[0].scored.photos[position]
    pixels = downscale(read(photo.path, photo.depth).pixels, side)
    verdicts = []
    for row in rows:
        if (limits := row.limits) is None:
            continue
        view = Visibility.from_placement(photo.placed, row.scored.size, row.scored.areas)
        verdict = assemble(row.scored.map(position), limits, photo.placed, area=row.scored.live["area"], view=view)
        typical_score = min(row.scored.typical_score(), limits.review)
        verdicts.append(
            DetectorVerdict(
                row,
                limits,
                verdict,
                heatmap.overlay(pixels, verdict.photo_map, limits.review, typical_score=typical_score),
            )
        )
    return verdicts


def in_words(shown: DetectorVerdict) -> str:
    """The verdict with the score and the limits it was compared with."""
    verdict, limits = shown.verdict, shown.limits
    return f"{verdict.verdict}: score {verdict.score:.3g}, review {limits.review:.3g}, reject {limits.reject:.3g}"


def html_of(comparison: Comparison, order: TeachingConfig) -> str:
    """The whole comparison as one page: pictures and figures are in it, names from outside only as text."""
    columns = table_of(comparison)
    photos = order.photos
    drawn = curves(comparison.rows, LIGHT).values()
    return page(
        "tuning/report.html",
        {
            "Product": order.product,
            "Photos": (
                f"{pluralise(len(photos.train), 'training photo')}, "
                f"{pluralise(len(photos.calibration), 'calibration photo')}, "
                f"{pluralise(len(photos.validation), 'validation defect')}, "
                f"{pluralise(len(photos.test), 'test photo')}"
            ),
            "Network": (
                f"{order.backbone}, input {order.size[0]} × {order.size[1]} px, grid {order.grid[0]} × "
                f"{order.grid[1]}, seed {order.seed}"
            ),
            "Trial": comparison.basis,
            "Report created": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        },
        begins=HTML_BEGINS,
        title=f"Detectors compared on {order.product}",
        reason=comparison.reason(),
        heads=columns,
        rows=zip(*columns.values(), strict=True),
        glossary={name: words for name, words in COLUMN_HELP.items() if name in columns},
        curves=[svg(figure, LIGHT, width=660, height=340, legend=280) for _, figure in drawn],
        scores={row.title: drawn for row in comparison.rows if (drawn := _histogram(row))},
        parts=_parts(comparison),
        in_words=in_words,
        webp=webp,
    )


def _histogram(row: ComparisonRow) -> str:
    good, defects = judged_scores(row)
    if row.limits is None or not len(good) + len(defects):
        return ""
    groups = [("good", LIGHT.good, good), ("defect", LIGHT.defect, defects)]
    return stacked(groups, (row.limits.review, row.limits.reject), width=380, height=220)


def _parts(comparison: Comparison) -> Iterator[tuple[ScoredPhoto, list[DetectorVerdict]]]:
    for position in most_disputed(comparison)[:PARTS]:
        with contextlib.suppress(ImageError):  # a photo that has gone
            yield comparison.rows[0].scored.photos[position], side_by_side(comparison.rows, position)


def _cell(estimate: Estimate, standing: str) -> str:
    if math.isnan(estimate.value):
        return ""
    interval = f"{100 * estimate.value:.1f}% ({100 * estimate.low:.0f} to {100 * estimate.high:.0f})"
    return f"{interval} {standing}".rstrip()


def _aside(reviewed: int, unscored: UnscoredCounts) -> str:
    return "".join(f", {words}" for words in ([f"{reviewed} to review"] if reviewed else []) + unscored.clauses())


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
