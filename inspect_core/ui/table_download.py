"""The download of a table, in the format that the user's spreadsheet opens; the choice is remembered."""

from collections.abc import Callable, Iterable, Sequence

import streamlit as st

from inspect_core.recipe_format.spreadsheet import FORMATS, POINT, Cell, table_bytes
from inspect_core.ui import preferences, shell

REMEMBERED = "table format"
"""What the key of the format is remembered as."""
TO_FORMAT = "Excel set to German or French opens the second; .xlsx opens everywhere. Remembered for all tables."


def offer(place, make: Callable[[], Iterable[Sequence[Cell]]], name: str, *, disabled: bool = False) -> None:
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


def remembered() -> str:
    """The key of the format that this user chose last."""
    key = preferences.read(REMEMBERED)
    return key if isinstance(key, str) and key in FORMATS else POINT


def _remember(key: str) -> None:
    with shell.errors_shown(OSError, begins="The format could not be remembered: "):
        preferences.remember(REMEMBERED, st.session_state[key])
