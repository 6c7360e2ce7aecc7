"""The kind of the part on the bench, and the live limit from which a kind is named."""

from dataclasses import replace

import streamlit as st

from inspect_core.defect_types.classifier import NOT_KNOWN
from inspect_core.ui import crops, taught_part
from inspect_core.ui.taught_part import InHand
from inspect_core.verdict import Limits


def kind_sentence(hand: InHand, position: int, live: dict[str, int], limits: Limits) -> str | None:
    """What inspection says of the kind of one photo on the tray: "scratch, 87 %" or "not a known kind".

    None for an accepted part and while no kinds are taught. Raises ImageError for a photo that can no longer be read.
    """
    kinds = hand.kinds
    if kinds is None:
        return None
    box = crops.found_box(hand, position, live, limits)
    if box is None:
        return None
    named = kinds.of_embedding(crops.embedding(hand, position, box if kinds.by_region else None))
    return f"{named[0]}, {100 * named[1]:.0f} %" if named else NOT_KNOWN


def limit_slider(hand: InHand, page: str) -> None:
    """The probability from which a kind is named, live; nothing while no kinds are taught."""
    if hand.kinds is None:
        return
    key = f"known_from-{page}-{hand.id}"
    st.session_state[key] = round(100 * hand.kinds.known_from)
    st.slider(
        "Name a kind from", 0, 100, format="%d %%", key=key, on_change=_set_limit, args=(hand.id, key),
        help="A part whose likeliest kind is less likely than this is “not a known kind”. Moved to the right, fewer "
        "strangers get a name, and fewer known ones.",
    )  # fmt: skip


def _set_limit(hand_id: str, key: str) -> None:
    limit = st.session_state[key] / 100
    taught_part.change(hand_id, lambda held: replace(held, kinds=held.kinds.with_limit(limit)))
