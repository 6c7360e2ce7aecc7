"""What Loupe may cost, and the table in docs/COSTS.md that says how it does: measured figures beside their budgets."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import RESULTS
from inspect_core.methods.registry import LOOSE

MARKS = ("<!-- benchmarks -->", "<!-- /benchmarks -->")
LOUPE = "Loupe, localized Mahalanobis, tolerances off"
"""The contender of the race that does what PaDiM does."""
BUSY = 0.1
"""Share of the cores taken by others above which a figure is marked: it may be too slow by that much and more."""


@dataclass(frozen=True)
class Row:
    """One line of the table.

    what: in words; result and figure: the file and the path of keys in it; unit: as shown; budget: the most it may be,
    in that unit, on whatever machine, None where there is none; per: how many of the figure's own units make one of
    `unit`.
    """

    what: str
    result: str
    figure: str
    unit: str = "ms"
    budget: float | None = None
    per: float = 1.0


ROWS = (
    Row("backbone alone, one image", "inspection", "32x32.backbone_alone"),
    Row("backbone with its patches in one graph, 32 × 32", "inspection", "32x32.patches"),
    Row("distances, 32 × 32, k = 100", "inspection", "32x32.detector"),
    Row("map and score, 32 × 32", "inspection", "32x32.map"),
    Row("detector and map, 32 × 32", "inspection", "32x32.detector_and_map_to_backbone", "× backbone", 0.4),
    Row("from file to verdict, product check and defect types, 32 × 32", "inspection", "32x32.file_to_verdict"),
    Row("the same", "inspection", "32x32.file_to_verdict_to_backbone", "× backbone", 2.5),
    Row("the same, types by region", "inspection", "32x32.file_to_verdict_by_region_to_backbone", "× backbone"),
    Row("detector and map, 64 × 64", "inspection", "64x64.detector_and_map_to_backbone", "× backbone", 1.5),
    Row("from file to verdict, product check and defect types, 64 × 64", "inspection", "64x64.file_to_verdict"),
    Row("exported graph, localized, k = 100", "line", "mahalanobis.graph_to_backbone", "× backbone", 1.5),
    Row("exported graph, localized, k = 20", "line", "mahalanobis at k = 20.graph_to_backbone", "× backbone", 1.1),
    Row("exported graph, default of a new folder", "line", f"{LOOSE}.graph_to_backbone", "× backbone", 2.5),
    Row("verdict in the app, from pixels, one", "line", "mahalanobis.verdict_in_app_to_backbone", "× backbone", 2),
    Row("the same in the runner", "line", "mahalanobis.verdict_in_runner_to_backbone", "× backbone", 2),
    Row("verdict in the app, from pixels, default", "line", f"{LOOSE}.verdict_in_app_to_backbone", "× backbone", 2.3),
    Row("the same in the runner", "line", f"{LOOSE}.verdict_in_runner_to_backbone", "× backbone", 2.3),
    Row("its milliseconds in the runner", "line", f"{LOOSE}.verdict_in_runner"),
    Row("cold start of the runner, golden images included", "line", f"{LOOSE}.cold_start", "s", 2, 1000),
    Row("photos one at a time in the app, file to verdict", "batch", "one_at_a_time", "photos/s"),
    Row("the same by the runner, as a batch", "batch", "batch", "photos/s"),
    Row("JPEGs of a megapixel to a network that costs nothing, 2 processes", "feeding", "processes.2.rate", "photos/s"),
    Row("the same, against one process", "feeding", "two_to_one", "×"),
    Row("its CPU time in a process, a photo", "feeding", "processes.2.worker", "ms", 9),
    Row("its CPU time in the app's process, a photo", "feeding", "processes.2.main", "ms", 1),
    Row("forecast from these for 16 cores beside a GPU", "feeding", "forecast_photos_per_s", "photos/s"),
    Row("growth of memory over a batch of 1,000 photos", "batch", "memory.growth", "%", 5, 0.01),
    Row("station: trigger to valid result, median", "station", "trigger_to_result.median_ms"),
    Row("the same, 99 of 100 parts", "station", "trigger_to_result.p99_ms"),
    Row("the same, largest", "station", "trigger_to_result.largest_ms"),
    Row("of it the handshake, 99 of 100 parts", "station", "handshake.p99_ms", "ms", 5),
    Row(
        "parts that passed without being accepted, of 10,000 under 200 kills",
        "station",
        "passed_without_acceptance",
        "",
        0,
    ),
    Row("move of k, 100 photos, 32 × 32", "moving", "32x32.k", "ms", 150),
    Row("move of k, 100 photos, 64 × 64", "moving", "64x64.k", "ms", 150),
    Row("move of the limit, 100 photos", "moving", "32x32.limit", "ms", 150),
    Row("move of q (CoRP), 100 photos", "moving", "corp.q", "ms", 150),
    Row("move of q (kernel PCA), 100 photos", "moving", "kernel_pca.q", "ms", 150),
    Row("move of k, all that the page computes, limit set by hand", "moving", "page.limit_by_hand", "ms", 150),
    Row("key press on the limit to its overlay, in Chromium", "moving", "key_to_overlay", "ms", 60),
    Row("move of γ, heatmap of the shown photo, M = 512", "moving", "corp.preview_512_shown", "s", 0.3),
    Row("verdicts of all 100 photos", "moving", "corp.preview_512_all", "s", 5),
    Row("fit of all good photos", "moving", "corp.preview_512_fitted", "s"),
    Row("heatmap, verdicts and fit together, as moves of k", "moving", "corp.in_moves_of_k.preview_512_fitted", "×"),
    Row("move of γ, heatmap of the shown photo, M = 1,024", "moving", "corp.preview_1024_shown", "s", 1),
    Row("verdicts of all 100 photos, M = 1,024", "moving", "corp.preview_1024_all", "s", 5),
    Row("fit of all good photos, M = 1,024", "moving", "corp.preview_1024_fitted", "s"),
    Row(
        "heatmap, verdicts and fit together, as moves of k, M = 1,024",
        "moving",
        "corp.in_moves_of_k.preview_1024_fitted",
        "×",
    ),
    Row("move of γ, heatmap of the shown photo, M = 2,048", "moving", "corp.preview_2048_shown", "s", 1),
    Row("verdicts of all 100 photos, M = 2,048", "moving", "corp.preview_2048_all", "s", 12),
    Row("fit of all good photos, M = 2,048", "moving", "corp.preview_2048_fitted", "s"),
    Row(
        "heatmap, verdicts and fit together, as moves of k, M = 2,048",
        "moving",
        "corp.in_moves_of_k.preview_2048_fitted",
        "×",
    ),
    Row("move of σ, heatmap of the shown photo", "moving", "kernel_pca.preview_shown", "s", 1),
    Row("verdicts of all 100 photos, σ", "moving", "kernel_pca.preview_all", "s", 10),
    Row("fit of all good photos, σ", "moving", "kernel_pca.preview_fitted", "s"),
    Row("fit without backbone, 300 images, 32 × 32", "teaching", "32x32.fit", "s", 1),
    Row("fit without backbone, 300 images, 64 × 64", "teaching", "64x64.fit", "s", 4),
    Row("extraction", "teaching", "sample.extraction", "photos/s"),
    Row("teach a sample part, 100 photos", "teaching", "sample.teach", "s"),
    Row("teach its good photos, nothing chosen", "teaching", "default.teach", "s"),
    Row("fit all candidates to them, as was done before", "teaching", "default.compare", "s"),
    Row("teach 60 flanges, limits included", "race", f"flange.{LOUPE}.fit_to_padim", "× fit of PaDiM in anomalib", 1.2),
    Row("peak memory of a fit, 5,000 photos", "memory", "fit_peak_mb", "GB", 1.2, 1000 / 1.048576),
    Row("growth of that peak from 200 to 5,000 photos", "memory", "fit_growth", "%", 5, 0.01),
    Row("recipe, 32 × 32, float32", "recipe_size", "32x32.float32.folder_mb", "MB", 25),
    Row("recipe, 32 × 32, 16-bit", "recipe_size", "32x32.float16.folder_mb", "MB"),
    Row("recipe, 64 × 64, float32", "recipe_size", "64x64.float32.folder_mb", "MB", 90),
    Row("recipe, 64 × 64, 16-bit", "recipe_size", "64x64.float16.folder_mb", "MB"),
    Row(
        "largest change of a score by 16-bit storage",
        "recipe_size",
        "32x32.rounding.largest_relative_change",
        "%",
        None,
        0.01,
    ),
    Row("verdicts changed by 16-bit storage", "recipe_size", "32x32.rounding.flips", "photos"),
    Row("quadrics, m = 100, d = 128, 20,000 patches", "quadrics_costs", "headline.fit_s", "min", 5, 60),
    Row("first page", "start", "first_page_to_empty", "× an empty page that imports torch", 1.3),
    Row("the same", "start", "later.first_page", "s"),
    Row("first page, fresh workspace", "start", "first_start_s.first_page", "s"),
    Row("sample taught and on Inspect, fresh workspace", "start", "sample_to_network", "× network over its inputs", 4),
    Row("the same", "start", "first_start_s.sample_on_the_bench", "s"),
)


def read_results(folder: Path = RESULTS) -> dict[str, dict]:
    """What each file of results holds, by name; those of rows of the table only."""
    paths = {row.result: folder / f"{row.result}.json" for row in ROWS}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def table(results: Mapping[str, dict], rows: Iterable[Row] = ROWS) -> str:
    """The Markdown table, and under it on what machine and how busy it was."""
    lines = ["| what | measured: median (least to largest) | budget | |", "| --- | --- | --- | --- |"]
    for row in rows:
        measured = _measured(results.get(row.result), row)
        budget = "" if row.budget is None else f"{_figure(row.budget)} {row.unit}"
        if measured is None:
            lines.append(f"| {row.what} | not measured | {budget} | |")
            continue
        median, rest = measured
        mark = _busy_mark(results[row.result])
        outcome = _verdict(median, row.budget)
        lines.append(f"| {row.what} | {_figure(median)}{rest} {row.unit}{mark} | {budget} | {outcome} |")
    return "\n".join([*lines, "", *_machines(results)])


def refresh(document: str, contents: str, marks: tuple[str, str] = MARKS) -> str:
    """The document with `contents` between two marks. Raises ValueError when a mark is missing."""
    before, opening, rest = document.partition(marks[0])
    _, closing, after = rest.partition(marks[1])
    if not opening or not closing:
        raise ValueError(f"the document has no {marks[0]} and {marks[1]}; put both where the table belongs")
    return f"{before}{opening}\n{contents}\n{closing}{after}"


def _measured(result: dict | None, row: Row) -> tuple[float, str] | None:
    """Median in the row's unit and the spread in words, "" for a single figure; None when it was not measured."""
    value: object = (result or {}).get("figures")
    for key in row.figure.split("."):
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    if not isinstance(value, dict):
        return value / row.per, ""
    median, least, largest = (
        next(number for name, number in value.items() if name.startswith(f"{which}_")) / row.per
        for which in ("median", "least", "largest")
    )
    return median, f" ({_figure(least)} to {_figure(largest)})"


def _verdict(median: float, budget: float | None) -> str:
    if budget is None:
        return ""
    return "met" if median <= budget else f"**missed**, {_figure(median / budget)} × the budget"


def _busy_mark(result: dict) -> str:
    return " *" if (result["machine"].get("others") or 0) > BUSY else ""


def _machines(results: Mapping[str, dict]) -> list[str]:
    lines: dict[str, list[str]] = {}
    for name, result in results.items():
        where = result["machine"]
        versions = ", ".join(f"{package} {version}" for package, version in where["versions"].items())
        line = f"{where['processor']}, {where['cores']} cores, {where['system']}, {where['when'][:10]}; {versions}"
        lines.setdefault(line, []).append(name)
    table = [
        f"Measured on {line}" + (f" ({', '.join(names)})." if len(lines) > 1 else ".") for line, names in lines.items()
    ]
    if any(_busy_mark(result) for result in results.values()):
        table += ["", f"\\* Others used more than {BUSY:.0%} of the cores meanwhile; quiet, the figure is smaller."]
    return table


def _figure(value: float) -> str:
    """Three digits, without an exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 0.1 else f"{value:.3g}"
