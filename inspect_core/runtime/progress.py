"""Progress of long work: one call says how far it is, and raises when the user wants to stop."""

from collections.abc import Callable

Report = Callable[[float, str], None]
"""report(fraction done, 0 to 1, what is being done now); raises Cancelled once the user wants to stop."""
Cancel = Callable[[], bool]
"""Whether the user wants to stop."""


def ignore_progress(fraction: float, step: str) -> None:
    """Report to nobody."""


class Cancelled(Exception):
    """The user wanted to stop; whatever was unfinished has been dropped."""


def stage(progress: Report, start: float, end: float) -> Report:
    """A report for one step of a longer piece of work, which takes from `start` to `end` of the whole."""
    return lambda fraction, step: progress(start + (end - start) * fraction, step)


def report_progress(progress: Report | None, cancelled: Cancel | None, fraction: float, step: str) -> None:
    """Say how far the work is. Raises Cancelled when the user wants to stop."""
    if cancelled is not None and cancelled():
        raise Cancelled
    if progress is not None:
        progress(fraction, step)
