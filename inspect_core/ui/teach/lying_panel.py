"""How parts lie in the photos: what aligning them would bring, the choice, and how far parts may be moved."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from inspect_core.images.alignment import MOST_SHIFT, MOST_TURN
from inspect_core.images.samples import Sample
from inspect_core.images.splitting import Split
from inspect_core.study.order import ALIGN, NO_ALIGNMENT, RIGID, Order
from inspect_core.tuning.aligning import Gain, gain_on, usual_preparation
from inspect_core.ui import shell


def choose_lying(good: Sequence[Sample], key: str) -> dict[str, Any]:
    """The fields of an order on alignment; preselected is the one that helps on these photos.

    key: of the files; it changes when they do.
    """
    gain = _gain(key, good)
    helps = gain is not None and gain.pays
    align = st.segmented_control(
        "How parts lie in the photos", ALIGN, default=RIGID if helps else Order.align, format_func=ALIGN.__getitem__,
        required=True, key=f"align-{key}",
        help="Parts that do not always lie the same way are located in each photo and laid over a reference, which is "
        "learned from the good photos. A part that is not found is never accepted.",
    )  # fmt: skip
    if gain is not None and helps:
        st.caption(shell.plain(gain.sentence()))
    if align == NO_ALIGNMENT:
        return {"align": align}
    left, right = st.columns(2)
    turn = left.number_input(
        "Turned by up to, degrees", 0, int(MOST_TURN), round(Order.align_turn), key=f"align_turn-{key}",
        help="Or as far as in the good photos, if that is farther.",
    )  # fmt: skip
    shift = right.number_input(
        "Shifted by up to, % of the picture", 0, round(100 * MOST_SHIFT), round(100 * Order.align_shift),
        key=f"align_shift-{key}", help="Or as far as in the good photos, if that is farther.",
    )  # fmt: skip
    return {"align": align, "align_turn": float(turn), "align_shift": shift / 100}


@st.cache_data(max_entries=32, show_spinner="Looking at how the parts lie…", show_time=True)
def _gain(key: str, _good: Sequence[Sample]) -> Gain | None:
    try:
        return gain_on(_good, usual_preparation(Order("", Split((), (), ()))), lambda fraction, step: None)
    except (ValueError, OSError):  # the network is missing; the page says so below
        return None
