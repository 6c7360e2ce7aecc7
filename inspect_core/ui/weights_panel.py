"""Networks that are not built in: which are worth having, and their weights, fetched by a click alone or imported."""

from functools import partial

import streamlit as st

from inspect_core.features.backbone_catalogue import CATALOGUE, TIMM_PREFIX, WORTH_HAVING, NetworkOffer, spec_of
from inspect_core.features.weights_download import download_apart, import_weights
from inspect_core.features.weights_files import find_by_name, find_weights, weights_advice
from inspect_core.runtime.jobs import Job
from inspect_core.ui import shell

OFFLINE = "Without a connection, fetch the file on another computer and import it here."
IMPORTED = "imported_weights"


def offer_missing(name: str, place: str = "") -> bool:
    """Whether a backbone has no weights here; if so, says it, with a button if they can be downloaded.

    place: distinguishes this offer from others on the page. Raises ValueError for an unknown backbone.
    """
    spec = spec_of(name, has_weights=False)
    if find_weights(spec) is not None:
        return False
    st.warning(f"{shell.escape(weights_advice(spec))}.", icon=":material/cloud_off:")
    if spec.download:
        _offer_download(name, f"Download {spec.download}", f"{place}-{name}")
    return True


def offer_networks() -> None:
    """Show the networks worth having, each with a download, and an import of a weights file."""
    st.markdown("**Better networks**")
    st.caption(f"They find more than the built-in ones and are slower. {OFFLINE}")
    for name, offer in WORTH_HAVING.items():
        row = st.container(horizontal=True, vertical_alignment="center")
        title = shell.escape(name.removeprefix(TIMM_PREFIX))
        row.markdown(f"{title}  \n:small[{shell.escape(_facts(offer))}]")
        if _has_weights(name):
            row.markdown(":material/check: installed")
        else:
            with row:
                _offer_download(name, f"Download {offer.megabytes:g} MB", name)
    _offer_import()


def _facts(offer: NetworkOffer) -> str:
    return f"{offer.licence}; takes {offer.times:g} times as long as EfficientNet-Lite0; {offer.gain}."


def _has_weights(name: str) -> bool:
    return find_weights(CATALOGUE[name]) is not None if name in CATALOGUE else find_by_name(name) is not None


def _offer_download(name: str, label: str, key: str) -> None:
    """Show the button that fetches a network's weights in the background, or that they are on their way."""
    subject = "weights", name
    if shell.jobs().find_by_subject(subject) is not None:
        st.caption(":material/hourglass_top: downloading; progress and *Cancel* are in the sidebar")
    elif st.button(shell.escape(label), key=f"download_weights-{key}", icon=":material/download:"):
        shell.begin(
            partial(
                shell.start, f"Downloading {name.removeprefix(TIMM_PREFIX)}", partial(_download, name), subject=subject
            )
        )


def _download(name: str, job: Job) -> None:
    download_apart(spec_of(name, has_weights=True), job.report)


def _offer_import() -> None:
    with st.form("import_weights", clear_on_submit=True, border=False):
        name = st.selectbox("Import the weights of", list(WORTH_HAVING), key="import_name")
        file = st.file_uploader("Weights file", ["pth", "safetensors"], key=IMPORTED)
        pressed = st.form_submit_button("Import file", icon=":material/upload:")
    if not pressed:
        return
    if file is None:
        st.error("Choose the weights file first.", icon=":material/error:")
        return
    with shell.errors_shown(ValueError, OSError), st.spinner("Checking the file…"):
        path = import_weights(spec_of(name, has_weights=True), file.getvalue())
        st.success(f"Imported as {shell.escape(path.name)}. Choose it above as the backbone.", icon=":material/check:")
