"""Downloads of the selection on History."""

import streamlit as st

from inspect_core.ui import shell
from inspect_core.ui.history import report
from inspect_core.ui.history.selection import MOST, Selection

DIGEST = (
    "The digest covers every entry before it. Note it elsewhere to prove later that none was changed or removed: "
    "python -m inspect_core verify --noted DIGEST. The report gives it in full."
)


def downloads(selection: Selection) -> None:
    """The selection as files, made on request."""
    row = st.container(horizontal=True, vertical_alignment="center")
    row.download_button(
        "Table (CSV)", lambda: report.csv_of(selection), file_name="history.csv", mime="text/csv", key="history_csv",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    row.download_button(
        "Report (HTML)", lambda: report.html_of(selection), file_name="history.html", mime="text/html",
        key="history_html", icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    number, digest = selection.head
    row.caption(f"Entries in the log: {number:,}, last digest {shell.plain(digest[:12])}", help=DIGEST)
    if selection.short:
        st.warning(
            f"Only the latest {MOST:,} inspections of this period are read; choose a shorter period for the others."
        )
