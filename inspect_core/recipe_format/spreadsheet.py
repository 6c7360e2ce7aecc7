"""Tables as spreadsheets open them: CSV with the separator and the decimal sign of a country, or an Excel workbook."""

import csv
import io
import zipfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from inspect_core.recipe_format.csv_text import cell
from inspect_core.recipe_format.output_paths import OutputPathError, check_folder
from inspect_core.runtime import workspace
from inspect_core.runtime.wording import escape_line
from inspect_core.runtime.zip_directory import check_directory

POINT, COMMA, XLSX = "point", "comma", "xlsx"
AUTHOR = "Loupe"
LARGEST_NUMBER = 1e307
"""Largest value of a cell; others are written as text."""
TIME = "time"
"""Head of a column of times."""
WIDEST = 60
"""Widest column of a workbook, in characters."""
_LONGEST_CELL = 32_767  # characters that Excel takes
_PROPERTIES = "docProps/core.xml"
_MARK = f"<dc:creator>{AUTHOR}</dc:creator>".encode()

Cell = str | float | None


class TableFormat(NamedTuple):
    """How a table is written. title: for the user; separator and decimal: of a CSV, "" of a workbook."""

    title: str
    separator: str
    decimal: str
    suffix: str
    mime: str


_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
FORMATS = {
    POINT: TableFormat("CSV, decimal point", ",", ".", ".csv", "text/csv"),
    COMMA: TableFormat("CSV, decimal comma and semicolons", ";", ",", ".csv", "text/csv"),
    XLSX: TableFormat("Excel (.xlsx)", "", "", ".xlsx", _SHEET),
}
"""Formats of tables by key. A spreadsheet set to German or French takes the second, one set to English the first."""


def table_bytes(rows: Iterable[Sequence[Cell]], key: str = POINT) -> bytes:
    """Rows, the heads first, as a file in the format of this key.

    A CSV is UTF-8 with a byte order mark, by which Excel knows it; texts are disarmed as in `csv_text.cell`. In a
    workbook every text is stored as text, which nothing takes for a formula, and a time, in UTC, as a time where it can
    be read as one.
    """
    table = FORMATS[key]
    if key == XLSX:
        return _workbook(rows)
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=table.separator)
    writer.writerows([_written(value, table.decimal) for value in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def read_rows(lines: io.TextIOBase) -> list[list[str]]:
    """The rows of a CSV that `table_bytes` wrote, numbers with a decimal point. Raises csv.Error, ValueError."""
    first = lines.readline()
    table = next((table for table in (FORMATS[COMMA], FORMATS[POINT]) if table.separator in first), FORMATS[POINT])
    rows = [*csv.reader([first], delimiter=table.separator), *csv.reader(lines, delimiter=table.separator)]
    if table.decimal == ".":
        return rows
    return [rows[0], *([_with_point(text, table.decimal) for text in row] for row in rows[1:])]


def require_own_workbook(path: Path) -> None:
    """Raise OutputPathError, naming it, when there is a file at `path` that is not a workbook of Loupe's."""
    check_folder(path)
    if not path.is_symlink() and not path.exists():
        return
    if workspace.regular_file_stat(path):
        try:
            check_directory(path)
            with zipfile.ZipFile(path) as archive:
                if archive.getinfo(_PROPERTIES).file_size < 1 << 16 and _MARK in archive.read(_PROPERTIES):
                    return
        except (zipfile.BadZipFile, KeyError, OSError, NotImplementedError, RuntimeError, EOFError, ValueError):
            pass
    reason = "already exists and is not a workbook written by Loupe, so it is not replaced"
    raise OutputPathError(f"{path} {reason}; choose another name, or delete it yourself")


def _written(value: Cell, decimal: str) -> Cell:
    if isinstance(value, float) and decimal != ".":
        return repr(value).replace(".", decimal)
    return cell(value)


def _with_point(text: str, decimal: str) -> str:
    try:
        float(text.replace(decimal, "."))
    except ValueError:
        return text
    return text.replace(decimal, ".")


def _workbook(rows: Iterable[Sequence[Cell]]) -> bytes:
    from openpyxl import Workbook  # a tenth of a second that a CSV need not wait
    from openpyxl.utils import get_column_letter

    table = [*rows]
    book = Workbook(write_only=True)
    book.properties.creator = AUTHOR
    sheet = book.create_sheet("Table")
    sheet.freeze_panes = "A2"
    for column, values in enumerate(zip_longest(*table, fillvalue=None), start=1):
        longest = max(len(_text(value)) for value in values)
        sheet.column_dimensions[get_column_letter(column)].width = min(longest, WIDEST) + 2
    for number, row in enumerate(table):
        timed = (
            _as_time(value) if number and str(head).lower() == TIME else value
            for head, value in zip_longest(table[0], row)
        )
        sheet.append([_cell(sheet, value, is_head=number == 0) for value in timed])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _as_time(value: Cell) -> Cell | datetime:
    """A text of ISO 8601 as the time in UTC that Excel can sort and count with; anything else as it is."""
    try:
        moment = datetime.fromisoformat(str(value))
        return (moment.astimezone(UTC) if moment.tzinfo else moment).replace(tzinfo=None)
    except (ValueError, OverflowError):  # no time, or one beyond the first or the last year
        return value


def _cell(sheet: Any, value: Cell | datetime, *, is_head: bool) -> Any:
    """A cell of a workbook, None for an empty one; a text never becomes a formula."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    if isinstance(value, datetime) or value is None:
        return value
    if isinstance(value, float | int) and abs(value) <= LARGEST_NUMBER:
        return value
    text = WriteOnlyCell(sheet, _text(value))
    text.data_type = "s"
    if is_head:
        text.font = Font(bold=True)
    return text


def _text(value: Cell) -> str:
    return "" if value is None else escape_line(str(value))[:_LONGEST_CELL]
