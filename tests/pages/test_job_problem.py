"""Why a job failed stands on every page, once, until it is dismissed."""

from pathlib import Path

import pytest

from inspect_core.ui import shell

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.name for path in (ROOT / "pages").glob("*.py"))
REASON = "The disk is full."


@pytest.mark.parametrize("page", PAGES)
def test_each_page_shows_once_why_a_job_failed(page, open_app, no_first_start, in_the_hand):
    app = open_app(f"pages/{page}")
    app.session_state[shell._PROBLEM] = REASON
    app.run()
    assert not app.exception
    assert [error.value for error in app.error].count(REASON) == 1
    app.button(key="dismiss_problem").click().run()
    assert REASON not in [error.value for error in app.error]


def test_a_page_without_a_product_shows_why_a_job_failed(open_app, no_first_start, workspace):
    app = open_app("pages/inspect.py")
    app.session_state[shell._PROBLEM] = REASON
    app.run()
    assert [error.value for error in app.error] == [REASON]
