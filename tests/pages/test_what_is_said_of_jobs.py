"""What pages say of jobs: why one failed, where it was begun; how the last ended; which one a page waits for."""

import threading
from pathlib import Path

import pytest

from inspect_core.runtime.jobs import Job, device_lock
from inspect_core.ui import shell
from tests.pages.waiting import wait_for_job

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.name for path in (ROOT / "pages").glob("*.py"))
REASON = "The disk is full."
SHOWN = f"**Teaching cookie** failed: {REASON}"


def failed() -> Job:
    return Job("Teaching cookie", "Ana", "cookie", error=REASON)


@pytest.mark.parametrize("page", PAGES)
def test_the_page_of_a_job_shows_once_why_it_failed(page, open_app, no_first_start, in_the_hand):
    app = open_app(f"pages/{page}")
    app.session_state[shell._FAILED] = failed(), (f"pages/{page}", None)
    app.run()
    assert not app.exception
    assert [error.value for error in app.error].count(SHOWN) == 1
    app.button(key="dismiss_problem").click().run()
    assert SHOWN not in [error.value for error in app.error]


@pytest.mark.parametrize("place", [("pages/teach.py", None), ("pages/inspect.py", "another product")])
def test_no_other_page_or_product_shows_why_a_job_failed(place, open_app, no_first_start, in_the_hand):
    app = open_app("pages/inspect.py")
    app.session_state[shell._FAILED] = failed(), place
    assert not app.run().error


def test_no_remedy_stands_without_its_failure(open_app, no_first_start, in_the_hand, monkeypatch):
    """On another page, the button that goes on without alignment belongs to nothing that is said there."""
    monkeypatch.setattr(shell.st, "session_state", {shell._FAILED: (failed(), ("pages/teach.py", None))})
    monkeypatch.setitem(shell.st.session_state, shell._PAGE, "pages/inspect.py")
    assert shell.problem() == ""
    monkeypatch.setitem(shell.st.session_state, shell._PAGE, "pages/teach.py")
    assert shell.problem() == REASON


def test_a_long_failure_takes_two_lines_of_the_sidebar(open_app, in_the_hand):
    def fail(job):
        raise ValueError("the folder holds no photo; " * 20)

    shell.jobs().submit("Teaching cookie", fail)
    wait_for_job()
    [caption] = [row for row in open_app("pages/inspect.py").sidebar.caption if "Teaching cookie" in row.value]
    assert len(caption.value) < 200


def test_a_page_without_a_product_shows_why_a_job_failed(open_app, no_first_start, workspace):
    app = open_app("pages/inspect.py")
    app.session_state[shell._FAILED] = failed(), ("pages/inspect.py", None)
    app.run()
    assert [error.value for error in app.error] == [SHOWN]


def test_the_sidebar_keeps_how_the_jobs_before_ended(open_app, in_the_hand):
    def fail(job):
        raise ValueError("the folder holds no photo")

    for title, work in (("Teaching cookie", fail), ("Comparing detectors on flange", lambda job: None)):
        shell.jobs().submit(title, work)
        wait_for_job()
    words = [caption.value for caption in open_app("pages/inspect.py").sidebar.caption]
    last, before = (next(line for line in words if title in line) for title in ("Comparing", "Teaching cookie"))
    assert "finished in" in last
    assert "the folder holds no photo" in before
    assert words.index(last) < words.index(before)


def test_a_page_that_waits_for_the_device_says_for_which_job(monkeypatch):
    holding, go_on, shown = threading.Event(), threading.Event(), []

    def hold(job):
        with device_lock("cpu"):
            holding.set()
            go_on.wait(60)

    class Place:
        def info(self, words, **options):
            shown.append(words)
            go_on.set()

        def empty(self):
            shown.append("")

    monkeypatch.setattr(shell.st, "empty", Place)
    shell.jobs().submit("Teaching cookie", hold)
    assert holding.wait(60)
    with shell.device_held("cpu"):
        assert shown == ["Waits for Teaching cookie: starting.", ""]
    with shell.device_held("cpu"):
        assert len(shown) == 2, "nothing where it waits for nobody"
