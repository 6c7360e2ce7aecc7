"""What all verbs share: exit codes, printed lines, a progress bar, and arguments that are paths or sizes."""

import argparse
import re
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from tqdm import tqdm

from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.meanings import read_meanings, reading_of
from inspect_core.datasets.photo_labels import ONLY, READINGS
from inspect_core.datasets.verdict_words import EXCLUDED, TEST_ONLY
from inspect_core.recipe_format.fields import SCALE
from inspect_core.runtime import workspace
from inspect_core.runtime.progress import Report
from inspect_core.runtime.wording import escape_line

ACCEPTED, NOT_ACCEPTED, COULD_NOT_RUN, STOPPED = 0, 1, 2, 130
"""Exit codes; the last one after Ctrl-C, as shells give it."""
MAX_SIDE = 16_384  # pixels of the network's input, and cells of the patch grid


def print_line(line: str, file: TextIO | None = None) -> None:
    """Print one line, on standard output by default; no name in it can start another line or control the terminal."""
    tqdm.write(escape_line(line), file=file or sys.stdout)


def print_notes(notes: Iterable[object]) -> None:
    """Print one line for each."""
    for note in notes:
        print_line(f"Note: {note}")


def print_table(table: Mapping[str, Sequence[str]]) -> None:
    """Print columns of cells under their heads."""
    widths = [max(map(len, (name, *cells))) for name, cells in table.items()]
    for line in (tuple(table), *zip(*table.values(), strict=True)):
        print_line("  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())


def print_verdict(name: object, verdict: object, score: object, reason: object) -> None:
    """Print one line per photo; photos without a score go to standard error, with the reason."""
    if score is None:
        print_line(f"{str(verdict).capitalize()} {name}: {reason}", sys.stderr)
    else:
        print_line(f"{verdict:7} {score:10.4f}  {name}")


@contextmanager
def progress_bar() -> Generator[Report]:
    """A report(fraction, step) that draws a bar with the time left on a terminal."""
    with tqdm(total=1000, disable=not sys.stderr.isatty(), bar_format="{desc:32.32} {bar} {remaining}") as drawn:

        def report(fraction: float, step: str) -> None:
            drawn.set_description_str(escape_line(step))
            drawn.update(int(1000 * fraction) - drawn.n)

        yield report


def argument(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """`parse` as the type of an argument: its ValueError is what the user reads."""

    def checked(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return checked


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how labels are read, for the commands that look for them among photos."""
    readings = ", ".join(f"{key} ({words})" for key, words in READINGS.items())
    words = (
        f"how labels are read where they can be read in more than one way: {readings}; {ONLY}NAME (that product "
        "alone); or a table (.csv) of words and meanings, as --label has them"
    )
    parser.add_argument("--labels", metavar="READING", help=words)
    meaning = (
        f"what a folder, a label, a class or a word in names means: {GOOD}, a defect type, “{EXCLUDED}” or "
        f"“{TEST_ONLY}” (good, and never taught); repeatable"
    )
    parser.add_argument("--label", metavar="WORD=MEANING", action="append", default=[], help=meaning)


def chosen_reading(options: argparse.Namespace) -> str | None:
    """How labels are read by the options of `add_labels`; None where nothing was said. Raises ValueError, OSError."""
    meanings = {}
    reading = options.labels
    if reading is not None and Path(reading).suffix.lower() in (".csv", ".tsv"):
        meanings, reading = read_meanings(workspace.expand_path(reading)), None
    for text in options.label:
        word, _, meaning = text.rpartition("=")
        meanings[word.strip()] = meaning.strip()
    if meanings and reading is not None:
        raise ValueError("--labels names a reading and --label gives words a meaning; use one of them")
    return reading_of(meanings) if meanings else reading


path_argument = argument(workspace.expand_path)
"""A path that the system can look up."""


def whole_argument(low: int, high: int) -> Callable[[str], int]:
    """A whole number within bounds, both allowed, written in plain digits, as the type of an argument."""

    @argument
    def parse(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,20}", text.strip()) or not low <= int(text) <= high:
            raise ValueError(f"{text!r:.40} is not a whole number from {low:,} to {high:,}")
        return int(text)

    return parse


def number_argument(low: float, high: float) -> Callable[[str], float]:
    """A number within bounds, both allowed, as the type of an argument."""

    @argument
    def parse(text: str) -> float:
        with suppress(ValueError):
            if "_" not in text and low <= (value := float(text)) <= high:
                return value
        raise ValueError(f"{text!r:.40} is not a number from {low:g} to {high:g}")

    return parse


@argument
def scale_argument(text: str) -> float:
    """mm per pixel, a value that a recipe can hold."""
    with suppress(ValueError):
        if SCALE.holds(value := float(text)):
            return value
    raise ValueError(f"{text} is not {SCALE.words}; give mm a pixel, such as 0.05")


@argument
def size_argument(text: str) -> tuple[int, int]:
    """(height, width): 256 or 256x320."""
    with suppress(ValueError):
        numbers = [int(part) for part in text.lower().split("x") if part.isascii() and part.isdigit()]
        if len(numbers) == text.lower().count("x") + 1 <= 2 and min(numbers) >= 1 and max(numbers) <= MAX_SIDE:
            return numbers[0], numbers[-1]
    raise ValueError(f"{text!r:.40} is not a size of 1 to {MAX_SIDE:,} a side; write 256 or 256x320")
