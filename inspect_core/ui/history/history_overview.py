"""The shift at a glance: counts, scores over time, defect types with pictures, what another limit would have done."""

import math

import numpy as np
import streamlit as st
from PIL import Image

from inspect_core.audit.inspections import NOTCH, LoggedInspection, counts, defect_types, verdicts_at_limits
from inspect_core.datasets.photo_tree import resolve_allowed_path
from inspect_core.images.boxes import downscale
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.line.common_cause import common_causes
from inspect_core.line.html_page import webp
from inspect_core.line.plot_range import MOST, is_plottable, omitted_sentence
from inspect_core.line.watch_session import MOST_COMPARED
from inspect_core.plots import history_plots as plots
from inspect_core.runtime import workspace
from inspect_core.runtime.wording import pluralise
from inspect_core.ui import charts, data_table, shell, verdict_tiles
from inspect_core.ui.history.selection import Selection, local
from inspect_core.verdict import VERDICT_PHRASES

MOST_TYPES = 8
SIDE = 132
SCORE = "score"
STEPS = {-1: f"{100 * NOTCH:g}% lower", 0: "as set", 1: f"{100 * NOTCH:g}% higher"}
TYPES_WIDTH = 450
NOTCHES_WIDTH = 400


def at_a_glance(selection: Selection) -> None:
    """Show the figures and plots at a glance."""
    inspections = selection.inspections
    _counts(inspections)
    _scores(inspections)
    row = st.container(horizontal=True, gap="medium")
    with row.container(width=TYPES_WIDTH):
        _types(inspections)
    with row.container(width=NOTCHES_WIDTH):
        _notches(inspections)
    _pictures(inspections)


def picture(inspection: LoggedInspection, side: int) -> bytes | None:
    """The inspected photo, reduced, as WebP; None when it is no longer where the log says, or was changed."""
    return _picture(inspection.path, inspection.digest, side) if inspection.path else None


def in_words(inspection: LoggedInspection) -> str:
    """Verdict, score and limit in a line."""
    score = "" if inspection.score is None else f", score {inspection.score:.4g}"
    limit = "" if math.isnan(inspection.reject) else f", limit {inspection.reject:.4g}"
    return f"{VERDICT_PHRASES[inspection.verdict]}{score}{limit}"


def causes(inspections: list[LoggedInspection]) -> list[str]:
    """What the latest parts have in common that may stop them all."""
    return common_causes(reversed(inspections[:MOST_COMPARED]))


def _counts(inspections: list[LoggedInspection]) -> None:
    shell.show_causes(causes(inspections), "Latest parts: ")
    st.markdown(f"**{pluralise(len(inspections), 'part')} inspected**")
    verdict_tiles.show(counts(inspections), "history")
    if overridden := sum(inspection.override is not None for inspection in inspections):
        overrides_text = f"{pluralise(overridden, 'verdict')} overridden"
        st.caption(f"Counts include operator overrides: {overrides_text}. Loupe's original verdicts are kept.")


def _scores(inspections: list[LoggedInspection]) -> None:
    plotted, scores, limits, unit, left_out = series(inspections)
    if not plotted:
        st.caption(shell.escape(left_out))
        return
    when = np.array([local(inspection.moment).replace(tzinfo=None) for inspection in plotted], "datetime64[ms]")
    words, names = [inspection.final_verdict for inspection in plotted], [inspection.name for inspection in plotted]
    st.markdown("**Scores over time**")
    drawn = plots.scores_over_time(when, scores, words, limits, names, charts.current_theme(), unit=unit)
    charts.show(drawn, key="history_scores", alt=f"Scores of {len(plotted)} parts over time.")
    notes = [shell.escape(left_out), "Scores far above the limit are shown at the top edge."]
    if unit != SCORE:
        scale = "so each is shown as a multiple of its reject limit"
        notes.append(f"Scores of different products cannot be compared, {scale}.")
    if words.count("accept") > plots.MOST_POINTS:
        notes.append(f"Only {plots.MOST_POINTS:,} accepted parts are plotted; all other parts are shown.")
    st.caption(" ".join(notes))


