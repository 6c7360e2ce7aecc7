"""Has anything drifted? One chart a signal, with the moment it left its limits and what changed before."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from inspect_core.audit.changes import describe_entry
from inspect_core.audit.entry import LogEntry
from inspect_core.audit.inspections import REJECT, LoggedInspection
from inspect_core.plots import history_plots as plots
from inspect_core.spc.drift import EVERY
from inspect_core.spc.drift_signals import NAMES, REFERENCE, DriftSignals, SignalAlarm
from inspect_core.ui import charts, saved_recipes, shell
from inspect_core.ui.history.selection import Selection, local

HOW = (
    f"Each value is ranked against the good parts of the release, or against the first {REFERENCE} parts. EWMA "
    "charts detect steps and changes in spread; CUSUM charts detect slow drift. With no change, a signal raises a "
    f"false alarm about once in {EVERY:,} parts. Drift never changes a verdict."
)


def signals(selection: Selection) -> None:
    """Show the signals of one recipe over the chosen period."""
    recipes = list(dict.fromkeys(inspection.recipe for inspection in selection.inspections))
    recipe = recipes[0]
    if len(recipes) > 1:
        version = saved_recipes.versions()
        names = {part.recipe: f"{part.product}, {version(part.recipe)}" for part in selection.inspections}

        def named(digest: str) -> str:
            return shell.escape(names[digest])

        recipe = st.pills("Recipe", recipes, default=recipe, required=True, format_func=named, key="drift_recipe")
    inspected = [part for part in reversed(selection.inspections) if part.recipe == recipe]
    followed, alarms = _run_signals(tuple(part.number for part in inspected), inspected)
    st.caption("Each signal relative to its control limits.", help=HOW)
    if not followed.levels:
        st.info(f"Drift signals appear after {REFERENCE} inspected parts; there are {len(inspected)} so far.")
        return
    when = np.array([local(part.moment).replace(tzinfo=None) for part in inspected], "datetime64[ms]")
    for name in (name for name in NAMES if name in followed.levels):
        signal_alarms = [alarm for alarm in alarms if alarm.signal == name]
        positions, levels = (np.array(column) for column in zip(*followed.levels[name], strict=True))
        marks = [(int(np.searchsorted(positions, alarm.position)), alarm.words) for alarm in signal_alarms]
        st.markdown(f"**{NAMES[name]}**")
        if signal_alarms:
            st.warning(shell.escape(_alarm_sentence(signal_alarms, inspected, selection)), icon=":material/warning:")
        drawn = plots.levels_over_time(when[positions], levels, marks, charts.current_theme())
        charts.show(drawn, key=f"drift_{name}", alt=f"{NAMES[name]}: {len(signal_alarms)} alarms.")


def _alarm_sentence(
    alarms: Sequence[SignalAlarm], inspections: Sequence[LoggedInspection], selection: Selection
) -> str:
    """When a signal left first, at which part, and the last change before it."""
    first = alarms[0]
    part = inspections[first.position]
    before = next((entry for entry in selection.changes if entry.time <= part.time), None)
    after = f" Last change before it: {_change(before)}." if before is not None else ""
    more = f" {len(alarms) - 1} more alarms since." if len(alarms) > 1 else ""
    return f"{first.words} First alarm at {part.name}, {local(part.moment):%Y-%m-%d %H:%M}.{after}{more}"


def _change(entry: LogEntry) -> str:
    return f"{entry.kind}, {describe_entry(entry)}, {entry.time[:16].replace('T', ' ')} UTC by {entry.user}"


@st.cache_resource(max_entries=4, show_spinner="Updating drift signals…")
def _run_signals(
    numbers: tuple[int, ...], _found: Sequence[LoggedInspection]
) -> tuple[DriftSignals, list[SignalAlarm]]:
    """Followed once for the same entries of the log."""
    signals = DriftSignals(_good_scores(_found[0].recipe))
    alarms = []
    for inspection in _found:
        alarms += signals.add(inspection.score, rejected=inspection.final_verdict == REJECT, inputs=inspection.inputs)
    return signals, alarms


def _good_scores(digest: str) -> list[float]:
    """Scores of the good parts that a saved recipe was released with; none if it is no longer there."""
    path = saved_recipes.find(digest)
    return [] if path is None else [row.score for row in saved_recipes.checked(path).calibration_photos]
