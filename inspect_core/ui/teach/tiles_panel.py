"""Tiles on Teach: how much of the smallest defect is left after squashing, and whether large photos are cut instead."""

from collections.abc import Sequence

import streamlit as st

from inspect_core.images.samples import Sample
from inspect_core.images.tiles import CELLS, TilePlan
from inspect_core.tuning.tiling import OFF, ON, tiled
from inspect_core.ui import shell

LARGE = 2
"""A photo this many times as large as the network's input loses detail when squashed."""


def choose_tiles(photos: Sequence[Sample], size: tuple[int, int]) -> TilePlan | None:
    """The plan as chosen; None for photos that are squashed to `size`. Small photos offer no choice."""
    if max(side / own for side, own in zip(photos[0].size, size, strict=True)) < LARGE:
        return None
    with st.expander("Small defects in large photos", expanded=True):
        left, right = st.columns(2)
        smallest = left.number_input(
            "Smallest defect that matters, px", 1, 2000, 20, key="smallest_defect",
            help="Its longer side, in pixels of the photos as taken.",
        )  # fmt: skip
        cell = right.selectbox(
            "Cells", [ON, *map(str, CELLS)], key="tile_cell", format_func=lambda each: _CELLS.get(each, f"{each} px"),
            help="Loupe learns what is normal in each cell. Finer cells locate a defect more closely, but take more "
            "memory or leave room for fewer features.",
        )  # fmt: skip
        try:
            _, said = tiled(OFF, photos, smallest, size)
            st.markdown(shell.plain(" ".join(said)))
            wanted = st.toggle(
                "See each photo in tiles", key="tiles",
                help="Each photo is cut into overlapping tiles that the network sees one by one, and judged as a "
                "whole. Time grows in proportion to the number of tiles.",
            )  # fmt: skip
            if not wanted:
                return None
            plan, said = tiled(cell, photos, smallest, size)
        except ValueError as error:
            st.error(shell.plain(error), icon=":material/error:")
            return None
        st.caption(shell.plain(said[-1]))
    return plan


_CELLS = {ON: "as fine as memory allows"}
