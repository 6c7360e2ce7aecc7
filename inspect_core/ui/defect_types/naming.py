"""The kind of the part on the bench, and the live limit from which a kind is named."""

from dataclasses import replace

import streamlit as st

from inspect_core.defect_types.classifier import UNKNOWN_TYPE
from inspect_core.ui import crops, taught_part
from inspect_core.ui.taught_part import TaughtPart
from inspect_core.verdict import Limits


def type_sentence(taught: TaughtPart, position: int, live: dict[str, int], limits: Limits) -> str | None:
    """What inspection says of the kind of one photo on the tray: "scratch, 87 %" or "unknown defect type".

    None for an accepted part and while no kinds are taught. Raises ImageError for a photo that can no longer be read.
    """
    defect_types = taught.defect_types
    if defect_types is None:
        return None
    box = crops.found_box(taught, position, live, limits)
    if box is None:
        return None
    named = defect_types.of_embedding(crops.embedding(taught, position, box if defect_types.by_region else None))
    return f"{named[0]}, {100 * named[1]:.0f} %" if named else UNKNOWN_TYPE


def limit_slider(taught: TaughtPart, page: str) -> None:
    """The probability from which a kind is named, live; nothing while no kinds are taught."""
    if taught.defect_types is None:
        return
    key = f"minimum_confidence-{page}-{taught.id}"
    st.session_state[key] = round(100 * taught.defect_types.minimum_confidence)
    st.slider(
        "Minimum confidence", 0, 100, format="%d %%", key=key, on_change=_set_limit, args=(taught.id, key),
        help="A part whose likeliest kind is less likely than this is “unknown defect type”. Moved to the right, fewer "
        "strangers get a name, and fewer known ones.",
    )  # fmt: skip


def _set_limit(taught_id: str, key: str) -> None:
    limit = st.session_state[key] / 100
    taught_part.change(taught_id, lambda held: replace(held, defect_types=held.defect_types.with_limit(limit)))