def series(inspections: list[LoggedInspection]) -> tuple[list[LoggedInspection], np.ndarray, np.ndarray, str, str]:
    """Those with a score and limits, the first one first; their scores (n,), limits (n, 2), the axis title, and
    a sentence on those that cannot be drawn.

    Of several products both are multiples of the limit for rejection.
    """
    complete = [
        inspection
        for inspection in reversed(inspections)
        if inspection.score is not None and not math.isnan(inspection.review + inspection.reject)
    ]
    drawn = [
        inspection
        for inspection in complete
        if is_plottable(inspection.score or 0.0, inspection.review, inspection.reject)
    ]
    left_out = omitted_sentence(len(complete) - len(drawn))
    scores = np.array([inspection.score for inspection in drawn], float)
    limits = np.array([(inspection.review, inspection.reject) for inspection in drawn], float).reshape(-1, 2)
    if len({inspection.product for inspection in drawn}) <= 1:
        return drawn, scores, limits, SCORE, left_out
    scale = np.where(np.abs(limits[:, 1]) < 1 / MOST, 1.0, np.abs(limits[:, 1]))
    return drawn, scores / scale, limits / scale[:, None], "score ÷ limit", left_out


def _types(inspections: list[LoggedInspection]) -> None:
    st.markdown("**Defect types of parts not accepted**")
    types = defect_types(inspections)
    if not types:
        st.caption("All parts were accepted.")
        return
    shown = list(types.items())[:MOST_TYPES]
    figure = plots.frequencies([(kind, len(parts)) for kind, parts in shown], charts.current_theme())
    charts.show(figure, key="history_types", alt="; ".join(f"{kind}: {len(parts)}" for kind, parts in shown))
    if len(types) > MOST_TYPES:
        st.caption(f"{len(types) - MOST_TYPES} rarer types are not shown.")


def _pictures(inspections: list[LoggedInspection]) -> None:
    """Show the latest part of each type that can still be shown, in the order of the bars."""
    strip = st.container(horizontal=True, gap="small")
    types = defect_types(inspections)
    for kind, parts in list(types.items())[:MOST_TYPES]:
        for part, content in examples(parts, most=1):
            with strip.container(width=SIDE):
                st.image(content, alt=f"{part.name}: {in_words(part)}", width="stretch")
                st.caption(f"**{shell.escape(kind)}**  \n{shell.escape(part.name)}")
    if types and not any(inspection.path for parts in types.values() for inspection in parts):
        st.caption("No images: the log does not record where these photos are stored.")


def examples(parts: list[LoggedInspection], *, most: int) -> list[tuple[LoggedInspection, bytes]]:
    """Up to `most` different photos that still exist, the latest first; only a few are tried."""
    tried = list({inspection.digest: inspection for inspection in parts[: 4 * most]}.values())
    pictures = ((inspection, picture(inspection, 2 * SIDE)) for inspection in tried)
    return [(inspection, content) for inspection, content in pictures if content is not None][:most]


def _notches(inspections: list[LoggedInspection]) -> None:
    st.markdown("**Effect of a different limit**")
    by_step = verdicts_at_limits(inspections)
    columns = {word: [by_step[step][word] for step in STEPS] for word in ("accept", "review", "reject")}
    cells = {VERDICT_PHRASES[word].capitalize(): cells for word, cells in columns.items()}
    data_table.show_cells({"Limit": STEPS.values()} | cells)
    lower, as_it_was, higher = columns["accept"]
    st.caption(
        f"One step higher would have accepted {higher - as_it_was:,} more of these parts; one step lower, "
        f"{as_it_was - lower:,} fewer. One step is {100 * NOTCH:g}% of the reject limit. Overrides are not included."
    )


@st.cache_data(max_entries=512, show_spinner=False)
def _picture(path: str, digest: str, side: int) -> bytes | None:
    try:
        photo = read(resolve_allowed_path(path, workspace.readable_roots()))
    except (ImageError, ValueError, OSError):
        return None
    return webp(Image.fromarray(downscale(photo.pixels, side))) if photo.digest == digest else None
