"""The download of a table, in the format that the user's spreadsheet opens; the choice is remembered."""

from collections.abc import Callable, Iterable, Sequence

import streamlit as st

from inspect_core.recipe_format.spreadsheet import FORMATS, POINT, Cell, table_bytes
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.ui import shell

REMEMBERED = "table-format"
"""Name of the file in the workspace that holds the key of the format."""
_LONGEST = 64
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
    """Return the key of the format chosen last in this workspace."""
    content = workspace.content(workspace.root() / REMEMBERED, at_most=_LONGEST)
    key = (content or b"").decode("ascii", "replace").strip()
    return key if key in FORMATS else POINT


def _remember(key: str) -> None:
    path = workspace.root() / REMEMBERED
    with shell.errors_shown(OSError, begins="The format could not be remembered: "), atomic_replace(path) as new:
        new.write_text(st.session_state[key], encoding="ascii")
