"""What can be done with a preview: apply it or discard it; its progress; and the way back after it was applied."""

import streamlit as st

from inspect_core.ui import open_product_store, previews, shell
from inspect_core.ui.inspect import live_parameters
from inspect_core.ui.previews import PreviewRun
from inspect_core.ui.session import settings_at
from inspect_core.ui.taught_product import TaughtProduct

POLL_SECONDS = 0.4


def show(product: TaughtProduct, run: PreviewRun, position: int, drawn: tuple[bool, bool]) -> None:
    """Below the bench. A preview shows verdicts; a recipe is made of it only after a full pass has applied it.

    drawn: the state of the run that the bench shows.
    """
    _, ended = drawn
    if run.error:
        st.error(shell.escape(run.error), icon=":material/error:")
    elif not ended:
        _follow(product.id, position, drawn)
    left, middle, _ = st.columns([2, 2, 5])
    parameter = live_parameters.describe(run.parameters)
    if left.button(
        "Apply", key=f"apply-{product.id}", type="primary", icon=":material/check:", disabled=not run.live,
        width="stretch", help=(
            "Fits all good photos with these values in the background. Until then they affect neither limits nor "
            "recipes."
        ),
    ):  # fmt: skip
        shell.begin(lambda: _apply(product, run, parameter))
    middle.button(
        "Discard preview", key=f"leave-{product.id}", width="stretch", icon=":material/close:",
        on_click=live_parameters.discard_preview, args=(product.id,),
    )  # fmt: skip


def offer_undo(product: TaughtProduct) -> None:
    """Show what was changed in a refit of a product that is still open, and a button that goes back to that."""
    before = open_product_store.find(product.refit_of) if product.refit_of else None
    if before is None or before.fitted() == product.fitted():
        return
    row = st.container(horizontal=True, vertical_alignment="center")
    now, earlier = (shell.escape(live_parameters.describe(other.fitted())) for other in (product, before))
    row.caption(f"{now} · fitted")
    words = f"Back to {earlier}, as it was. This fit stays open in the sidebar."
    if row.button("Undo", key=f"undo-{product.id}", icon=":material/undo:", help=words):
        open_product_store.take(before.id)
        st.rerun()


def _apply(product: TaughtProduct, run: PreviewRun, parameter: str) -> None:
    open_product_store.require_room()
    shell.start(f"Applying {parameter}", lambda job: previews.apply(product, run, job.report))


@st.fragment(run_every=POLL_SECONDS)
def _follow(taught_id: str, position: int, drawn: tuple[bool, bool]) -> None:
    """Progress of a preview; the page is redrawn when the shown photo is ready and when all are."""
    settings = settings_at(taught_id)
    run = None if settings is None else settings.preview
    if run is None or run.state(position) != drawn:
        st.rerun()
    st.progress(run.done / max(len(run.photos), 1), text=f"Preview: {run.done} of {len(run.photos)} photos")
