"""The selection on History as a table for a spreadsheet, and as one HTML page that opens without a network."""

import html
from datetime import datetime

import numpy as np

from inspect_core.audit.changes import in_words
from inspect_core.audit.inspections import NOTCH, Inspection, counts, defect_types, notches
from inspect_core.images.samples import counted, shown
from inspect_core.line.html_page import data_url, page, table
from inspect_core.line.spreadsheet import cell
from inspect_core.package.csv_text import csv_text
from inspect_core.plots import history as plots
from inspect_core.plots.svg import svg
from inspect_core.plots.theme import LIGHT
from inspect_core.ui.history.panels import MOST_TYPES, examples, series
from inspect_core.ui.history.selection import Selection, local
from inspect_core.verdict import OUTCOMES, SPOKEN

COLUMNS = (
    "entry", "time", "product", "recipe", "release", "name", "digest", "score", "verdict", "reason", "review", "reject",
    "area", "kind", "product_check", "source", "user", "operator_verdict", "operator", "operator_reason",
)  # fmt: skip
BEGINS = "<!doctype html>\n<!-- A history told by Loupe -->\n"
PICTURES = 3
MOST_ROWS = 2000
"""Parts in the page's table, those not accepted first; the CSV has all."""


def csv_of(selection: Selection) -> str:
    """A line per inspection, the latest first, under COLUMNS; time in UTC; spreadsheets run no formula from it."""
    return csv_text([COLUMNS, *([cell(value) for value in _line(one)] for one in selection.inspections)])


def html_of(selection: Selection) -> str:
    """The shift at a glance, the changes, and the parts, those not accepted first."""
    found = selection.inspections
    number, digest = selection.head
    now = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    said = ", ".join(f"{count:,} {SPOKEN[word]}" for word in OUTCOMES if (count := counts(found)[word]))
    intro = [
        f"{selection.words}. Made {now}.",
        f"{counted(len(found), 'part')} inspected: {said}." if found else "No part was inspected.",
        f"The log held {number:,} entries then, the last with digest {digest}.",
    ]
    body = "".join(f"<p>{html.escape(shown(words))}</p>" for words in intro)
    if found:
        body += _drawn_scores(found) + _drawn_types(found) + _drawn_notches(found)
    return page(BEGINS, "History", body + _drawn_changes(selection) + _drawn_parts(found))


def _line(one: Inspection) -> list[str | float | None]:
    said = one.overridden
    operator = ["", "", ""] if said is None else [one.final, said.user, str(said.facts.get("reason"))]
    return [
        one.number, one.time.isoformat(timespec="milliseconds"), one.product, one.recipe, one.release, one.name,
        one.digest, one.score, one.verdict, one.reason, one.review, one.reject, one.area, one.kind,
        one.product_check, one.source, one.user, *operator,
    ]  # fmt: skip


def _drawn_scores(found: list[Inspection]) -> str:
    judged, scores, limits, unit, left_out = series(found)
    note = f"<p>{html.escape(left_out)}</p>" if left_out else ""
    if not judged:
        return note
    first = judged[0].time
    hours = np.array([(one.time - first).total_seconds() / 3600 for one in judged])
    figure = plots.scores_over_time(
        hours, scores, [one.final for one in judged], limits, [""] * len(judged), LIGHT, unit=unit
    )
    last = max(float(hours.max()), 0.01)
    begin = local(first).strftime("%Y-%m-%d %H:%M")
    figure.update_xaxes(title=f"hours since {begin}", range=[-0.01 * last, 1.01 * last])
    return f"<h2>Scores over time</h2>{svg(figure, LIGHT, width=1100, height=340, legend=140)}{note}"


def _drawn_types(found: list[Inspection]) -> str:
    sections = []
    for kind, parts in defect_types(found).items():
        pictures = "".join(
            f'<figure><img alt="{html.escape(shown(one.name))}" src="{data_url(content)}" width="132">'
            f"<figcaption>{html.escape(shown(one.name))}</figcaption></figure>"
            for one, content in (examples(parts, most=PICTURES) if len(sections) < MOST_TYPES else [])
        )
        sections.append(
            f'<h3>{html.escape(shown(kind))}: {counted(len(parts), "part")}</h3><div class="row">{pictures}</div>'
        )
    return f"<h2>Defect types of parts not accepted</h2>{''.join(sections) or '<p>Every part was accepted.</p>'}"


def _drawn_notches(found: list[Inspection]) -> str:
    by_step = notches(found)
    names = {-1: f"{100 * NOTCH:g} % lower", 0: "as it was", 1: f"{100 * NOTCH:g} % higher"}
    rows = [[name, *(f"{by_step[step][word]:,}" for word in OUTCOMES)] for step, name in names.items()]
    heads = ["Limit", *(SPOKEN[word].capitalize() for word in OUTCOMES)]
    return f"<h2>What another limit would have done</h2>{table(heads, rows)}"


def _drawn_changes(selection: Selection) -> str:
    rows = [
        [entry.time[:19], entry.user, entry.kind, in_words(entry), str(entry.facts.get("reason") or ""),
         entry.product, entry.recipe[:12]]
        for entry in selection.changes
    ]  # fmt: skip
    heads = ["Time (UTC)", "Who", "What", "Change", "Reason", "Product", "Recipe"]
    return "<h2>Who changed what</h2>" + (table(heads, rows) if rows else "<p>Nothing was changed.</p>")


def _drawn_parts(found: list[Inspection]) -> str:
    first = sorted(found, key=lambda one: one.final == "accept")[:MOST_ROWS]
    heads = ["Time (UTC)", "Part", "Verdict", "Score", "Limit", "Defect type", "Reason", "Operator"]
    rows = [
        [one.time.isoformat(sep=" ")[:19], one.name, SPOKEN[one.verdict], _number(one.score), _number(one.reject),
         one.kind, one.reason,
         "" if one.overridden is None else f"{SPOKEN[one.final]}: {one.overridden.facts.get('reason')}"]
        for one in first
    ]  # fmt: skip
    left = f"<p>{len(found) - len(first):,} more are in the CSV.</p>" if len(found) > len(first) else ""
    return f"<h2>Parts</h2>{table(heads, rows)}{left}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
