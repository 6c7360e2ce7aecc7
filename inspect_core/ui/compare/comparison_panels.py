"""The parts of the Compare page: the forecast and the start, the table, curves and scores, one part side by side."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from inspect_core.images.photo_reader import ImageError
from inspect_core.line.html_page import data_url, webp
from inspect_core.methods.registry import ALL, JOIN, METHODS, fitted_detector, title_of
from inspect_core.plots import comparison_plots as plots
from inspect_core.runtime.jobs import JobRejected
from inspect_core.runtime.wording import duration, join_first_names
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning import comparison_report
from inspect_core.tuning.comparison_result import Comparison, ComparisonRow
from inspect_core.tuning.detector_comparison import published
from inspect_core.ui import charts, data_table, shell, teaching_job
from inspect_core.ui.compare import comparison_jobs
from inspect_core.ui.data_table import PICTURE, DataColumn
from inspect_core.workbench.taught_product import TaughtProduct

REPLACED = "A newer comparison replaced this one. Compare again."

WIDTHS = {"Choice": 130, "Detector": 260}
"""Of columns of the table, in pixels."""
MISSED = "Worst missed defect"
NAMED = 4
"""Detectors that are named of those like the chosen one."""
MISSED_SIDE = 96
"""Pixels of its picture, and of the row that shows it."""
AS_PUBLISHED = teaching_job.AS_PUBLISHED + "".join(
    f"\n- {method.title}: {method.published_words}" for method in METHODS.values()
)
MAX_SELECTABLE_PARTS = 60
"""Photos offered for viewing side by side."""


def start(order: TeachingConfig) -> None:
    """Show which detectors to compare, how long that takes, and the button that starts it, or its progress."""
    detectors = _detectors()
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


def _detectors() -> list[str]:
    """The detectors ticked in the table of all, which is folded: at first all are."""
    columns = [
        DataColumn("Detector", title_of),
        DataColumn("Kind", lambda detector: "joined" if JOIN in detector else "single"),
    ]
    ticked = (st.session_state.get("compare_detectors") or {}).get("selection", {}).get("rows", range(len(ALL)))
    with st.expander(f"Detectors to compare: {len(ticked)} of {len(ALL)}", key="compare_detectors_open"):
        event = data_table.show(
            ALL, columns, alt="Detectors to compare, ticked.", key="compare_detectors", on_select="rerun",
            selection_mode="multi-row", selection_default={"selection": {"rows": [*range(len(ALL))]}},
        )  # fmt: skip
    return [ALL[i] for i in event.selection.rows]


def results(product: TaughtProduct, order: TeachingConfig, comparison: Comparison) -> None:
    """Show everything found, from the table to single parts: one detector of those that the trial cannot tell apart."""
    recommended, reason = comparison.reason().splitlines()
    st.markdown(shell.escape(recommended), help=shell.escape(reason))
    for sentence in comparison.notes:
        st.caption(shell.escape(sentence))
    detector = fitted_detector(JOIN.join(view.method for view in product.scored.views))
    current = title_of(detector, as_published=product.as_published)
    groups = comparison.told_apart()
    shown = comparison.rows if _wants_all(comparison, groups) else _representatives(groups, current)
    chosen = _table(comparison, current, shown)
    _alike(groups, chosen)
    with st.container(horizontal=True, gap="small"):
        _put_on_bench(product, chosen)
        _downloads(order)
    titles = {comparison.chosen().title, current, chosen.title}
    rows = [row for row in comparison.rows if row.title in titles]
    _separations(groups)
    _curves(rows)
    _one_part(order, [comparison.rows.index(row) for row in shown])
    _scores(rows)
    with st.expander("Compare again"):
        start(order)


def _wants_all(comparison: Comparison, groups: Sequence[Sequence[ComparisonRow]]) -> bool:
    if len(groups) == len(comparison.rows):
        return False
    words = "By default one stands for those that these photos cannot tell apart."
    return st.toggle(f"Show all {len(comparison.rows)} detectors", key="compare_all", help=words)


def _representatives(groups: Sequence[Sequence[ComparisonRow]], current: str) -> list[ComparisonRow]:
    """The first of each group, and the detector in use."""
    return [row for group in groups for row in group if row is group[0] or row.title == current]


def _alike(groups: Sequence[Sequence[ComparisonRow]], chosen: ComparisonRow) -> None:
    others = [row.title for group in groups if chosen in group for row in group if row is not chosen]
    if others:
        like_it = join_first_names(others, most=NAMED)
        st.caption(shell.escape(f"These photos cannot tell {chosen.title} from {like_it}."))


def _table(comparison: Comparison, current: str, rows: Sequence[ComparisonRow]) -> ComparisonRow:
    """The detectors side by side; returns the one whose row is chosen, at first the recommended one."""
    table: dict[str, list[Any]] = dict(comparison_report.table_of(comparison, current, rows))
    helps = {name: f"{words[0].upper()}{words[1:]}." for name, words in comparison_report.COLUMN_HELP.items()}
    columns = [
        DataColumn(title, cells.__getitem__, helps.get(title, ""), width=WIDTHS.get(title), pinned=title == "Detector")
        for title, cells in table.items()
    ]
    options = {}
    if any(row.worst_missed is not None for row in rows):
        pictures = [_missed(row) for row in rows]
        words = "Of the defects accepted, the one furthest below the review limit."
        columns.insert(list(table).index("Escapes") + 1, DataColumn(MISSED, pictures.__getitem__, words, PICTURE))
        options["row_height"] = MISSED_SIDE
    numbers, first = range(len(rows)), rows.index(comparison.chosen())
    alt = "Detectors side by side, one row each."
    chosen = data_table.choose(numbers, columns, first, alt=alt, key=f"compare_table_{len(rows)}", **options)
    st.caption("Brackets show 95% intervals. A value ties with the best if either lies within the other's interval.")
    return rows[chosen]


def _missed(row: ComparisonRow) -> str | None:
    """The worst missed defect with its heatmap as a picture's address; None without one, or without its file."""
    if row.worst_missed is None:
        return None
    try:
        [verdict] = comparison_report.side_by_side([row], row.worst_missed, MISSED_SIDE)
    except ImageError:
        return None
    return data_url(webp(verdict.picture))


