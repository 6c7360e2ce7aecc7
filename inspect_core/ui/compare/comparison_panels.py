"""The parts of the Compare page: the forecast and the start, the table, curves and scores, one part side by side."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from inspect_core.images.photo_reader import ImageError
from inspect_core.methods.registry import ALL, JOIN, METHODS, fitted_detector, title_of
from inspect_core.plots import comparison_plots as plots
from inspect_core.runtime.jobs import JobRejected
from inspect_core.runtime.wording import duration
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning import comparison_report
from inspect_core.tuning.comparison_result import Comparison, ComparisonRow
from inspect_core.tuning.detector_comparison import published
from inspect_core.ui import charts, data_table, shell, teaching_job
from inspect_core.ui.compare import comparison_jobs
from inspect_core.ui.data_table import DataColumn
from inspect_core.workbench.taught_product import TaughtProduct

REPLACED = "A newer comparison replaced this one. Compare again."

CURVE_WIDTH = 460
WIDTHS = {"Choice": 150, "Detector": 280}
"""Of columns of the table, in pixels."""
SCORES_WIDTH = 320
AS_PUBLISHED = teaching_job.AS_PUBLISHED + "".join(
    f"\n- {method.title}: {method.published_words}" for method in METHODS.values()
)
MAX_SELECTABLE_PARTS = 60
"""Photos offered for viewing side by side."""


def start(order: TeachingConfig) -> None:
    """Show which detectors to compare, how long that takes, and the button that starts it, or its progress."""
    detectors = st.multiselect("Detectors", ALL, default=ALL, format_func=title_of, key="compare_detectors")
    as_published = st.toggle("Also test each method as published", key="compare_published", help=AS_PUBLISHED)
    words = "Choose at least one detector."
    if detectors:
        try:
            published_rows = published(order, detectors) if as_published else []
            costs = [teaching_job.expected(order, detectors), *map(teaching_job.expected, published_rows)]
        except ValueError as error:
            st.error(f"{shell.escape(error)}; or compare fewer detectors.", icon=":material/error:")
            return
        seconds = sum(cost.seconds for _, cost in costs)
        words = (
            f"Takes about {duration(seconds)} on this machine. Each detector is fitted once on "
            f"{len(order.photos.train):d} good photos and scores {len(order.scored):d} others. You can keep working "
            "in the meantime."
        )
    begin = partial(comparison_jobs.start, order, detectors, as_published)
    shell.start_job_button(
        "Compare",
        words,
        begin,
        subject=comparison_jobs.subject_of(order),
        key="start-comparison",
        disabled=not detectors,
    )


def results(product: TaughtProduct, order: TeachingConfig, comparison: Comparison) -> None:
    """Show everything found, from the table down to single parts."""
    recommended, reason = comparison.reason().splitlines()
    st.markdown(shell.escape(recommended), help=shell.escape(reason))
    for sentence in comparison.notes:
        st.caption(shell.escape(sentence))
    detector = fitted_detector(JOIN.join(view.method for view in product.scored.views))
    current = title_of(detector, as_published=product.as_published)
    chosen = _table(comparison, current)
    with st.container(horizontal=True, gap="small"):
        _put_on_bench(product, chosen)
        _downloads(order)
    titles = {comparison.chosen().title, current, chosen.title}
    rows = [row for row in comparison.rows if row.title in titles]
    _curves(rows)
    _one_part(order)
    _scores(rows)
    with st.expander("Compare again"):
        start(order)


def _table(comparison: Comparison, current: str) -> ComparisonRow:
    """The detectors side by side; returns the one whose row is chosen, at first the recommended one."""
    table = comparison_report.table_of(comparison, current)
    helps = {name: f"{words[0].upper()}{words[1:]}." for name, words in comparison_report.COLUMN_HELP.items()}
    columns = [
        DataColumn(title, cells.__getitem__, helps.get(title, ""), width=WIDTHS.get(title), pinned=title == "Detector")
        for title, cells in table.items()
    ]
    numbers, first = range(len(comparison.rows)), comparison.rows.index(comparison.chosen())
    alt = "Detectors side by side, one row each."
    chosen = data_table.choose(numbers, columns, first, alt=alt, key="compare_table")
    st.caption("Brackets show 95% intervals. A value ties with the best if either lies within the other's interval.")
    return comparison.rows[chosen]


def _put_on_bench(product: TaughtProduct, row: ComparisonRow) -> None:
    words = "Opens these photos on Inspect with the selected detector as fitted here."
    if st.button("Open this detector on Inspect", key="compare_bench", type="primary", help=words):
        with shell.errors_shown(JobRejected):
            comparison_jobs.put_on_bench(product, row)
            shell.go_to("pages/inspect.py")


def _downloads(order: TeachingConfig) -> None:
    row = st.container(horizontal=True)
    data_table.offer_download(row, partial(_made, order, comparison_report.lines_of, [[REPLACED]]), "detectors")
    data = partial(_made, order, partial(comparison_report.html_of, order=order), REPLACED)
    data_table.offer_report(row, data, "detectors.html")


def _made(order: TeachingConfig, write: Callable[[Comparison], Any], otherwise: Any) -> Any:
    comparison = comparison_jobs.last_comparison(order)
    return otherwise if comparison is None else write(comparison)


def _curves(rows: Sequence[ComparisonRow]) -> None:
    drawn = comparison_report.curves(rows, charts.current_theme())
    if drawn:
        st.caption("Curves and scores of the recommended detector, the one in use and the one selected in the table.")
    strip = st.container(horizontal=True, gap="medium")
    for name, (title, figure) in drawn.items():
        with strip.container(width=CURVE_WIDTH):
            st.markdown(f"**{shell.escape(title)}**", help=f"The {shell.escape(name)} curve, limit by limit.")
            charts.show(figure, key=f"compare_{name.lower()}", alt=f"{name} curve of each of these detectors.")


@st.fragment  # Streamlit keeps its argument, so it is given the order and not the comparison
def _one_part(order: TeachingConfig) -> None:
    comparison = comparison_jobs.last_comparison(order)
    if comparison is None:
        st.rerun()
    telling = comparison_report.most_disputed(comparison)[:MAX_SELECTABLE_PARTS]
    photos = comparison.rows[0].scored.photos
    if not telling:
        return
    st.markdown("**One part, all detectors**", help="Parts on which detectors disagree come first.")
    position = st.selectbox(
        "Part", telling, format_func=lambda i: f"{photos[i].name} ({photos[i].label})", key="compare_part"
    )
    try:
        shown = comparison_report.side_by_side(comparison, position)
    except ImageError as error:
        st.error(shell.sentence(error), icon=":material/broken_image:")
        return
    row = st.container(horizontal=True, gap="medium")
    for verdict in shown:
        with row.container(width=comparison_report.SIDE):
            st.caption(shell.escape(verdict.row.title))
            st.image(verdict.picture, caption=shell.escape(comparison_report.in_words(verdict)), width="stretch")


def _scores(rows: Sequence[ComparisonRow]) -> None:
    strip = st.container(horizontal=True, gap="medium")
    for row in rows:
        if row.limits is not None and row.evaluation is not None:
            with strip.container(width=SCORES_WIDTH):
                st.markdown(f"**Scores: {shell.escape(row.title)}**")
                limits = row.limits.review, row.limits.reject
                drawn = plots.scores(*comparison_report.judged_scores(row), limits, charts.current_theme())
                charts.show(drawn, key=f"compare_scores_{row.title}", alt="Scores of good and defective parts.")
