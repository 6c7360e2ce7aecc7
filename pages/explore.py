"""Why does it think so? The patches on a map, where variance goes, how figures follow a parameter."""

import streamlit as st

from inspect_core.ui import in_hand, open_products, shell
from inspect_core.ui.explore import patch_map, unusual_parts, variance_panels
from inspect_core.ui.session import pending_fit

VIEWS = {
    "Patch map": patch_map.patch_map,
    "Variance": variance_panels.variance,
    "Sensitivity": variance_panels.sensitivity,
    "Most unusual good parts": unusual_parts.show_unusual_parts,
}

shell.gate("pages/explore.py")

open_products.title("Explore")
st.caption("Why this verdict? See what the network and the detector respond to.")

product = in_hand.current()
if product is None:
    shell.show_no_product("This page shows what the network and the detector respond to in a taught product.")
    st.stop()
if words := pending_fit(product):
    st.info(shell.escape(words), icon=":material/hourglass_top:")
view = st.segmented_control(
    "View", list(VIEWS), default=next(iter(VIEWS)), required=True, key="explore_view", label_visibility="collapsed"
)
VIEWS[view](product)
