"""Inspect with a small part taught by the detector that the address names, for the tests in a real browser."""

import streamlit as st

from inspect_core.datasets.folders import scan, split
from inspect_core.features.backbones import load
from inspect_core.features.store import feature_store
from inspect_core.study.study import Study
from inspect_core.tuning.product_check_training import train_product_check
from inspect_core.ui import in_hand, shell, teaching_job
from inspect_core.ui.inspect import inspect_panels
from inspect_core.workbench import fitted_product, taught_product
from inspect_core.workbench.shelf import shelf

PARAMETERS = {"corp": {"M": 128}, "kernel_pca": {"patches": 200}}

st.set_page_config(layout="wide")
st.session_state["gate_open"] = True
shell.gate("live_app.py")


@st.cache_resource
def teach(method: str) -> taught_product.TaughtProduct:
    parts = split(scan(teaching_job.SAMPLES / "flange"), seed=0)
    backbone = load("efficientnet_lite0", size=(128, 128), device="cpu")
    study = Study.from_photos(
        parts, backbone, feature_store(), method=method, parameters=PARAMETERS[method], grid=(16, 16)
    )
    return fitted_product.product_from_study(
        "flange",
        study.fit(),
        product_check=train_product_check(study.extractor.backbone, study.split.train, study.split.calibration),
    )


open_product = teach(st.query_params["method"])
part = in_hand.current()
if part is None or part.study.method != open_product.study.method:
    in_hand.take(shelf().put(open_product))
    st.rerun()
shell.show_jobs()
inspect_panels.bench_with_parameters(part)
