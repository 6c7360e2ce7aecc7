"""A batch as one HTML file: counts in parts, the scores, the worst parts with their heatmaps, the table."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from inspect_core.audit.changes import limits_in_words
from inspect_core.images import heatmap
from inspect_core.images.boxes import downscale
from inspect_core.inspection import Inspection
from inspect_core.line import confusion
from inspect_core.line.common_cause import common_causes
from inspect_core.line.histogram import histogram
from inspect_core.line.html_page import page, webp
from inspect_core.line.inspector import Inspector
from inspect_core.line.photo_inspection import inspect_photo
from inspect_core.recipe_format.output_paths import require_own_file
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.verdict import ALL_VERDICTS, VERDICT_PHRASES, Limits

BEGINS = "<!doctype html>\n<!-- A batch judged by Loupe -->\n"
WORST = 12
SIDE = 240
MOST_ROWS = 5000
"""Rows of the report's table, the worst ones; the CSV has all."""


def check_report(path: Path) -> None:
    """Raise OutputPathError, naming it, when there is a file at `path` that is not a report of a batch."""
    require_own_file(path, BEGINS.encode(), "a report of a batch")


def write_report(
    path: Path,
    inspector: Inspector,
    rows: Sequence[Inspection],
    pictures: Mapping[str, bytes],
    approval: str,
    folder: str = "",
) -> None:
    """Write the report; pictures: WebP of the worst parts by name; approval: `Record.approval`, "" without a record;
    folder: of the photos.

    Raises OutputPathError as `check_report` does, OSError when the disk is full or not writable.
    """
    check_report(path)
    with atomic_replace(path) as new:
        new.write_text(html_of(inspector, rows, pictures, approval, folder), encoding="utf-8", newline="")


def html_of(
    inspector: Inspector,
    rows: Sequence[Inspection],
    pictures: Mapping[str, bytes],
    approval: str = "",
    folder: str = "",
) -> str:
    """The report, as `write_report` writes it."""
    ended = rows[-1].time[:16].replace("T", " ")
    first = sorted(rows, key=lambda row: (-ALL_VERDICTS.index(row.verdict), -(row.score or 0)))[:MOST_ROWS]
    truths, truth = confusion.table_of(rows), confusion.escape_sentence(rows)
    return page(
        "line/report.html",
        {
            "Product": inspector.product,
            "Recipe": inspector.digest[:12],
            "State of the recipe": approval,
            "Export": f"release {inspector.release[:12]}" if inspector.release else "",
            "Limits": _limits(rows[-1]),
            "Folder": folder,
            "Inspected": f"{ended} UTC, {inspector.engine}",
        },
        begins=BEGINS,
        title=f"{inspector.product}: {len(rows):,} photos",
        in_parts=batch_sentence(rows),
        causes=common_causes(rows),
        truth=truth,
        truths=list(truths),
        confused=zip(*truths.values(), strict=True),
        histogram=histogram(rows),
        pictures=[(row, pictures[row.name]) for row in worst_rows(rows) if row.name in pictures],
        in_words=in_words,
        heads=(
            *("Name", "Verdict", *(["Known as"] if truth else []), "Score", "Percentile among good parts"),
            *("Defect type", "Regions", "Reason"),
        ),
        rows=[_cells(row, with_truth=bool(truth)) for row in first],
        left=len(rows) - len(first),
    )


def batch_sentence(rows: Sequence[Inspection]) -> str:
    """The counts in a sentence: "Accepted 95 of 100; 3 to review, 1 rejected, 1 not judged.", and why parts are
    to review that their score alone would accept.
    """
    counts = Counter(row.verdict for row in rows)
    others = ", ".join(f"{counts[word]:,} {VERDICT_PHRASES[word]}" for word in ALL_VERDICTS[1:] if counts[word])
    return " ".join(
        [f"Accepted {counts['accept']:,} of {len(rows):,}{'; ' + others if others else ''}.", *review_reasons(rows)]
    )


def review_reasons(rows: Sequence[Inspection]) -> list[str]:
    """A sentence for each reason why parts are to review although their score is below the limit."""
    reasons = Counter(row.reason for row in rows if row.decided_by is row.never_accepted)
    return [f"{count:,} to review whatever the score: {reason}." for reason, count in reasons.most_common()]


def worst_rows(rows: Sequence[Inspection]) -> list[Inspection]:
    """The judged photos of the highest scores."""
    return sorted((row for row in rows if row.score is not None), key=lambda row: -(row.score or 0.0))[:WORST]


def pictures_of(inspector: Inspector, rows: Sequence[Inspection], photos: Mapping[str, Path]) -> dict[str, bytes]:
    """The worst parts, drawn, by name: read and judged once more. photos: path by name."""
    return {row.name: drawn for row in worst_rows(rows) if (drawn := picture_of(inspector, row.name, photos[row.name]))}


def picture_of(inspector: Inspector, name: str, path: Path, *, side: int = SIDE, digest: str = "") -> bytes | None:
    """The photo with its heatmap, reduced, as WebP: read and judged once more; None when it no longer can be.

    digest: that its pixels must have; "" takes any.
    """
    inspected = inspect_photo(inspector, name, path)
    is_changed = bool(digest) and inspected.row.digest != digest
    if inspected.picture is None or (verdict := inspected.verdict) is None or is_changed:
        return None
    pixels = downscale(inspected.picture.pixels, side)
    return webp(heatmap.overlay(pixels, verdict.photo_map, inspected.row.review, left_out=verdict.photo_uninspected))


def in_words(row: Inspection) -> str:
    """A row under its picture: the verdict, the score, the defect type or the reason."""
    score = "" if row.score is None else f", score {_number(row.score, '.3g')}"
    more = row.defect_type or row.reason
    return f"{row.verdict}{score}{', ' + more if more else ''}"


def _limits(row: Inspection) -> str:
    """Those in force, "" where they are no limits."""
    try:
        return limits_in_words(Limits(row.review, row.reject))
    except (ValueError, TypeError):
        return ""


def _cells(row: Inspection, *, with_truth: bool) -> tuple[str, ...]:
    """A line of the table; with the truth also whether the verdict is wrong."""
    share = _number(row.percentile_among_good, ".0f", " %")
    score, regions = _number(row.score, ".4g"), _number(row.regions, "d")
    truth = [f"{row.truth}{confusion.error_mark(row)}"] if with_truth else []
    return row.name, row.verdict, *truth, score, share, row.defect_type, regions, row.reason


def _number(value: float | None, form: str, unit: str = "") -> str:
    if value is None:
        return ""
    return f"{value:{form}}{unit}" if abs(value) <= sys.float_info.max else f"beyond ±{sys.float_info.max:.0e}"
