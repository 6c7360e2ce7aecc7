"""The tables of History: the inspected parts, an operator's verdict on one of them, and who changed what."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import streamlit as st

from inspect_core.audit import changes as of_log
from inspect_core.audit import life_cycle
from inspect_core.audit.changes import override
from inspect_core.audit.inspections import ACCEPT, REJECT, REVIEW, LoggedInspection
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.ui import data_table, saved_recipes, shell
from inspect_core.ui.data_table import SCORE, TIME, DataColumn
from inspect_core.ui.history.history_overview import in_words, picture
from inspect_core.ui.history.selection import Selection, local
from inspect_core.ui.inspected_photos import heatmap_of
from inspect_core.verdict import VERDICT_PHRASES, VerdictWord

ON_A_PAGE = 12
TO_DRAFTS = "Changes to recipes that were never approved: they change nothing in production."
PICTURE = 280
BESIDE = 400
_CHOSEN = "history_entry"
_OF_STATIONS = (
    DataColumn("Number", lambda part: part.part, "Of the part, at a station."),
    DataColumn("Lot", lambda part: part.lot),
    DataColumn("View", lambda part: part.view),
)


def _matching(inspections: Sequence[LoggedInspection]) -> Sequence[LoggedInspection]:
    """The parts of which photo, number or lot holds what is typed, that of the entry so numbered first; all where
    nothing is.
    """
    text = st.text_input(
        "Find a part", key="history_part", placeholder="photo, part number, lot or entry", width=BESIDE
    ).strip()
    matching = [
        part
        for part in inspections
        if text.lower() in f"{part.name}\0{part.part}\0{part.lot}".lower() or text == str(part.number)
    ]
    if not matching:
        st.info(f"None of these parts is named “{shell.escape(text)}”.", icon=":material/search_off:")
    return sorted(matching, key=lambda part: text != str(part.number))


def parts(selection: Selection) -> None:
    """Show one part with its picture, at first the latest not accepted, above the page of a table to choose from."""
    inspections: Sequence[LoggedInspection] = selection.inspections
    if len(inspections) > ON_A_PAGE:
        inspections = _matching(inspections)
    if not inspections:
        return
    stopped = next((inspection for inspection in inspections if inspection.final_verdict != ACCEPT), inspections[0])
    _show(next((part for part in inspections if part.number == st.session_state.get(_CHOSEN)), stopped))
    shown = shell.paginate(inspections, ON_A_PAGE, "history_page")
    version = saved_recipes.versions()
    key = f"history_table-{shown[0].number}-{selection.head[0]}"  # its rows change when the log has grown
    data_table.show(
        shown,
        [
            DataColumn("Time", lambda part: local(part.moment).replace(tzinfo=None), format=TIME),
            DataColumn("Part", lambda part: part.name),
            *(column for column in _OF_STATIONS if any(map(column.value, shown))),
            DataColumn("Verdict", lambda part: data_table.verdict_with_symbol(part.final_verdict)),
            DataColumn("Score", lambda part: part.score, format=SCORE),
            DataColumn("Limit", lambda part: part.reject, "The reject limit in force at that time.", SCORE),
            DataColumn("Defect type", lambda part: part.defect_type),
            DataColumn("Reason", lambda part: part.reason),
            DataColumn("Operator", _operator, "Who overrode Loupe's verdict, and why."),
            DataColumn("Recipe", lambda part: version(part.recipe)),
            DataColumn("Entry", lambda part: part.number),
        ],
        key=key,
        selection_mode="single-row",
        on_select=partial(_choose, key, [inspection.number for inspection in shown]),
        placeholder="",
        alt="Inspected parts, latest first.",
    )
    st.caption("Select a row to see the part above and override its verdict.")


def _choose(key: str, numbers: list[int]) -> None:
    """Keep the entry that was chosen, not its row: inspections that come in later move the rows."""
    rows = st.session_state[key].selection.rows
    st.session_state[_CHOSEN] = numbers[rows[0]] if rows else None


def _show(inspection: LoggedInspection) -> None:
    row = st.container(horizontal=True, gap="medium", border=True)
    with row.container(width=PICTURE):
        content = picture(inspection, PICTURE)
        if content is not None:
            st.image(content, alt=f"{inspection.name}: {in_words(inspection)}")
        else:
            st.info(f"No image: {_why_missing(inspection)}.", icon=":material/hide_image:")
    if content is not None and (drawn := _heatmap(inspection)) is not None:
        with row.container(width=PICTURE):
            st.image(drawn, alt=f"{inspection.name} with its heatmap")
    with row.container(width=BESIDE):
        st.markdown(f"**{shell.escape(inspection.name)}**")
        st.markdown(f"Loupe: {shell.escape(in_words(inspection))}")
        for words in (inspection.defect_type, inspection.reason, inspection.product_check):
            if words:
                st.markdown(shell.escape(words))
        if inspection.override is not None:
            st.markdown(
                f"{VERDICT_PHRASES[inspection.final_verdict].capitalize()} by {shell.escape(_operator(inspection))}"
            )
        _override(inspection)


def _why_missing(inspection: LoggedInspection) -> str:
    if not inspection.digest:
        return "the photo could not be read"
    if not inspection.path:
        return "the log does not record where this photo is stored"
    return "the photo is no longer at the recorded path, or the file there has changed"


def _heatmap(inspection: LoggedInspection) -> bytes | None:
    """The photo with its heatmap, reduced; None where its recipe is not saved here."""
    path = saved_recipes.find(inspection.recipe)
    with shell.errors_shown(ValueError, OSError):
        if path is not None:
            return heatmap_of(path.name, inspection.recipe, inspection.path, inspection.digest, PICTURE)
    return None


def _override(inspection: LoggedInspection) -> None:
    with st.form(f"override-{inspection.number}", clear_on_submit=True):
        options: list[VerdictWord] = [word for word in (ACCEPT, REVIEW, REJECT) if word != inspection.final_verdict]
        key = f"override_verdict-{inspection.number}"
        say = VERDICT_PHRASES.__getitem__
        verdict = st.segmented_control("Your verdict", options, format_func=say, key=key)
        key = f"override_reason-{inspection.number}"
        reason = st.text_input("Reason", key=key, placeholder="e.g. dust, wiped off", max_chars=200)
        st.caption(f"Recorded as {shell.escape(shell.current_user())}. Loupe's verdict stays in the log.")
        if not st.form_submit_button("Override verdict", icon=":material/gavel:"):
            return
    if verdict is None:
        st.warning("Choose your verdict.")
        return
    with shell.errors_shown(ValueError, LogError):
        entry = override(inspection, verdict, reason=reason, user=shell.current_user())
        with AuditLog.open() as log:
            log.append_all([entry])
        st.session_state[_CHOSEN] = inspection.number
        st.rerun()


def _operator(inspection: LoggedInspection) -> str:
    return (
        "" if inspection.override is None else f"{inspection.override.user}: {inspection.override.facts.get('reason')}"
    )


def changes(selection: Selection) -> None:
    """Show the changes of the chosen period, the latest first."""
    entries = selection.changes
    if not entries:
        st.caption("No changes in this period.")
        return
    with shell.errors_shown(LogError), AuditLog.open() as log:
        released = life_cycle.states(log)
        production = [entry for entry in entries if not entry.recipe or entry.recipe in released]
        drafts = len(entries) - len(production)
        label = f"Drafts ({drafts:d})"
        if drafts and not st.toggle(label, not production, key="history_drafts", help=TO_DRAFTS):
            entries = production
    entries = shell.paginate(entries, ON_A_PAGE, "history_changes_page")
    version = saved_recipes.versions()
    data_table.show(
        entries,
        [
            DataColumn("Time", lambda row: local(datetime.fromisoformat(row.time)).replace(tzinfo=None), format=TIME),
            DataColumn("User", lambda row: row.user),
            DataColumn("Event", lambda row: row.kind),
            DataColumn("Change", of_log.describe_entry, width="large"),
            DataColumn("Reason", lambda row: str(row.facts.get("reason") or ""), width="medium"),
            DataColumn("Product", lambda row: row.product),
            DataColumn("Recipe", lambda row: version(row.recipe)),
            DataColumn("Entry", lambda row: row.number),
        ],
        key="history_changes",
        alt="Changes to limits, verdicts and recipes, latest first.",
    )
