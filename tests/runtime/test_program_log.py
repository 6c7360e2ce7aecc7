"""Errors that nobody expected: their traceback is kept, and the user is told under which id."""

import re
import time

import pytest

from inspect_core.runtime.jobs import Jobs, JobState
from inspect_core.runtime.program_log import log_file, log_unexpected


def failed(message="no such key"):
    try:
        raise KeyError(message)
    except KeyError as error:
        return error


def test_an_error_is_found_by_its_id_with_its_traceback(workspace):
    number = log_unexpected(failed(), "counting").removeprefix("error ")
    text = log_file().read_text()
    assert re.fullmatch("[0-9a-f]{8}", number)
    assert "ERROR" in text
    assert f"error {number} while counting" in text
    assert "raise KeyError(message)" in text
    assert log_file().is_relative_to(workspace)


@pytest.mark.parametrize("level", ["off", "OFF", "critical"])
def test_the_log_is_switched_off_by_its_variable(workspace, monkeypatch, level):
    monkeypatch.setenv("LOUPE_LOG", level)
    assert log_unexpected(failed(), "counting").startswith("error ")
    assert not log_file().exists()


def test_a_workspace_that_takes_no_log_fails_nothing(workspace):
    (workspace / "log").write_text("a file where the folder should be")
    assert log_unexpected(failed(), "counting").startswith("error ")


def test_the_error_of_a_job_names_the_entry(workspace):
    def work(job):
        raise failed("gone")

    jobs = Jobs()
    job = jobs.submit("Teaching nut", work)
    limit = time.monotonic() + 10
    while job.active and time.monotonic() < limit:
        time.sleep(0.01)
    assert job.state == JobState.FAILED
    number = re.search("error ([0-9a-f]{8})", job.error)[1]
    assert f"error {number} while Teaching nut" in log_file().read_text()
