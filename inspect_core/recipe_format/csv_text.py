"""Rows as CSV that spreadsheets open safely: none of the texts is a formula or contains a line break."""

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from inspect_core.runtime.wording import escape_line

FORMULA_SIGNS = ("=", "+", "-", "@", "'")


def cell(value: str | float | None) -> str | float | None:
    """A value as written to a CSV: a number unchanged; a text on one line, unprintable characters escaped.

    A text that begins with a character of FORMULA_SIGNS gets `'` in front, so that a spreadsheet takes it for text.
    """
    if not isinstance(value, str):
        return value
    text = escape_line(value)
    first = unicodedata.normalize("NFKC", text.lstrip()[:1])  # some spreadsheets read full-width signs as plain
    return f"'{text}" if first in FORMULA_SIGNS else text


def csv_text(rows: Iterable[Sequence]) -> str:
    """The rows as lines of CSV, each value as `cell` has it, each line ended by a line feed."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(map(cell, row) for row in rows)
    return text.getvalue()


def rows_of(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV by the names of its columns, without the `'` of `cell`; "" for a missing value."""
    for row in csv.DictReader(io.StringIO(text), restkey="", restval=""):
        yield {name: value.removeprefix("'") for name, value in row.items() if name}
