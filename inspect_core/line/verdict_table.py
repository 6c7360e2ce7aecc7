"""The table of verdicts, a row per photo, as CSV and as a workbook, safe to open in a spreadsheet."""

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_args

from inspect_core.inspection import COLUMNS, TYPES, Inspection
from inspect_core.recipe_format.output_paths import OutputPathError, require_own_file
from inspect_core.recipe_format.spreadsheet import (
    COMMA,
    POINT,
    XLSX,
    Cell,
    read_rows,
    require_own_workbook,
    table_bytes,
)
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace

_BEGINS = {key: table_bytes([COLUMNS[:4]], key).removesuffix(b"\r\n") for key in (POINT, COMMA)}
_REQUIRED = {field.name for field in fields(Inspection) if field.default is MISSING}
LARGEST = 1 << 28
"""Bytes of a table that is read: about a million rows."""


def write_table(path: Path, rows: Iterable[Inspection], key: str = POINT) -> None:
    """Write the rows under COLUMNS in one of the formats of CSV (`spreadsheet.FORMATS`).

    Raises OutputPathError as `check_table` does, OSError when the disk is full or not writable.
    """
    check_table(path)
    with atomic_replace(path) as new:
        new.write_bytes(table_bytes(lines_of(rows), key))


def write_workbook(path: Path, rows: Iterable[Inspection]) -> None:
    """Write the same as an Excel workbook. Raises as `write_table`."""
    require_own_workbook(path)
    with atomic_replace(path) as new:
        new.write_bytes(table_bytes(lines_of(rows), XLSX))


def lines_of(rows: Iterable[Inspection]) -> Iterator[Sequence[Cell]]:
    """Yield the heads of the table, then the cells of each row."""
    yield COLUMNS
    yield from ([getattr(row, name) for name in COLUMNS] for row in rows)


def read_table(path: Path) -> list[Inspection]:
    """The rows of a table that `write_table` wrote, with texts as in the file.

    Raises ValueError for another file and for one larger than LARGEST, OSError for what is not an ordinary file.
    """
    with workspace.open_regular_file(path) as file:
        if os.fstat(file.fileno()).st_size > LARGEST:
            raise ValueError(
                f"{path} is larger than {LARGEST >> 20} MB, so it was not read; open it in another program, or "
                "split the batch"
            )
        try:
            heads, *lines = read_rows(io.TextIOWrapper(file, newline="", encoding="utf-8-sig"))
            if _REQUIRED <= set(heads) <= set(COLUMNS):
                rows = [dict(zip(heads, line, strict=True)) for line in lines]
                if not rows:
                    raise ValueError("it has no rows")
                return [Inspection(**{head: _value(head, text) for head, text in row.items()}) for row in rows]
        except (csv.Error, ValueError):
            pass
    raise ValueError(f"{path} is not a table of verdicts of this version of Loupe; run the batch again")


def check_table(path: Path) -> None:
    """Raise OutputPathError, naming it, when there is a file at `path` that does not begin like a table of verdicts."""
    try:
        require_own_file(path, _BEGINS[COMMA], "a table of verdicts")
    except OutputPathError:
        require_own_file(path, _BEGINS[POINT], "a table of verdicts")


def _value(name: str, text: str) -> Any:
    kinds = set(get_args(TYPES[name])) or {TYPES[name]}
    if not kinds & {int, float}:
        return text
    if not text:
        return None
    return int(text) if int in kinds else float(text)
