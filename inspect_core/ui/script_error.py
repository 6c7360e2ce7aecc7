"""The one boundary around pages, panels, callbacks and fragments: what is raised there and expected by nobody becomes a
message of ours, never that of the platform.
"""

import streamlit as st

from inspect_core.runtime.program_log import log_file, log_unexpected


def show(error: Exception) -> bool:
    """Show what happened, what is kept and what to do, with the id under which the traceback lies in the log.

    True: nothing else is shown. Streamlit calls it where the error ended the page, a fragment or a callback.
    """
    from inspect_core.ui.shell import escape  # torch comes with it; a page that fails has loaded it

    known = log_unexpected(error, "drawing a page")
    st.error(
        "This page could not be drawn to its end. What is taught, set and saved is kept, and jobs go on. Reload the "
        f"page, or go on with another. If it happens again, report {escape(known)}: {escape(log_file())} says where.",
        icon=":material/bug_report:",
    )
    return True
