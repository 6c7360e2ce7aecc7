"""How do these methods think? Playgrounds with points to drag; no part needs to be taught."""

import streamlit as st

from inspect_core.ui import shell
from inspect_core.ui.methods import embedding_playgrounds, novelty, posteriors, quadric_fits

VIEWS = {
    "Novelty detection": (novelty.novelty,),
    "Quadrics": (quadric_fits.quadric_fits,),
    "Semi-orthogonal": (embedding_playgrounds.semi_orthogonal,),
    "Forest, net and kernel density": (posteriors.posteriors, posteriors.shifts),
    "CoRP": (embedding_playgrounds.corp,),
}

shell.gate("pages/methods.py")

st.title("Methods")
view = st.segmented_control(
    "View", list(VIEWS), default=next(iter(VIEWS)), required=True, key="methods_view", label_visibility="collapsed"
)
for part in VIEWS[view]:
    part()
