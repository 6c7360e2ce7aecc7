"""The scale of the photos on Inspect: with it areas are shown in mm² too. No verdict depends on it."""

from dataclasses import replace

import streamlit as st

from inspect_core.recipe_format.fields import SCALE
from inspect_core.ui import shelf
from inspect_core.ui.taught_part import TaughtPart


def show(taught: TaughtPart) -> None:
    """An expander below the bench."""
    key = f"scale-{taught.id}"
    st.session_state[key] = taught.mm_per_pixel
    with st.expander("Scale"):
        st.number_input(
            "mm per pixel of the photo", min_value=0.0, max_value=100.0, step=0.001, format="%.6g", key=key,
            placeholder="not known", on_change=_set, args=(taught.id, key),
            help="Measure a known length in a photo and divide: 25 mm across 500 pixels is 0.05. Areas and regions "
            "are then also given in mm and mm², and a saved recipe keeps the scale. Verdicts do not change.",
        )  # fmt: skip


def _set(taught_id: str, key: str) -> None:
    scale = st.session_state[key]
    scale = scale if SCALE.holds(scale) else None
    shelf.change(taught_id, lambda held: replace(held, mm_per_pixel=scale))
