"""Outlines drawn on a picture in the browser: areas, and where a defect is."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import streamlit as st

from inspect_core.images.areas import Outline
from inspect_core.images.boxes import downscale
from inspect_core.line.html_page import data_url
from inspect_core.ui.bench import pixels as bytes_of
from inspect_core.ui.bench.bench import NEVER, ignore_callback, stamp_of
from inspect_core.ui.session import SessionSettings

SIDE = 1024
"""Pixels of the longer side of the picture that is drawn on."""
_FRONTEND = Path(__file__).with_name("outlines")
_EDITOR = st.components.v2.component(
    "loupe_outlines",
    html=(_FRONTEND / "outlines.html").read_text(encoding="utf-8"),
    css=(_FRONTEND / "outlines.css").read_text(encoding="utf-8"),
    js=(_FRONTEND / "outlines.js").read_text(encoding="utf-8"),
)


def offer_of(words: str, button: str, mode: str, outlines: Sequence[Outline]) -> dict | None:
    """Outlines to take over by a click, each alone or all by the button; None where there are none."""
    return {"words": words, "button": button, "mode": mode, "outlines": outlines} if outlines else None


def show(
    key: str, picture: np.ndarray, name: str, modes: Mapping[str, str], rows: Sequence[Mapping], offer: dict | None
) -> None:
    """Show the editor. picture: (H, W, 3) uint8 of the photo by this name; modes: what can be drawn, in words; rows:
    what is drawn already, each with its mode, outline and strictness; offer: as `offer_of` makes it.
    """
    file, size = bytes_of.photo_file(downscale(picture, SIDE))
    data = {"photo": data_url(file, "png"), "size": size, "name": name, "modes": modes, "areas": rows, "offer": offer}
    _EDITOR(key=key, data=data, on_areas_change=ignore_callback)


def drawn_since(key: str, settings: SessionSettings) -> list | None:
    """The rows that were drawn since they were last asked for, as the browser sent them; None for nothing new."""
    message = (st.session_state.get(key) or {}).get("areas") or {}
    if stamp_of(message) in (NEVER, settings.drawing_stamps.get(key)):
        return None
    settings.drawing_stamps[key] = stamp_of(message)
    rows = message.get("areas")
    return rows if isinstance(rows, list) else None
