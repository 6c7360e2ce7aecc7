"""Downloads of the selection on History: a table for a spreadsheet, and one HTML page that opens without a network."""

import math
from collections.abc import Sequence
from datetime import datetime
from functools import partial

import numpy as np
import streamlit as st

from inspect_core.audit.changes import describe_entry
from inspect_core.audit.entry import LogEntry
from inspect_core.audit.inspections import LoggedInspection, counts, defect_types, verdicts_at_limits
from inspect_core.audit.life_cycle import approval
from inspect_core.audit.log import AuditLog
from inspect_core.line.html_page import page
from inspect_core.plots import history_plots as plots
from inspect_core.plots.chart_theme import LIGHT
from inspect_core.plots.svg import svg
from inspect_core.recipe_format.spreadsheet import Cell
from inspect_core.runtime.wording import pluralise
from inspect_core.ui import data_table, shell
from inspect_core.ui.history.history_overview import MOST_TYPES, STEPS, causes, examples, series
from inspect_core.ui.history.selection import MAX_INSPECTIONS, Selection, local
from inspect_core.verdict import ALL_VERDICTS, VERDICT_PHRASES

OF_INSPECTION = (
    *("product", "recipe", "release", "name", "digest", "score", "verdict", "reason", "review", "reject", "area"),
    *("defect_type", "product_check", "source", "user"),
)
COLUMNS = ("entry", "time", *OF_INSPECTION, "operator_verdict", "operator", "operator_reason")
BEGINS = "<!doctype html>\n<!-- A history told by Loupe -->\n"
PICTURES = 3
MOST_ROWS = 2000
"""Parts in the page's table, those not accepted first; the CSV has all."""
DIGEST = (
    "The last digest seals all earlier entries. Record it somewhere else to prove later that none was changed or "
    "removed: python -m inspect_core verify --noted DIGEST. The report shows it in full."
)


def downloads(selection: Selection) -> None:
    """Show the selection as files, made on request."""
    row = st.container(horizontal=True, vertical_alignment="center")
    data_table.offer_download(row, partial(lines_of, selection), "history")
    data_table.offer_report(row, partial(html_of, selection), "history.html")
    number, digest = selection.head
    entries = "1 log entry" if number == 1 else f"{number:,} log entries"
    row.caption(f"{entries}, last digest {shell.escape(digest[:12])}", help=DIGEST)
    if selection.short:
        read = f"Only the latest {MAX_INSPECTIONS:,} inspections of this period are shown"
        st.warning(f"{read}; choose a shorter period to see the others.")


def lines_of(selection: Selection) -> list[Sequence[Cell]]:
    """The cells of each inspection, latest first, under COLUMNS; time in UTC."""
    return [COLUMNS, *map(_line, selection.inspections)]


def html_of(selection: Selection) -> str:
    """The shift at a glance, the changes, and the parts, those not accepted first."""
    inspections = selection.inspections
    counts_text = ", ".join(
        f"{count:,} {VERDICT_PHRASES[word]}" for word in ALL_VERDICTS if (count := counts(inspections)[word])
    )
    figure, left_out = _drawn_scores(inspections)
    first = sorted(inspections, key=lambda inspection: inspection.final_verdict == "accept")[:MOST_ROWS]
    return page(
        "ui/history/report.html",
        {
            "Selection": selection.words,
            "Recipes": _recipes(inspections),
            "Audit log": f"{pluralise(selection.head[0], 'entry', 'entries')}; last digest {selection.head[1]}",
            "Report created": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        },
        begins=BEGINS,
        title="History",
        inspected=f"{pluralise(len(inspections), 'part')} inspected: {counts_text}."
        if inspections
        else "No parts were inspected.",
        found=inspections,
        causes=causes(inspections),
        figure=figure,
        left_out=left_out,
        types=defect_types(inspections),
        counted=pluralise,
        examples=examples,
        pictures=PICTURES,
        most_types=MOST_TYPES,
        notches=_notches(inspections),
        changes=[_change(entry) for entry in selection.changes],
        parts=map(_cells, first),
        left=len(inspections) - len(first),
    )


def _recipes(inspections: Sequence[LoggedInspection]) -> str:
    """The versions that inspected these parts, each with its state and who gave it."""
    products = {inspection.recipe: inspection.product for inspection in inspections}
    with AuditLog.open() as log:
        return "; ".join(f"{products[digest]} {digest[:12]}, {approval(log, digest)}" for digest in products)


def _change(entry: LogEntry) -> list[str]:
    reason = str(entry.facts.get("reason") or "")
    return [entry.time[:19], entry.user, entry.kind, describe_entry(entry), reason, entry.product, entry.recipe[:12]]


def _line(inspection: LoggedInspection) -> list[str | float | None]:
    override = inspection.override
    operator = (
        ["", "", ""]
        if override is None
        else [inspection.final_verdict, override.user, str(override.facts.get("reason"))]
    )
    values = [getattr(inspection, name) for name in OF_INSPECTION]
    recorded = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    return [inspection.number, inspection.moment.isoformat(timespec="milliseconds"), *recorded, *operator]


def _cells(inspection: LoggedInspection) -> list[str]:
    operator = (
        ""
        if inspection.override is None
        else f"{VERDICT_PHRASES[inspection.final_verdict]}: {inspection.override.facts.get('reason')}"
    )
    score = "" if inspection.score is None else f"{inspection.score:.4g}"
    limit = "" if math.isnan(inspection.reject) else f"{inspection.reject:.4g}"
    when = inspection.moment.isoformat(sep=" ")[:19]
    return [
        when,
        inspection.name,
        VERDICT_PHRASES[inspection.verdict],
        score,
        limit,
        inspection.defect_type,
        inspection.reason,
        operator,
    ]


def _drawn_scores(inspections: list[LoggedInspection]) -> tuple[str, str]:
    """The figure, and a sentence on the parts left out of it; each may be ""."""
    drawn, scores, limits, unit, left_out = series(inspections)
    if not drawn:
        return "", left_out
    first = drawn[0].moment
    hours = [(inspection.moment - first).total_seconds() / 3600 for inspection in drawn]
    words = [inspection.final_verdict for inspection in drawn]
    names = [""] * len(drawn)
    figure = plots.scores_over_time(np.array(hours), scores, words, limits, names, LIGHT, unit=unit)
    last = max(*hours, 0.01)
    begin = local(first).strftime("%Y-%m-%d %H:%M")
    figure.update_xaxes(title=f"hours since {begin}", range=[-0.01 * last, 1.01 * last])
    return svg(figure, LIGHT, width=1100, height=340, legend=140), left_out


def _notches(inspections: list[LoggedInspection]) -> tuple[list[str], list[list[str]]]:
    """The heads and rows of the table of other limits."""
    by_step = verdicts_at_limits(inspections)
    rows = [[name, *(f"{by_step[step][word]:,}" for word in ALL_VERDICTS)] for step, name in STEPS.items()]
    return ["Limit", *(VERDICT_PHRASES[word].capitalize() for word in ALL_VERDICTS)], rows
