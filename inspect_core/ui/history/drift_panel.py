"""Has anything drifted? One chart a signal, with the moment it left its limits and what changed before."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from inspect_core.audit.changes import in_words
from inspect_core.audit.entry import LogEntry
from inspect_core.audit.inspections import REJECT, Inspection
from inspect_core.plots import history_plots as plots
from inspect_core.process.drift import EVERY
from inspect_core.process.drift_signals import NAMES, REFERENCE, Left, Signals
from inspect_core.ui import charts, saved_recipes, shell
from inspect_core.ui.history.selection import Selection, local

HOW = (
    f"Each value is ranked against the good parts of the release, or against the first {REFERENCE} parts. EWMA "
    "charts detect steps and changes in spread; CUSUM charts detect slow drift. With no change, a signal raises a "
    f"false alarm about once in {EVERY:,} parts. Drift never changes a verdict."
)


def signals(selection: Selection) -> None:
    """The signals of one recipe over the chosen period."""
    recipes = list(dict.fromkeys(one.recipe for one in selection.inspections))
    recipe = recipes[0]
    if len(recipes) > 1:
        names = {one.recipe: f"{one.product} {one.recipe[:8]}" for one in selection.inspections}

        def named(digest: str) -> str:
            return shell.plain(names[digest])

        recipe = st.pills("Recipe", recipes, default=recipe, required=True, format_func=named, key="drift_recipe")
    found = [one for one in reversed(selection.inspections) if one.recipe == recipe]
    followed, left = _followed(tuple(one.number for one in found), found)
    st.caption("Each signal relative to its control limits.", help=HOW)
    if not followed.levels:
        st.info(f"Drift signals appear after {REFERENCE} inspected parts; there are {len(found)} so far.")
        return
    when = np.array([local(one.time).replace(tzinfo=None) for one in found], "datetime64[ms]")
    for name in (name for name in NAMES if name in followed.levels):
        own = [one for one in left if one.signal == name]
        positions, levels = (np.array(column) for column in zip(*followed.levels[name], strict=True))
        marks = [(int(np.searchsorted(positions, one.position)), one.words) for one in own]
        st.markdown(f"**{NAMES[name]}**")
        if own:
            st.warning(shell.plain(_told(own, found, selection)), icon=":material/warning:")
        drawn = plots.levels_over_time(when[positions], levels, marks, charts.look())
        charts.show(drawn, key=f"drift_{name}", alt=f"{NAMES[name]}: {len(own)} alarms.")


def _told(left: Sequence[Left], found: Sequence[Inspection], selection: Selection) -> str:
    """When a signal left first, at which part, and the last change before it."""
    first = left[0]
    part = found[first.position]
    before = next((entry for entry in selection.changes if entry.time <= part.time.isoformat()), None)
    after = f" Last change before it: {_change(before)}." if before is not None else ""
    again = f" {len(left) - 1} more alarms since." if len(left) > 1 else ""
    return f"{first.words} First alarm at {part.name}, {local(part.time):%Y-%m-%d %H:%M}.{after}{again}"


def _change(entry: LogEntry) -> str:
    return f"{entry.kind}, {in_words(entry)}, {entry.time[:16].replace('T', ' ')} UTC by {entry.user}"


@st.cache_resource(max_entries=4, show_spinner="Updating drift signals…")
def _followed(numbers: tuple[int, ...], _found: Sequence[Inspection]) -> tuple[Signals, list[Left]]:
    """Followed once for the same entries of the log."""
    signals, left = Signals(_good_scores(_found[0].recipe)), []
    for one in _found:
        left += signals.add(one.score, rejected=one.final == REJECT, inputs=one.inputs)
    return signals, left


def _good_scores(digest: str) -> list[float]:
    """Scores of the good parts that a saved recipe was released with; none if it is no longer there."""
    for path in saved_recipes.paths():
        try:
            recipe = saved_recipes.checked(path)
        except Exception:  # whatever reading a file from elsewhere raises
            continue
        if recipe.digest == digest:
            return [row.score for row in recipe.calibration]
    return []
