"""Tables on the pages: each column is declared once; the choice of a row; downloads as a table and as a report."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import streamlit as st

from inspect_core.recipe_format.spreadsheet import FORMATS, POINT, Cell, table_bytes
from inspect_core.ui import preferences, shell
from inspect_core.verdict import VERDICT_PHRASES, VERDICT_SYMBOLS

REMEMBERED = "table format"
"""What the key of the format is remembered as."""
TO_FORMAT = "Excel set to German or French opens the second; .xlsx opens everywhere. Remembered for all tables."
SCORE, TIME, PICTURE = "%.4g", "YYYY-MM-DD HH:mm:ss", "picture"
"""Formats of a number, as of printf, of a time, and of a picture, whose cells are addresses."""
Row = TypeVar("Row")


@dataclass(frozen=True)
class DataColumn:
    """A column of a table of rows: its title, and what it shows of a row; format: SCORE, TIME, PICTURE or alike."""

    title: str
    value: Callable[[Any], object]
    help: str = ""
    format: str = ""
    width: int | Literal["small", "medium", "large"] | None = None
    pinned: bool = False

    def config(self) -> Any:
        """How Streamlit draws it."""
        options: dict[str, Any] = {
            "help": shell.escape(self.help) or None,
            "width": self.width,
            "pinned": self.pinned or None,
        }
        if not self.format:
            return st.column_config.Column(**options)
        if self.format == PICTURE:
            return st.column_config.ImageColumn(**options)
        drawn = st.column_config.NumberColumn if self.format.startswith("%") else st.column_config.DatetimeColumn
        return drawn(format=self.format, **options)


def show(rows: Sequence[Any], columns: Sequence[DataColumn], *, alt: str, key: str, **options: Any) -> Any:
    """Show rows in columns; options: of `st.dataframe`, whose result is returned."""
    cells = {column.title: [column.value(row) for row in rows] for column in columns}
    config = {column.title: column.config() for column in columns}
    options = {"height": "content"} | options
    return st.dataframe(cells, hide_index=True, column_config=config, alt=alt, key=key, **options)


def choose(
    rows: Sequence[Row], columns: Sequence[DataColumn], first: int, *, alt: str, key: str, **options: Any
) -> Row:
    """Show rows of which one is always selected, at first that at this position; returns it."""
    event = show(
        rows, columns, alt=alt, key=key, on_select="rerun", selection_mode="single-row-required",
        selection_default={"selection": {"rows": [first]}}, **options,
    )  # fmt: skip
    marked = event.selection.rows
    return rows[marked[0] if marked and marked[0] < len(rows) else first]


def show_cells(cells: Mapping[str, Iterable[object]], width: Literal["stretch", "content"] = "stretch") -> None:
    """Show few cells, by the title of their column, all of them at once and as the text they are."""
    shown = {shell.escape(title): [shell.escape(cell) for cell in column] for title, column in cells.items()}
    st.table(shown, hide_index=True, width=width)


def verdict_with_symbol(word: str) -> str:
    """A verdict as tables have it: "✕ rejected"."""
    return f"{VERDICT_SYMBOLS.get(word, '')} {VERDICT_PHRASES.get(word, word)}".lstrip()


def offer_download(
    place: Any, make: Callable[[], Iterable[Sequence[Cell]]], name: str, *, disabled: bool = False
) -> None:
    """Show the choice of the format and the button that downloads the rows of `make` as a file of this name.

    place: a horizontal container.
    """
    key = f"table-format-{name}"
    keys = list(FORMATS)
    say = {key: table.title for key, table in FORMATS.items()}
    chosen = place.selectbox(
        "Table format", keys, keys.index(remembered()), format_func=say.__getitem__, key=key, width=260, help=TO_FORMAT,
        on_change=_remember, args=(key,), label_visibility="collapsed",
    )  # fmt: skip
    table = FORMATS[chosen]
    place.download_button(
        "Table", lambda: table_bytes(make(), chosen), f"{name}{table.suffix}", table.mime, f"table-{name}",
        on_click="ignore", icon=":material/download:", disabled=disabled,
    )  # fmt: skip


def offer_report(place: Any, make: Callable[[], str | bytes], name: str, *, disabled: bool = False) -> None:
    """Show the button that downloads the page that `make` returns as an HTML file of this name."""
    place.download_button(
        "Report (HTML)", make, name, "text/html", f"report-{name}", on_click="ignore", icon=":material/download:",
        disabled=disabled,
    )  # fmt: skip


def remembered() -> str:
    """The key of the format that this user chose last."""
    key = preferences.read(REMEMBERED)
    return key if isinstance(key, str) and key in FORMATS else POINT


def _remember(key: str) -> None:
    with shell.errors_shown(OSError, begins="The format could not be remembered: "):
        preferences.remember(REMEMBERED, st.session_state[key])
