"""Every page in every state that it can be in is drawn to its end, or says in words of ours why not."""

import re
import threading
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from inspect_core.runtime import atomic_write, program_log, workspace
from inspect_core.runtime.jobs import Job
from inspect_core.ui import shell
from inspect_core.ui.session import SessionSettings
from inspect_core.workbench.previews import PreviewRun
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import end_process, wait_for_job

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.name for path in (ROOT / "pages").glob("*.py"))
pytestmark = pytest.mark.usefixtures("no_first_start", "fresh_process_state")


@pytest.fixture
def go_on():
    """Set when the test is over: the jobs that were held end."""
    event = threading.Event()
    yield event
    event.set()


def nothing(app, part, go_on, monkeypatch):
    """No product was taught."""
    shelf().close(part.id)


def product(app, part, go_on, monkeypatch):
    """A product is in hand."""


def preview(app, part, go_on, monkeypatch):
    """A move of gamma has begun and nothing of it is there yet."""
    settings = SessionSettings(0, part.fit, part.fitted())
    gamma = part.fitted()["gamma"]
    settings.preview = PreviewRun({**part.fitted(), "gamma": 2 * gamma}, part.scored.photos, 0, part.live)
    app.session_state[f"settings-{part.id}"] = settings
    app.session_state[settings.refit_key(part, "gamma")] = 2 * gamma


def running(app, part, go_on, monkeypatch):
    """A job holds the device."""
    shell.jobs().submit("Held", lambda job: go_on.wait(120))


def queued(app, part, go_on, monkeypatch):
    """Jobs wait behind it."""
    running(app, part, go_on, monkeypatch)
    for number in range(2):
        shell.jobs().submit(f"Waits {number}", lambda job: None)


def failed(app, part, go_on, monkeypatch):
    """The last job failed, and nobody has dismissed why."""
    why = "part_007.jpg: there is no such file; check the path"
    app.session_state[shell._FAILED] = Job("Held", "Ana", "held", error=why), (None, None)


def restarted(app, part, go_on, monkeypatch):
    """The server was ended and started again."""
    shelf().flush()
    end_process()


def full_disk(app, part, go_on, monkeypatch):
    """Nothing can be written."""

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_write, "_recorded", full)


STATES = (nothing, product, preview, running, queued, failed, restarted, full_disk)


@pytest.mark.parametrize("state", STATES, ids=[state.__name__ for state in STATES])
@pytest.mark.parametrize("page", PAGES)
def test_each_page_is_drawn_in_each_state(page, state, flange_under, go_on, monkeypatch):
    part = flange_under("corp", M=64)
    shelf().put(part)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    state(app, part, go_on, monkeypatch)
    app.session_state["page_wanted"] = f"pages/{page}"
    app.run()
    assert not app.exception, app.exception
    if state is restarted:
        wait_for_job()
    app.run()
    assert not app.exception, app.exception


def test_a_workspace_that_cannot_be_written_is_told_in_words(monkeypatch):
    """And the menu of the pages is ours: without st.navigation Streamlit makes one of the names of their files."""

    def refuse():
        raise OSError("/data: this folder cannot be written; choose another with LOUPE_WORKSPACE")

    monkeypatch.setattr(workspace, "require_writable", refuse)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    assert not app.exception
    assert "this folder cannot be written" in app.error[0].value


def test_what_nobody_expected_is_told_in_words_with_its_id(workspace):
    def page():
        from inspect_core.ui import script_error

        assert script_error.show(KeyError("tile")) is True

    app = AppTest.from_function(page).run()
    assert not app.exception
    (error,) = app.error
    assert "is kept" in error.value
    log = program_log.log_file().read_text()
    (number,) = re.findall(r"error (\w{8})", error.value)
    assert f"error {number} while drawing a page" in log
    assert "KeyError: 'tile'" in log


def test_the_server_hands_such_errors_to_us():
    text = (ROOT / "app.py").read_text(encoding="utf-8")
    assert "on_script_error=script_error.show" in text
