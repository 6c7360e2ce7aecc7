"""What follows a move of γ, M or σ: the progress of its preview and of the full fit, and the way back."""

import streamlit as st

from inspect_core.ui import shell
from inspect_core.ui.inspect import live_parameters
from inspect_core.ui.session import settings_at, settings_of
from inspect_core.workbench.previews import PreviewRun, State
from inspect_core.workbench.taught_product import TaughtProduct, describe

POLL_SECONDS = 0.4


def show(product: TaughtProduct, run: PreviewRun, position: int, drawn: State) -> None:
    """Below the sliders: how far a preview and the fit after it are, or why they failed.

    drawn: the state of the run that the bench shows.
    """
    if run.error:
        st.error(shell.escape(run.error), icon=":material/error:")
    elif not drawn.ended:
        _follow(product.id, position, tuple(drawn))
    _undo(product, f"Back to {describe(product.fitted())}.")


def offer_undo(product: TaughtProduct) -> None:
    """Show what was refitted last, and a button that goes back to the fit before."""
    if product.before is None:
        return
    st.caption(f"{shell.escape(describe(product.fitted()))} · fitted")
    _undo(product, f"Back to {describe(product.before.fitted())}, as it was.")


def _undo(product: TaughtProduct, words: str) -> None:
    st.button(
        "Undo", key=f"undo-{product.id}", icon=":material/undo:", help=shell.escape(words),
        on_click=live_parameters.undo, args=(product.id, live_parameters.shown(product, settings_of(product))),
    )  # fmt: skip


@st.fragment(run_every=POLL_SECONDS)
def _follow(taught_id: str, position: int, drawn: tuple[bool, ...]) -> None:
    """Progress of a run that is drawn in this state; the page is redrawn when the shown photo is ready, when all are,
    and after the full fit.
    """
    settings = settings_at(taught_id)
    run = None if settings is None else settings.preview
    if run is None or run.state(position) != drawn:
        st.rerun()
    if run.complete:
        st.progress(run.fitted, text=f"Fitting all good photos: {run.fitted:.0%}{shell.time_left(run.seconds_left)}")
    else:
        st.progress(run.done / max(len(run.photos), 1), text=f"Preview: {run.done} of {len(run.photos)} photos")
