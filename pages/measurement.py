"""Is the measurement fit? Parts of known truth, appraised several times by Loupe and by people."""

import streamlit as st

from inspect_core.ui import shell
from inspect_core.ui.measurement import msa_panels

shell.gate("pages/measurement.py")

if msa_panels.appraise(msa_panels.chosen()):
    st.stop()
st.title("MSA study")
st.caption(
    "Measurement system analysis: is the inspection capable? Loupe and human appraisers rate known parts several times."
)
stem = msa_panels.choose()
if stem is None:
    msa_panels.new()
else:
    msa_panels.of_one(stem)
