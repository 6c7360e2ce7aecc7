"""Counts of verdicts as tiles, each with the sign and the colour of its verdict."""

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED, VERDICT_PHRASES, VERDICT_SYMBOLS

WIDTH = 140
"""Pixels of a tile."""


def show(counts: Mapping[str, int], key: str, *, place: DeltaGenerator | None = None) -> DeltaGenerator:
    """Show how many parts have which verdict, with their shares; returns the row, for further tiles.

    counts: by verdict; parts without a verdict of their own are shown where there are any. key: unique on the page.
    """
    row = (place or st).container(horizontal=True, gap="small")
    total = sum(counts.values())
    for word, phrase in VERDICT_PHRASES.items():
        if word in (NOT_LOCATED, NOT_JUDGED) and not counts.get(word):
            continue
        share = 100 * counts.get(word, 0) / max(total, 1)
        with row.container(key=f"verdict-{word.replace(' ', '-')}-{key}", width=WIDTH):
            st.metric(
                f"{VERDICT_SYMBOLS[word]} {phrase.capitalize()}",
                f"{counts.get(word, 0):,}",
                "under 0.1%" if 0 < share < 0.05 else f"{share:.1f}%",
                delta_color="off",
                delta_arrow="off",
                border=True,
                height="stretch",
            )
    return row
