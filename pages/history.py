"""What did it decide, and who changed what? The audit log: filter, chart, override, export."""

import streamlit as st

from inspect_core.audit.log import AuditLog, LogError
from inspect_core.ui import shell
from inspect_core.ui.history import drift_panel, history_overview, history_report, selection, tables

VIEWS = {
    "Overview": history_overview.at_a_glance,
    "Drift": drift_panel.signals,
    "Parts": tables.parts,
    "Changes": tables.changes,
}

shell.gate("pages/history.py")

st.title("History")
st.caption("What did Loupe decide, and who changed what?")
try:
    with AuditLog.open() as log:
        last = selection.last_inspection(log)
        if last is None and log.head()[0] == 0:
            selection.nothing_yet()
            st.stop()
        chosen = selection.choose(log)
except LogError as error:
    st.error(shell.plain(error), icon=":material/error:")
    st.stop()
history_report.downloads(chosen)
view = st.segmented_control(
    "View", list(VIEWS), default=next(iter(VIEWS)), required=True, key="history_view", label_visibility="collapsed"
)
if view != "Changes" and not chosen.inspections:
    selection.none_in_this_time(last)
    st.stop()
VIEWS[view](chosen)
