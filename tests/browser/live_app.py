"""Inspect with a small part taught by the detector that the address names, for the tests in a real browser."""

from dataclasses import replace

import streamlit as st

from inspect_core.features.backbones import load
from inspect_core.images.folders import scan, split
from inspect_core.product_check import learn_product
from inspect_core.study import Study
from inspect_core.suggest import Suggestion
from inspect_core.ui import in_hand, inspect_panels, live_parameters, shell, teaching

PARAMETERS = {"corp": {"M": 128}, "kernel_pca": {"patches": 200}}

st.set_page_config(layout="wide")
st.session_state["gate_open"] = True
shell.gate("live_app.py")


@st.cache_resource
def teach(method: str) -> in_hand.InHand:
    parts = split(scan(teaching.SAMPLES / "flange"), seed=0)
    backbone = load("efficientnet_lite0", size=(128, 128), device="cpu")
    study = Study(
        parts, backbone, teaching.feature_store(), method=method, parameters=PARAMETERS[method], grid=(16, 16)
    )
    hand = in_hand.of_study("flange", study.fit(), guard=learn_product(study))
    suggestion = Suggestion(live_parameters.fitted(hand), hand.tray.live, "Suggested for this test.")
    return replace(hand, suggestion=suggestion)


taught = teach(st.query_params["method"])
hand = in_hand.current()
if hand is None or hand.tray.method != taught.tray.method:
    in_hand.take(in_hand.shelve(taught))
    st.rerun()
shell.sidebar()
hand = inspect_panels.add_photos(hand)
inspect_panels.hand_over_thumbnails(hand)
inspect_panels.bench_with_parameters(hand)
