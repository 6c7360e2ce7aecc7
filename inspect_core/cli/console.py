"""What all verbs share: exit codes, printed lines, a progress bar, and arguments that are paths or sizes."""

import argparse
import getpass
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

from inspect_core.images.samples import shown
from inspect_core.package.fields import SCALE
from inspect_core.runtime import workspace
from inspect_core.runtime.progress import Report

ACCEPTED, NOT_ACCEPTED, COULD_NOT_RUN, STOPPED = 0, 1, 2, 130
"""Exit codes; the last one after Ctrl-C, as shells give it."""


def say(line: str, file: TextIO | None = None) -> None:
    """Print one line, on standard output by default; no name in it can start another line or control the terminal."""
    tqdm.write(shown(line), file=file or sys.stdout)


def tell(name: object, verdict: object, score: object, reason: object) -> None:
    """One line per photo; photos without a score go to standard error, with the reason."""
    if score is None:
        say(f"{str(verdict).capitalize()} {name}: {reason}", sys.stderr)
    else:
        say(f"{verdict:7} {score:10.4f}  {name}")


def current_user() -> str:
    """The system's name of the user who runs the verb."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name
        return "unknown user"


@contextmanager
def bar() -> Generator[Report]:
    """A report(fraction, step) that draws a bar with the time left on a terminal."""
    with tqdm(total=1000, disable=not sys.stderr.isatty(), bar_format="{desc:32.32} {bar} {remaining}") as drawn:

        def report(fraction: float, step: str) -> None:
            drawn.set_description_str(shown(step))
            drawn.update(int(1000 * fraction) - drawn.n)

        yield report


def path_argument(text: str) -> Path:
    """A path as an argument. Raises ArgumentTypeError for one that the system cannot look up."""
    try:
        return workspace.usable(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def scale_argument(text: str) -> float:
    """mm per pixel as an argument. Raises ArgumentTypeError for a value that a recipe cannot hold."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not SCALE.holds(value):
        raise argparse.ArgumentTypeError(f"{text} is not {SCALE.words}; give mm a pixel, such as 0.05")
    return value


def size_argument(text: str) -> tuple[int, int]:
    """(height, width) as an argument: 256 or 256x320. Raises ArgumentTypeError for anything else."""
    try:
        numbers = [int(part) for part in text.lower().split("x")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 256 or 256x320")
    return numbers[0], numbers[-1]
