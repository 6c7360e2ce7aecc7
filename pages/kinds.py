"""Which defect is it? Label a few, learn, see whether the probability can be trusted."""

import streamlit as st

from inspect_core.ui import in_hand, kinds_gallery, kinds_panels, kinds_results, shell

shell.gate("pages/kinds.py")

st.title("Kinds")
st.caption("Which defect is it? From a few labelled examples Loupe names the kind, or says that it knows no such kind.")

hand = in_hand.current()
if hand is None:
    shell.nothing_taught("Kinds names the defects of a taught part.")
    st.stop()
if hand.kinds is not None:
    kinds_results.results(hand)
    kinds_panels.say_if_changed(hand)
st.subheader("Examples")
by_region = kinds_panels.learn(hand)
kinds_gallery.gallery(hand, by_region)
