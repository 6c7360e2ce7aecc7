"""Why does it think so? The patches on a map, where variance goes, how figures follow a parameter."""

import streamlit as st

from inspect_core.ui import open_product_store, open_products, shell
from inspect_core.ui.explore import patch_map, unusual_parts, variance_panels

VIEWS = {
    "Map of patches": patch_map.patch_map,
    "Variance": variance_panels.variance,
    "Sensitivity": variance_panels.sensitivity,
    "Strangest good parts": unusual_parts.strangest,
}

shell.gate("pages/explore.py")

open_products.title("Explore")
st.caption("Why does it think so? What the network and the detector see in your parts.")

taught = open_product_store.current()
if taught is None:
    shell.nothing_taught("This page shows what the network and the detector see in a taught part.")
    st.stop()
view = st.segmented_control(
    "Look at", list(VIEWS), default=next(iter(VIEWS)), required=True, key="explore_view", label_visibility="collapsed"
)
VIEWS[view](taught)
