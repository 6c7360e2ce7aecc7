"""The menu on a tablet: it folds away once a page was chosen."""

from pathlib import Path

import streamlit as st

_MENU = st.components.v2.component("loupe_menu", js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"))


def fold_when_narrow(page: str) -> None:
    """Fold the sidebar in a narrow window, once for each page that is opened; call it in the sidebar."""
    _MENU(key="menu-fold", data=page)
