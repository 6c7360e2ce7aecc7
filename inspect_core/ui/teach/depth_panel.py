"""The bit depth of 16-bit photos on Teach: what was found, its histogram, and what can be chosen."""

import streamlit as st

from inspect_core.images.depth import DEPTHS
from inspect_core.images.samples import Samples
from inspect_core.ui import shell


def choose_depth(samples: Samples) -> Samples:
    """The photos, read at the chosen depth; photos of 8 bits offer no choice and are returned unchanged."""
    depth, values = samples.depth, samples.values
    if depth is None or values is None:
        return samples
    with st.expander("Bit depth", expanded=True):
        allowed = [bits for bits in DEPTHS if bits >= depth.bits]
        bits = st.selectbox(
            "Bit depth of the camera", allowed, format_func=lambda bits: f"{bits} bits", key="depth_bits",
            help="The lowest choice holds every value in the good photos. Choose more bits if the camera has more and "
            "the photos are dark.",
        )  # fmt: skip
        learned = st.toggle(
            "Stretch the range used by the good photos from black to white", key="depth_learned",
            help="For photos that fill a small part of the range. The two values are learned once and kept in the "
            "recipe, so a dim lamp still shows.",
        )  # fmt: skip
        chosen = samples.read_as(bits=bits, learned=learned)
        depth = chosen.depth or depth
        st.markdown(shell.plain(depth.sentence()))
        bars = depth.histogram(values)
        st.bar_chart(
            {"Value": [first for first, _ in bars], "Pixels, %": [100 * share for _, share in bars]},
            x="Value", y="Pixels, %", height=180,
        )  # fmt: skip
    return chosen
