"""Downloads of the selection on History: a table for a spreadsheet, and one HTML page that opens without a network."""

from datetime import datetime

import numpy as np
import streamlit as st

from inspect_core.audit.changes import in_words
from inspect_core.audit.inspections import NOTCH, Inspection, counts, defect_types, notches
from inspect_core.images.samples import counted
from inspect_core.line.html_page import page
from inspect_core.line.spreadsheet import cell
from inspect_core.package.csv_text import csv_text
from inspect_core.plots import history as plots
from inspect_core.plots.svg import svg
from inspect_core.plots.theme import LIGHT
from inspect_core.ui import shell
from inspect_core.ui.history.panels import MOST_TYPES, examples, series
from inspect_core.ui.history.selection import MOST, Selection, local
from inspect_core.verdict import OUTCOMES, SPOKEN

COLUMNS = (
    "entry", "time", "product", "recipe", "release", "name", "digest", "score", "verdict", "reason", "review", "reject",
    "area", "kind", "product_check", "source", "user", "operator_verdict", "operator", "operator_reason",
)  # fmt: skip
BEGINS = "<!doctype html>\n<!-- A history told by Loupe -->\n"
PICTURES = 3
MOST_ROWS = 2000
"""Parts in the page's table, those not accepted first; the CSV has all."""
DIGEST = (
    "The digest covers every entry before it. Note it elsewhere to prove later that none was changed or removed: "
    "python -m inspect_core verify --noted DIGEST. The report gives it in full."
)


def downloads(selection: Selection) -> None:
    """The selection as files, made on request."""
    row = st.container(horizontal=True, vertical_alignment="center")
    row.download_button(
        "Table (CSV)", lambda: csv_of(selection), file_name="history.csv", mime="text/csv", key="history_csv",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    row.download_button(
        "Report (HTML)", lambda: html_of(selection), file_name="history.html", mime="text/html",
        key="history_html", icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    number, digest = selection.head
    row.caption(f"Entries in the log: {number:,}, last digest {shell.plain(digest[:12])}", help=DIGEST)
    if selection.short:
        st.warning(
            f"Only the latest {MOST:,} inspections of this period are read; choose a shorter period for the others."
        )


def csv_of(selection: Selection) -> str:
    """A line per inspection, the latest first, under COLUMNS; time in UTC; spreadsheets run no formula from it."""
    return csv_text([COLUMNS, *([cell(value) for value in _line(one)] for one in selection.inspections)])


def html_of(selection: Selection) -> str:
    """The shift at a glance, the changes, and the parts, those not accepted first."""
    found = selection.inspections
    said = ", ".join(f"{count:,} {SPOKEN[word]}" for word in OUTCOMES if (count := counts(found)[word]))
    figure, left_out = _drawn_scores(found)
    first = sorted(found, key=lambda one: one.final == "accept")[:MOST_ROWS]
    return page(
        "ui/history/report.html",
        begins=BEGINS,
        title="History",
        selection=selection,
        now=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        inspected=f"{counted(len(found), 'part')} inspected: {said}." if found else "No part was inspected.",
        found=found,
        figure=figure,
        left_out=left_out,
        types=defect_types(found),
        counted=counted,
        examples=examples,
        pictures=PICTURES,
        most_types=MOST_TYPES,
        notches=_notches(found),
        changes=[
            [entry.time[:19], entry.user, entry.kind, in_words(entry), str(entry.facts.get("reason") or ""),
             entry.product, entry.recipe[:12]]
            for entry in selection.changes
        ],
        parts=map(_cells, first),
        left=len(found) - len(first),
    )  # fmt: skip


def _line(one: Inspection) -> list[str | float | None]:
    said = one.overridden
    operator = ["", "", ""] if said is None else [one.final, said.user, str(said.facts.get("reason"))]
    return [
        one.number, one.time.isoformat(timespec="milliseconds"), one.product, one.recipe, one.release, one.name,
        one.digest, one.score, one.verdict, one.reason, one.review, one.reject, one.area, one.kind,
        one.product_check, one.source, one.user, *operator,
    ]  # fmt: skip


def _cells(one: Inspection) -> list[str]:
    operator = "" if one.overridden is None else f"{SPOKEN[one.final]}: {one.overridden.facts.get('reason')}"
    return [
        one.time.isoformat(sep=" ")[:19], one.name, SPOKEN[one.verdict], _number(one.score), _number(one.reject),
        one.kind, one.reason, operator,
    ]  # fmt: skip


def _drawn_scores(found: list[Inspection]) -> tuple[str, str]:
    """The figure, and a sentence on the parts left out of it; each may be ""."""
    judged, scores, limits, unit, left_out = series(found)
    if not judged:
        return "", left_out
    first = judged[0].time
    hours = np.array([(one.time - first).total_seconds() / 3600 for one in judged])
    figure = plots.scores_over_time(
        hours, scores, [one.final for one in judged], limits, [""] * len(judged), LIGHT, unit=unit
    )
    last = max(float(hours.max()), 0.01)
    begin = local(first).strftime("%Y-%m-%d %H:%M")
    figure.update_xaxes(title=f"hours since {begin}", range=[-0.01 * last, 1.01 * last])
    return svg(figure, LIGHT, width=1100, height=340, legend=140), left_out


def _notches(found: list[Inspection]) -> tuple[list[str], list[list[str]]]:
    """The heads and rows of the table of other limits."""
    by_step = notches(found)
    names = {-1: f"{100 * NOTCH:g} % lower", 0: "as it was", 1: f"{100 * NOTCH:g} % higher"}
    rows = [[name, *(f"{by_step[step][word]:,}" for word in OUTCOMES)] for step, name in names.items()]
    return ["Limit", *(SPOKEN[word].capitalize() for word in OUTCOMES)], rows


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
