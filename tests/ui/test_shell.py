"""What every page shows of the jobs."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]


def a_page_while_which_a_job_ends():
    import time

    import streamlit as st

    from inspect_core.ui import shell

    shell.open_gate("pages/inspect.py")
    if not st.session_state.get("begun"):
        st.session_state["begun"] = True
        job = shell.start("Opening", lambda job: None)
        while job.active:
            time.sleep(0.01)
    watch = shell._watch_of_this_run()
    watch(shell._refresh_key())
    st.text(f"drawn, {len(shell._ended_jobs())} to take")
    watch(shell._refresh_key())  # as its timer does


def test_a_job_that_ends_while_a_page_is_drawn_is_taken():
    at = AppTest.from_function(a_page_while_which_a_job_ends, default_timeout=60).run()
    assert not at.exception
    assert [text.value for text in at.text] == ["drawn, 0 to take"]


def test_pages_are_left_through_the_shell_alone():
    """What it does before switching keeps a late timer from emptying the new page."""
    sources = [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *(ROOT / "inspect_core").rglob("*.py")]
    assert [path.name for path in sources if "st.switch_page" in path.read_text()] == ["shell.py"]
