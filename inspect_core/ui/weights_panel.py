"""Weights that a backbone lacks on this machine: where to put the file, and a download that only a click starts."""

import streamlit as st

from inspect_core.features.backbone_catalogue import spec_of
from inspect_core.features.weights import download_weights, find_weights, weights_advice
from inspect_core.ui import shell


def offer_missing(name: str, place: str = "") -> bool:
    """Return whether a backbone has no weights here; if so, says it, with a button if they can be downloaded.

    place: distinguishes this offer from others on the page. Raises ValueError for an unknown backbone.
    """
    spec = spec_of(name, has_weights=False)
    if find_weights(spec) is not None:
        return False
    st.warning(f"{shell.escape(weights_advice(spec))}.", icon=":material/cloud_off:")
    if not spec.download or not st.button(
        f"Download {shell.escape(spec.download)}", key=f"download_weights-{place}-{name}", icon=":material/download:"
    ):
        return True
    try:
        with st.spinner(f"Downloading the weights of {shell.escape(name)}…", show_time=True):
            download_weights(spec)
    except ValueError as error:
        st.error(shell.escape(error), icon=":material/error:")
        return True
    st.rerun()
