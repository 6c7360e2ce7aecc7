"""Choosing a folder by clicking, below the folders that pages may read, and the folders that were used last."""

import contextlib
import itertools
import os
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from inspect_core.datasets.listing import is_clutter_or_masks, is_image, walk
from inspect_core.datasets.photo_tree import resolve_allowed_path
from inspect_core.runtime import workspace
from inspect_core.runtime.wording import pluralise
from inspect_core.ui import preferences, shell

MOST_RECENT = 5
MOST_SHOWN = 200
"""Folders listed at one place."""
MOST_COUNTED = 20_000
"""Files looked at for one count, so that a share with a million files opens too."""
USED_LAST = "folders used last"
WIDTH = 420


def browse(key: str) -> None:
    """Show a button that opens the choice. What is chosen becomes the text of the field with this key."""
    with st.popover("Browse", icon=":material/folder_open:", key=f"browse-{key}", on_change="rerun") as opened:
        if opened.open:
            with st.container(width=WIDTH, gap="xsmall"):
                _choice(key)


def remember(folder: Path) -> None:
    """Put a folder first among those used last."""
    recent = _recent()
    if recent[:1] == [folder]:
        return
    latest = [folder, *(other for other in recent if other != folder)][:MOST_RECENT]
    with contextlib.suppress(OSError):
        preferences.remember(USED_LAST, [str(path) for path in latest])


def subfolders(folder: Path) -> list[Path]:
    """The folders in a folder that pages may read, by name, without hidden ones."""
    with contextlib.suppress(OSError):
        names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith(".") and entry.is_dir())
        return [folder / name for name in names if _is_allowed(folder / name)]
    return []


def _choice(key: str) -> None:
    place = st.session_state.get(f"{key}-place")
    if place is None:
        if recent := _recent():
            st.caption("Used last")
            for number, path in enumerate(recent):
                _button(str(path), f"{key}-recent-{number}", _choose, (key, str(path)), ":material/history:")
        st.caption("Folders")
        for number, path in enumerate(workspace.allowed_roots()):
            _button(str(path), f"{key}-root-{number}", _enter, (key, str(path)), ":material/folder:")
        return
    folder = Path(place)
    st.markdown(f"**{shell.escape(folder)}**")
    row = st.container(horizontal=True)
    up = str(folder.parent) if _is_allowed(folder.parent) else None
    row.button("Up", f"{key}-up", icon=":material/arrow_upward:", on_click=_enter, args=(key, up))
    choose, words = (key, place), f"Use this folder · {_count(folder)}"
    row.button(words, f"{key}-use", type="primary", icon=":material/check:", on_click=_choose, args=choose)
    below = subfolders(folder)
    for number, path in enumerate(below[:MOST_SHOWN]):
        _button(path.name, f"{key}-into-{number}", _enter, (key, str(path)), ":material/folder:")
    if len(below) > MOST_SHOWN:
        st.caption(f"{len(below) - MOST_SHOWN:,} more folders: type the path instead.")


def _button(text: str, key: str, on_click: Callable[[str, str], None], args: tuple[str, str], icon: str) -> None:
    st.button(shell.escape(text), key, type="tertiary", icon=icon, on_click=on_click, args=args)


def _enter(key: str, folder: str | None) -> None:
    st.session_state[f"{key}-place"] = folder


def _choose(key: str, folder: str) -> None:
    st.session_state[key] = folder
    st.session_state[f"{key}-place"] = None
    remember(Path(folder))


def _count(folder: Path) -> str:
    """How many photos lie in a folder and all folders below it, in words; counting stops at `MOST_COUNTED`."""
    photos = 0
    with contextlib.suppress(OSError):  # said where the folder is chosen
        names = itertools.islice(walk(folder, passed_over=is_clutter_or_masks), MOST_COUNTED)
        photos = sum(1 for name, problem in names if problem is None and is_image(name))
    return f"{MOST_COUNTED:,} photos or more" if photos == MOST_COUNTED else pluralise(photos, "photo")


def _recent() -> list[Path]:
    """The folders used last that are still there and allowed; unreadable entries count as missing."""
    paths = preferences.read(USED_LAST)
    texts = [text for text in paths if isinstance(text, str)] if isinstance(paths, list) else []
    return [Path(text) for text in texts[:MOST_RECENT] if _is_allowed(Path(text)) and Path(text).is_dir()]


def _is_allowed(path: Path) -> bool:
    try:
        resolve_allowed_path(path, workspace.allowed_roots())
    except (ValueError, OSError):
        return False
    return True
