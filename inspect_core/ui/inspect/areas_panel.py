"""Areas on Inspect: drawn on the part in the browser, checked and put into force here."""

from pathlib import Path

import numpy as np
import streamlit as st

from inspect_core.images.areas import Areas, areas_of
from inspect_core.images.boxes import reduced
from inspect_core.judge.anomaly_map import AREA
from inspect_core.line.html_page import data_url
from inspect_core.ui import shelf, shell
from inspect_core.ui.bench import pixels as bytes_of
from inspect_core.ui.bench.bench import noted
from inspect_core.ui.session import Settings, settings_of
from inspect_core.ui.taught_part import TaughtPart

SIDE = 1024
"""Pixels of the longer side of the picture that is drawn on."""
_FRONTEND = Path(__file__).with_name("areas")
_DRAWING = st.components.v2.component(
    "loupe_areas",
    html=(_FRONTEND / "areas.html").read_text(encoding="utf-8"),
    css=(_FRONTEND / "areas.css").read_text(encoding="utf-8"),
    js=(_FRONTEND / "areas.js").read_text(encoding="utf-8"),
)


def take(taught: TaughtPart, settings: Settings) -> TaughtPart:
    """The part with the last drawing in force; for invalid areas a message, and the drawing stays."""
    drawn = (st.session_state.get(_key(taught)) or {}).get("areas")
    if not drawn or drawn["stamp"] == settings.areas_stamp:
        return taught
    settings.areas_stamp, settings.areas_problem = drawn["stamp"], ""
    scored, alignment = taught.scored, taught.preparation.alignment
    reference = alignment.digest if alignment else ""
    try:
        areas = Areas(areas_of(drawn["areas"]), reference) if drawn["areas"] else None
        if areas is not None:
            areas.check(scored.size, alignment, least=settings.live[AREA])
    except ValueError as error:
        settings.areas_problem = str(error)
        return taught
    changed = shelf.change(taught.id, lambda held: held.with_areas(areas))
    if changed is None:  # removed from the shelf since this run began
        st.rerun()
    return changed


def show(taught: TaughtPart, position: int, pixels: np.ndarray) -> None:
    """An expander below the bench. pixels: (H, W, 3) uint8, the photo shown, as placed."""
    areas = taught.scored.areas
    if taught.study is None:
        if areas is not None:
            st.caption("Areas are fixed by the recipe. Teach again to change them.")
        return
    with st.expander("Areas", key=f"areas-open-{taught.id}", on_change="rerun") as opened:
        if not opened.open:
            return
        moves = "They move with the part." if taught.preparation.alignment else "They stay where they are in the photo."
        st.caption(f"Inspect only some places, ignore others, or judge some more strictly. {moves}")
        if problem := settings_of(taught).areas_problem:
            st.error(shell.plain(problem), icon=":material/error:")
        photo, size = bytes_of.photo_file(reduced(pixels, SIDE))
        _DRAWING(
            key=_key(taught),
            data={
                "photo": data_url(photo, "png"),
                "size": size,
                "areas": [] if areas is None else areas.params()["areas"],
                "in_force": settings_of(taught).areas_stamp,
                "name": taught.scored.photos[position].name,
            },
            on_areas_change=noted,
        )


def _key(taught: TaughtPart) -> str:
    return f"areas-{taught.id}"
