"""The parts of the Compare page: the forecast and the start, the table, curves and scores, one part side by side."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from inspect_core.images.read import ImageError
from inspect_core.methods.table import ALL, title_of
from inspect_core.plots import comparison as plots
from inspect_core.runtime.jobs import Busy
from inspect_core.study.order import Order
from inspect_core.tuning import report
from inspect_core.tuning.comparison import Comparison
from inspect_core.ui import charts, shell, teaching
from inspect_core.ui.compare import jobs
from inspect_core.ui.taught_part import TaughtPart

BENCH = "compare_bench"
CURVE_WIDTH, SCORES_WIDTH = 520, 380
TELLING = 60
"""Photos offered for viewing side by side."""


def start(order: Order) -> None:
    """Which detectors to compare, how long that takes, and the button that starts it, or its progress."""
    detectors = st.multiselect("Detectors", ALL, default=ALL, format_func=title_of, key="compare_detectors")
    words = "Choose at least one detector."
    if detectors:
        try:
            seconds = teaching.expected(order, detectors).seconds
        except ValueError as error:
            st.error(f"{shell.plain(error)}; or compare fewer detectors.", icon=":material/error:")
            return
        words = (
            f"Takes about {shell.duration(seconds)} on this machine: every detector is fitted once to "
            f"{len(order.photos.fit):d} good photos and scores {len(order.scored):d} others. You can keep working "
            "meanwhile."
        )
    begin = partial(jobs.start, order, detectors)
    shell.offer("Compare", words, begin, key="start-comparison", disabled=not detectors)


def results(taught: TaughtPart, order: Order, comparison: Comparison) -> None:
    """Everything found, from the table down to single parts."""
    st.markdown(f"Start with: **{shell.plain(comparison.chosen().title)}**")
    for sentence in (comparison.reason(), *comparison.notes):
        st.caption(shell.plain(sentence))
    _table(taught, comparison)
    _downloads(order)
    _curves(comparison)
    _one_part(order)
    _scores(comparison)
    with st.expander("Compare again"):
        start(order)


def _table(taught: TaughtPart, comparison: Comparison) -> None:
    table = report.table_of(comparison)
    columns: dict[str, Any] = {
        name: st.column_config.TextColumn(help=shell.plain(f"{words[0].upper()}{words[1:]}."))
        for name, words in report.GLOSS.items()
    }
    columns["Detector"] = st.column_config.TextColumn(width=250, pinned=True)
    columns["Bench"] = st.column_config.ButtonColumn(
        key=BENCH, help="Take these photos and this detector, as fitted here, to the bench."
    )
    st.dataframe(
        table | {"Bench": ["Put on the bench"] * len(comparison.rows)}, hide_index=True, column_config=columns,
        column_order=("Detector", "Bench", *list(table)[1:]), height="content", key="compare_table",
        alt="Detectors side by side, one row each.",
    )  # fmt: skip
    st.caption(
        "Brackets: 95 % intervals. A value ties with the best if it lies in the best one's interval or its own "
        "holds the best."
    )
    if (clicked := st.session_state.get(BENCH)) is not None:
        try:
            jobs.put_on_bench(taught, comparison, comparison.rows[clicked.row].detector)
        except Busy as error:
            st.warning(shell.plain(error))
        else:
            st.switch_page("pages/inspect.py")


def _downloads(order: Order) -> None:
    row = st.container(horizontal=True)
    row.download_button(
        "Table (CSV)", lambda: _made(order, report.csv_of), file_name="detectors.csv", mime="text/csv",
        key="compare_csv", icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    row.download_button(
        "Report (HTML)", lambda: _made(order, partial(report.html_of, order=order)), file_name="detectors.html",
        mime="text/html",
        key="compare_report", icon=":material/download:", on_click="ignore",
    )  # fmt: skip


def _made(order: Order, write: Callable[[Comparison], str]) -> str:
    comparison = jobs.found(order)
    return "Another comparison has replaced this one; compare again." if comparison is None else write(comparison)


def _curves(comparison: Comparison) -> None:
    row = st.container(horizontal=True, gap="medium")
    for name, (title, figure) in report.curves(comparison, charts.look()).items():
        with row.container(width=CURVE_WIDTH):
            st.markdown(f"**{shell.plain(title)}**", help=f"The {shell.plain(name)} curve, limit by limit.")
            charts.show(figure, key=f"compare_{name.lower()}", alt=f"{name} curve of every detector.")


@st.fragment  # Streamlit keeps its argument, so it is given the order and not the comparison
def _one_part(order: Order) -> None:
    comparison = jobs.found(order)
    if comparison is None:
        st.rerun()
    telling, photos = report.most_telling(comparison)[:TELLING], comparison.rows[0].scored.photos
    if not telling:
        return
    st.markdown("**One part under every detector**", help="Parts on which the detectors differ come first.")
    position = st.selectbox(
        "Part", telling, format_func=lambda i: f"{photos[i].name} ({photos[i].kind})", key="compare_part"
    )
    try:
        seen = report.side_by_side(comparison, position)
    except ImageError as error:
        st.error(shell.plain(error), icon=":material/broken_image:")
        return
    row = st.container(horizontal=True, gap="medium")
    for each in seen:
        with row.container(width=report.SIDE):
            st.caption(shell.plain(each.row.title))
            st.image(each.picture, caption=shell.plain(report.in_words(each)), width="stretch")


def _scores(comparison: Comparison) -> None:
    rows = [(row, row.limits) for row in comparison.rows if row.limits is not None and row.evaluation is not None]
    if not rows:
        return
    with st.expander("Scores of every detector, with its limits"):
        shelf = st.container(horizontal=True, gap="medium")
        for row, limits in rows:
            with shelf.container(width=SCORES_WIDTH):
                st.markdown(f"**{shell.plain(row.title)}**")
                drawn = plots.scores(*report.judged_scores(row), (limits.review, limits.reject), charts.look())
                charts.show(drawn, key=f"compare_scores_{row.detector}", alt="Scores of good and defective parts.")
