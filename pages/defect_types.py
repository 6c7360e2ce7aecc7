"""Which defect is it? Label a few, learn, see whether the probability can be trusted."""

import streamlit as st

from inspect_core.ui import open_product_store, open_products, shell, teaching_job
from inspect_core.ui.defect_types import gallery, training_panel, training_results

shell.gate("pages/defect_types.py")

open_products.title("Defect types")
st.caption(
    "Which defect is it? Loupe learns defect types from a few labelled examples and reports when a defect matches "
    "none of them."
)

taught = open_product_store.current()
if taught is None:
    shell.nothing_taught("This page names the defects of a taught product.")
    st.stop()
if taught.defect_types is not None:
    training_results.results(taught)
    training_panel.say_if_changed(taught)
if taught.product == teaching_job.FIRST_SAMPLE and training_panel.TELLING in teaching_job.samples():
    training_panel.say_which_sample_tells()
st.header("Examples")
by_region = training_panel.learn(taught)
gallery.gallery(taught, by_region)