def _separations(groups: Sequence[Sequence[ComparisonRow]]) -> None:
    """One dot for each detector, those that cannot be told from the recommended one filled."""
    rows = [(row, number) for number, group in enumerate(groups) for row in group]
    if len(rows) < 2 or any(math.isnan(row.quality.value) for row, _ in rows):
        return
    st.markdown("**All detectors**", help="On the same trial as the table's figures, with 95% intervals.")
    names = [row.title for row, _ in rows]
    estimates = [(row.quality.value, row.quality.low, row.quality.high) for row, _ in rows]
    figure = plots.separations(names, estimates, [number for _, number in rows], charts.current_theme())
    charts.show(figure, key="compare_separations", alt="How clearly each detector separates defects from good parts.")


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
    for place, (name, (title, figure)) in zip(st.columns(max(len(drawn), 1)), drawn.items(), strict=False):
        with place:
            st.markdown(f"**{shell.escape(title)}**", help=f"The {shell.escape(name)} curve, limit by limit.")
            charts.show(figure, key=f"compare_{name.lower()}", alt=f"{name} curve of each of these detectors.")


@st.fragment  # Streamlit keeps its argument, so it is given the order and not the comparison
def _one_part(order: TeachingConfig, numbers: Sequence[int]) -> None:
    comparison = comparison_jobs.last_comparison(order)
    if comparison is None:
        st.rerun()
    telling = comparison_report.most_disputed(comparison)[:MAX_SELECTABLE_PARTS]
    photos = comparison.rows[0].scored.photos
    if not telling:
        return
    st.markdown("**One part, these detectors**", help="Parts on which detectors disagree come first.")
    position = st.selectbox(
        "Part", telling, format_func=lambda i: f"{photos[i].name} ({photos[i].label})", key="compare_part"
    )
    try:
        shown = comparison_report.side_by_side([comparison.rows[i] for i in numbers], position)
    except ImageError as error:
        st.error(shell.sentence(error), icon=":material/broken_image:")
        return
    row = st.container(horizontal=True, gap="medium")
    for verdict in shown:
        with row.container(width=comparison_report.SIDE):
            st.caption(shell.escape(verdict.row.title))
            st.image(verdict.picture, caption=shell.escape(comparison_report.in_words(verdict)), width="stretch")


def _scores(rows: Sequence[ComparisonRow]) -> None:
    with_scores = [(row, row.limits) for row in rows if row.limits is not None and row.evaluation is not None]
    for place, (row, limits) in zip(st.columns(max(len(with_scores), 1)), with_scores, strict=False):
        with place:
            st.markdown(f"**Scores: {shell.escape(row.title)}**")
            scores = comparison_report.judged_scores(row)
            drawn = plots.scores(*scores, (limits.review, limits.reject), charts.current_theme())
            charts.show(drawn, key=f"compare_scores_{row.title}", alt="Scores of good and defective parts.")
