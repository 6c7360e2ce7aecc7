"""Why does it think so? The patches on a map, where variance goes, how figures follow a parameter."""

import streamlit as st

from inspect_core.ui import explore_map, explore_panels, in_hand, shell

VIEWS = {
    "Map of patches": explore_map.patch_map,
    "Variance": explore_panels.variance,
    "Sensitivity": explore_panels.sensitivity,
}

shell.gate("pages/explore.py")

st.title("Explore")
st.caption("Why does it think so? What the network and the detector see in your parts.")

hand = in_hand.current()
if hand is None:
    shell.nothing_taught("Explore shows what a taught part looks like from inside.")
    st.stop()
view = st.segmented_control(
    "Look at", list(VIEWS), default=next(iter(VIEWS)), required=True, key="explore_view", label_visibility="collapsed"
)
VIEWS[view](hand)
