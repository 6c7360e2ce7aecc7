"""The shift at a glance: counts, scores over time, defect types with pictures, what another limit would have done."""

import numpy as np
import streamlit as st
from PIL import Image

from inspect_core.audit.inspections import NOTCH, Inspection, counts, defect_types, notches
from inspect_core.images.boxes import reduced
from inspect_core.images.folders import inside
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.images.samples import counted
from inspect_core.line.html_page import webp
from inspect_core.line.plot_range import MOST, drawable, not_drawn
from inspect_core.plots import history_plots as plots
from inspect_core.runtime import workspace
from inspect_core.ui import charts, shell
from inspect_core.ui.history.selection import ICONS, Selection, local
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED, SPOKEN

MOST_TYPES, SIDE = 8, 132
SCORE = "score"
STEPS = {-1: f"{100 * NOTCH:g}% lower", 0: "as set", 1: f"{100 * NOTCH:g}% higher"}
TYPES_WIDTH, NOTCHES_WIDTH, FIGURE_WIDTH = 450, 400, 140


def at_a_glance(selection: Selection) -> None:
    """The figures and plots at a glance."""
    found = selection.inspections
    _counts(found)
    _scores(found)
    row = st.container(horizontal=True, gap="medium")
    with row.container(width=TYPES_WIDTH):
        _types(found)
    with row.container(width=NOTCHES_WIDTH):
        _notches(found)
    _pictures(found)


def picture(one: Inspection, side: int) -> bytes | None:
    """The inspected photo, reduced, as WebP; None when it is no longer where the log says, or was changed."""
    return _picture(one.path, one.digest, side) if one.path else None


def in_words(one: Inspection) -> str:
    """Verdict, score and limit in a line."""
    score = "" if one.score is None else f", score {one.score:.4g}"
    limit = "" if one.reject is None else f", limit {one.reject:.4g}"
    return f"{SPOKEN[one.verdict]}{score}{limit}"


def _counts(found: list[Inspection]) -> None:
    number = counts(found)
    row = st.container(horizontal=True, gap="small")
    row.metric("Parts inspected", f"{len(found):,}", border=True, width=FIGURE_WIDTH, height="stretch")
    for word, spoken in SPOKEN.items():
        if word in (NOT_LOCATED, NOT_JUDGED) and not number[word]:
            continue
        share = 100 * number[word] / len(found)
        row.metric(
            f"{ICONS[word]} {spoken.capitalize()}",
            f"{number[word]:,}",
            "under 0.1%" if 0 < share < 0.05 else f"{share:.1f}%",
            delta_color="off",
            delta_arrow="off",
            border=True,
            width=FIGURE_WIDTH,
            height="stretch",
        )
    if overridden := sum(one.overridden is not None for one in found):
        said = f"{counted(overridden, 'verdict')} overridden"
        st.caption(f"Counts include operator overrides: {said}. Loupe's original verdicts are kept.")


def _scores(found: list[Inspection]) -> None:
    judged, scores, limits, unit, left_out = series(found)
    if not judged:
        st.caption(shell.plain(left_out))
        return
    when = np.array([local(one.time).replace(tzinfo=None) for one in judged], "datetime64[ms]")
    words, names = [one.final for one in judged], [one.name for one in judged]
    st.markdown("**Scores over time**")
    drawn = plots.scores_over_time(when, scores, words, limits, names, charts.look(), unit=unit)
    charts.show(drawn, key="history_scores", alt=f"Scores of {len(judged)} parts over time.")
    notes = [shell.plain(left_out), "Scores far above the limit are shown at the top edge."]
    if unit != SCORE:
        scale = "so each is shown as a multiple of its reject limit"
        notes.append(f"Scores of different products cannot be compared, {scale}.")
    if words.count("accept") > plots.MOST_POINTS:
        notes.append(f"Only {plots.MOST_POINTS:,} accepted parts are plotted; all other parts are shown.")
    st.caption(" ".join(notes))


def series(found: list[Inspection]) -> tuple[list[Inspection], np.ndarray, np.ndarray, str, str]:
    """Those with a score and limits, the first one first; their scores (n,), limits (n, 2), the axis title, and a
    sentence on those that cannot be drawn.

    Of several products both are multiples of the limit for rejection.
    """
    complete = [one for one in reversed(found) if one.score is not None and None not in (one.review, one.reject)]
    judged = [one for one in complete if drawable(one.score or 0.0, one.review or 0.0, one.reject or 0.0)]
    left_out = not_drawn(len(complete) - len(judged))
    scores = np.array([one.score for one in judged], float)
    limits = np.array([(one.review, one.reject) for one in judged], float).reshape(-1, 2)
    if len({one.product for one in judged}) <= 1:
        return judged, scores, limits, SCORE, left_out
    scale = np.where(np.abs(limits[:, 1]) < 1 / MOST, 1.0, np.abs(limits[:, 1]))
    return judged, scores / scale, limits / scale[:, None], "score ÷ limit", left_out


def _types(found: list[Inspection]) -> None:
    st.markdown("**Defect types of parts not accepted**")
    types = defect_types(found)
    if not types:
        st.caption("All parts were accepted.")
        return
    shown = list(types.items())[:MOST_TYPES]
    figure = plots.frequencies([(kind, len(parts)) for kind, parts in shown], charts.look())
    charts.show(figure, key="history_types", alt="; ".join(f"{kind}: {len(parts)}" for kind, parts in shown))
    if len(types) > MOST_TYPES:
        st.caption(f"{len(types) - MOST_TYPES} rarer types are not shown.")


def _pictures(found: list[Inspection]) -> None:
    """The latest part of each type that can still be shown, in the order of the bars."""
    shelf, types = st.container(horizontal=True, gap="small"), defect_types(found)
    for kind, parts in list(types.items())[:MOST_TYPES]:
        for one, content in examples(parts, most=1):
            with shelf.container(width=SIDE):
                st.image(content, alt=f"{one.name}: {in_words(one)}", width="stretch")
                st.caption(f"**{shell.plain(kind)}**  \n{shell.plain(one.name)}")
    if types and not any(one.path for parts in types.values() for one in parts):
        st.caption("No images: the log does not record where these photos are stored.")


def examples(parts: list[Inspection], *, most: int) -> list[tuple[Inspection, bytes]]:
    """Up to `most` different photos that still exist, the latest first; only a few are tried."""
    tried = list({one.digest: one for one in parts[: 4 * most]}.values())
    found = ((one, picture(one, 2 * SIDE)) for one in tried)
    return [(one, content) for one, content in found if content is not None][:most]


def _notches(found: list[Inspection]) -> None:
    st.markdown("**Effect of a different limit**")
    by_step = notches(found)
    columns = {word: [by_step[step][word] for step in STEPS] for word in ("accept", "review", "reject")}
    cells = {SPOKEN[word].capitalize(): cells for word, cells in columns.items()}
    st.table({"Limit": list(STEPS.values())} | cells, hide_index=True)
    lower, as_it_was, higher = columns["accept"]
    st.caption(
        f"One step higher would have accepted {higher - as_it_was:,} more of these parts; one step lower, "
        f"{as_it_was - lower:,} fewer. One step is {100 * NOTCH:g}% of the reject limit. Overrides are not included."
    )


@st.cache_data(max_entries=512, show_spinner=False)
def _picture(path: str, digest: str, side: int) -> bytes | None:
    try:
        photo = read(inside(path, workspace.allowed_roots()))
    except (ImageError, ValueError, OSError):
        return None
    return webp(Image.fromarray(reduced(photo.pixels, side))) if photo.digest == digest else None
