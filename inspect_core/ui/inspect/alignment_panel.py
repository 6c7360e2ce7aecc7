"""Where the part lies in the photo shown: what was found, and a wipe between the reference and the part."""

import numpy as np
import streamlit as st

from inspect_core.images.boxes import downscale
from inspect_core.images.part_pose import PartPose
from inspect_core.images.photo_reader import squash
from inspect_core.ui import shell
from inspect_core.ui.inspect.shown_photo import ShownPhoto

SIDE = 640
"""Pixels of the longer side of the two pictures."""
LINE = (250, 176, 5)


def show(photo: ShownPhoto) -> None:
    """Show an expander below the bench; nothing for a product that was taught without alignment."""
    product = photo.product
    alignment, located = product.extractor.alignment, product.scored.photos[photo.position].placed.pose
    if alignment is None or located is None:
        return
    with st.expander("Part position", key=f"alignment-{product.id}", on_change="rerun") as opened:
        if not opened.open:
            return
        st.markdown(_in_words(located))
        for sentence in alignment.sentences():
            st.caption(shell.escape(sentence))
        part = st.slider(
            "Reference on the left, this part on the right", 0, 100, 50, format="%d%%", key=f"wipe-{product.id}",
            help="Drag to check the alignment: edges must line up.",
        )  # fmt: skip
        st.image(wiped(alignment.reference, photo.pixels, part / 100), width="content")


def wiped(reference: np.ndarray, picture: np.ndarray, at: float) -> np.ndarray:
    """(H, W, 3) uint8: the reference left of this fraction of the width, the picture right of it."""
    shown = downscale(picture, SIDE)
    column = round(at * shown.shape[1])
    shown[:, :column] = squash(reference, shown.shape[:2])[:, :column]
    shown[:, max(column - 1, 0) : column + 1] = LINE
    return shown


def _in_words(located: PartPose) -> str:
    x, y = located.shift
    size = f", scaled by {located.scale:.3f}" if abs(located.scale - 1) > 5e-4 else ""
    return (
        f"In this photo the part is shifted by {x:+.1%} of the width and {y:+.1%} of the height, rotated by "
        f"{located.angle:+.1f}°{size}; correlation with the reference {located.correlation:.2f}. Shown aligned with "
        "the reference."
        + (" The part is rotationally symmetric, so its true angle may differ." if located.ambiguous else "")
    )
