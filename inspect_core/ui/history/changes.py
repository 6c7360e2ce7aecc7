"""Who changed what: all entries of the log except inspections."""

from datetime import datetime

import streamlit as st

from inspect_core.audit.changes import in_words
from inspect_core.ui.history.selection import Selection, local


def table(selection: Selection) -> None:
    """The changes of the chosen period, the latest first."""
    if not selection.changes:
        st.caption("Nothing was changed in this period.")
        return
    st.dataframe(
        {
            "Time": [local(datetime.fromisoformat(entry.time)).replace(tzinfo=None) for entry in selection.changes],
            "Who": [entry.user for entry in selection.changes],
            "What": [entry.kind for entry in selection.changes],
            "Change": [in_words(entry) for entry in selection.changes],
            "Reason": [str(entry.facts.get("reason") or "") for entry in selection.changes],
            "Product": [entry.product for entry in selection.changes],
            "Recipe": [entry.recipe[:12] for entry in selection.changes],
            "Entry": [entry.number for entry in selection.changes],
        },
        hide_index=True, key="history_changes", height="content" if len(selection.changes) < 12 else 420,
        column_config={
            "Time": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm:ss"),
            "Change": st.column_config.TextColumn(width="large"),
            "Reason": st.column_config.TextColumn(width="medium"),
        },
        alt="Changes of limits, verdicts and recipes, the latest first.",
    )  # fmt: skip
