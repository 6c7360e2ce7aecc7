"""Which defect is it? Label a few, learn, see whether the probability can be trusted."""

import streamlit as st

from inspect_core.ui import open_parts, shelf, shell, teaching
from inspect_core.ui.defect_types import gallery, panels, results

shell.gate("pages/defect_types.py")

open_parts.title("Defect types")
st.caption(
    "Which defect is it? Loupe learns defect types from a few labelled examples and says when it does not know one."
)

taught = shelf.current()
if taught is None:
    shell.nothing_taught("This page names the defects of a taught part.")
    st.stop()
if taught.defect_types is not None:
    results.results(taught)
    panels.say_if_changed(taught)
if taught.product == teaching.FIRST_SAMPLE and panels.TELLING in teaching.samples():
    panels.say_which_sample_tells()
st.header("Examples")
by_region = panels.learn(taught)
gallery.gallery(taught, by_region)
