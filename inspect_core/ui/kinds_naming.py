"""The kind of the part on the bench, its live limit, and the crops and embeddings that kinds are learned from."""

import hashlib
from pathlib import Path

import numpy as np
import streamlit as st

from inspect_core.features.store import Store
from inspect_core.images.read import ImageError, read_mask
from inspect_core.judge.anomaly_map import regions, scale_region
from inspect_core.kinds import NOT_KNOWN, Box, embed
from inspect_core.kinds_examples import boxes_of_mask
from inspect_core.ui import teaching
from inspect_core.ui.in_hand import InHand
from inspect_core.verdict import Limits


def kind_sentence(hand: InHand, position: int, live: dict[str, int], limits: Limits) -> str | None:
    """What inspection says of the kind of one photo on the tray: "scratch, 87 %" or "not a known kind".

    None for an accepted part and while no kinds are taught.
    """
    if hand.kinds is None:
        return None
    box = found_box(hand, position, live, limits)
    if box is None:
        return None
    named = hand.kinds.of_embedding(embedding(hand, position, box if hand.kinds.by_region else None))
    return f"{named[0]}, {100 * named[1]:.0f} %" if named else NOT_KNOWN


def limit_slider(hand: InHand, page: str) -> None:
    """The probability from which a kind is named, live; nothing while no kinds are taught."""
    if hand.kinds is None:
        return
    key = f"known_from-{page}-{hand.id}"
    st.session_state[key] = round(100 * hand.kinds.known_from)
    st.slider(
        "Name a kind from", 0, 100, format="%d %%", key=key, on_change=_set_limit, args=(hand, key),
        help="A part whose likeliest kind is less likely than this is “not a known kind”. Moved to the right, fewer "
        "strangers get a name, and fewer known ones.",
    )  # fmt: skip


def found_box(hand: InHand, position: int, live: dict[str, int], limits: Limits) -> Box | None:
    """The largest region above the limit in pixels of the photo, as inspection finds it; None when accepted."""
    return next(iter(found_boxes(hand, position, live, limits)), None)


def found_boxes(hand: InHand, position: int, live: dict[str, int], limits: Limits) -> tuple[Box, ...]:
    """The regions above the limit in pixels of the photo, the largest first."""
    return _found_boxes(hand, hand.id, position, live, limits.review)


def true_boxes(hand: InHand, position: int) -> tuple[Box, ...]:
    """Boxes of the pieces of a photo's true mask, largest first; none without a readable mask."""
    photo = hand.tray.photos[position]
    return _true_boxes(photo.mask, photo.size) if photo.mask else ()


def embedding(hand: InHand, position: int, box: Box | None) -> np.ndarray:
    """(d,) embedding of a photo on the tray or of the square around a box on it, kept in the feature store."""
    backbone, store = hand.preparation.backbone, _store(hand)
    parts = (backbone.name, backbone.weight_digest, backbone.size, backbone.engine, box)
    key = f"{hand.tray.photos[position].digest}-{hashlib.sha256(repr(parts).encode()).hexdigest()}-embedding"
    kept = store.get(key)
    if kept is None:
        kept = embed(hand.pixels(position), box, backbone)
        store.put(key, kept)
    return kept


def _set_limit(hand: InHand, key: str) -> None:
    hand.kinds = hand.kinds.with_limit(st.session_state[key] / 100)


@st.cache_data(max_entries=4096, show_spinner=False)
def _found_boxes(_hand: InHand, hand_id: str, position: int, live: dict[str, int], review: float) -> tuple[Box, ...]:
    photo = _hand.tray.photos[position]
    found = regions(_hand.tray.map(position, **live), review)
    scaled = [scale_region(region, _hand.tray.size, photo.size) for region in found]
    return tuple(region.box for region in sorted(scaled, key=lambda region: -region.area))


@st.cache_data(max_entries=4096, show_spinner=False)
def _true_boxes(mask: Path, size: tuple[int, int]) -> tuple[Box, ...]:
    try:
        return boxes_of_mask(read_mask(mask, size))
    except ImageError:
        return ()


def _store(hand: InHand) -> Store:
    return hand.study.store if hand.study is not None else teaching.feature_store()
