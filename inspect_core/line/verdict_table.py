"""The table of verdicts as CSV, a row per photo, safe to open in a spreadsheet."""

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import MISSING, astuple, fields
from pathlib import Path
from typing import Any

from inspect_core.line.result_row import COLUMNS, ResultRow
from inspect_core.recipe_format.csv_text import cell
from inspect_core.recipe_format.output_paths import require_own_file
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace

_BEGINS = ",".join(COLUMNS[:4]).encode()
_REQUIRED = {field.name for field in fields(ResultRow) if field.default is MISSING}
LARGEST = 1 << 28
"""Bytes of a table that is read: about a million rows."""
_FORMER = {"photo": "photo_deviation"}
"""Names of columns in tables written before version 2 of the recipe schema."""
_NUMBERS = {field.name: str(field.type) for field in fields(ResultRow) if "str" not in str(field.type)}


def write_table(path: Path, rows: Iterable[ResultRow]) -> None:
    """Write the rows as CSV in UTF-8, under COLUMNS, each value converted by `cell`.

    Raises OutputPathError as `check_table` does, OSError when the disk is full or not writable.
    """
    check_table(path)
    with atomic_replace(path) as new, new.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([cell(value) for value in astuple(row)] for row in rows)


def read_table(path: Path) -> list[ResultRow]:
    """Return the rows of a table that `write_table` wrote, of an earlier version perhaps, with texts as in the file.

    Raises ValueError for another file and for one larger than LARGEST, OSError for what is not an ordinary file.
    """
    with workspace.open_regular_file(path) as file:
        if os.fstat(file.fileno()).st_size > LARGEST:
            raise ValueError(
                f"{path} is larger than {LARGEST >> 20} MB, so it was not read; open it in another program, or "
                "split the batch"
            )
        lines = csv.reader(io.TextIOWrapper(file, newline="", encoding="utf-8"))
        try:
            heads = [_FORMER.get(head, head) for head in next(lines, [])]
            if _REQUIRED <= set(heads) <= set(COLUMNS):
                return [
                    ResultRow(**{head: _value(head, text) for head, text in zip(heads, line, strict=True)})
                    for line in lines
                ]
        except (csv.Error, ValueError):
            pass
    raise ValueError(f"{path} is not a table of verdicts of this version of Loupe; run the batch again")


def check_table(path: Path) -> None:
    """Raise OutputPathError, naming it, when there is a file at `path` that does not begin like a table of verdicts."""
    require_own_file(path, _BEGINS, "a table of verdicts")


def _value(name: str, text: str) -> Any:
    if name not in _NUMBERS:
        return text
    if not text:
        return None
    return int(text) if "int" in _NUMBERS[name] else float(text)
