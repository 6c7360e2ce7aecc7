"""Waiting for the job in the background."""

import time

from inspect_core.ui import shell


def wait_for_job(seconds: float = 120) -> None:
    limit = time.monotonic() + seconds
    while shell.jobs().current is not None and shell.jobs().current.active:
        assert time.monotonic() < limit, "the job did not end"
        time.sleep(0.05)


def finish(app):
    """The app once the job has ended without an error, run again without an exception."""
    wait_for_job()
    assert shell.jobs().current.error == ""
    app.run()
    assert not app.exception, app.exception
    return app
