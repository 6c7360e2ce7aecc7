"""Which defect is it? Label a few, learn, see whether the probability can be trusted."""

import streamlit as st

from inspect_core.ui import in_hand, open_products, shell, teaching_job
from inspect_core.ui.defect_types import gallery, training_panel, training_results

shell.gate("pages/defect_types.py")

open_products.title("Defect types")
st.caption(
    "Which defect is it? Loupe learns defect types from a few labelled examples and reports when a defect matches "
    "none of them."
)

product = in_hand.current()
if product is None:
    shell.show_no_product("This page names the defects of a taught product.")
    st.stop()
if product.defect_types is not None:
    training_results.results(product)
    training_panel.say_if_changed(product)
if product.product == teaching_job.FIRST_SAMPLE and training_panel.LEARNABLE_SAMPLE in teaching_job.samples():
    training_panel.show_sample_hint()
st.header("Examples")
by_region = training_panel.learn(product)
gallery.gallery(product, by_region)
