"""Which defect is it? Label a few, learn, see whether the probability can be trusted."""

import streamlit as st

from inspect_core.ui import shell, taught_part
from inspect_core.ui.defect_types import gallery, panels, results

shell.gate("pages/defect_types.py")

st.title("Kinds")
st.caption("Which defect is it? From a few labelled examples Loupe names the kind, or says that it knows no such kind.")

hand = taught_part.current()
if hand is None:
    shell.nothing_taught("Kinds names the defects of a taught part.")
    st.stop()
if hand.kinds is not None:
    results.results(hand)
    panels.say_if_changed(hand)
st.subheader("Examples")
by_region = panels.learn(hand)
gallery.gallery(hand, by_region)
