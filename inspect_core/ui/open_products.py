"""The list of open products, the same in every window: choose one, close one, teach an interrupted one again."""

import time
from collections import Counter

import streamlit as st

from inspect_core.audit import life_cycle
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.methods.registry import title_of
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import JobRejected
from inspect_core.study import unsaved_products
from inspect_core.study.unsaved_products import OpenProduct
from inspect_core.ui import open_product_store, open_recipe, shell, teaching_job
from inspect_core.ui.taught_product import TaughtProduct

THUMBNAIL = 36  # pixels of the longer side


def in_sidebar() -> None:
    """Show all open parts, and what is known of the one in use."""
    product = open_product_store.current()
    parts = open_product_store.open_parts()
    if not parts:
        st.caption("No product has been taught yet.")
    names = Counter(part.product for part in parts)
    for part in parts:
        detector = title_of(part.detector, is_short=True) if part.detector and names[part.product] > 1 else ""
        _part(part, detector, chosen=product is not None and part.id == product.id)
    if product is not None:
        if product.is_saved:
            st.caption(shell.escape(product.describe() + _state(product)))
        st.caption(f"Runs on {shell.escape(product.extractor.backbone.engine)}")


def title(page: str) -> None:
    """Show the head of a page about a part: its own name and that of the part in use."""
    product = open_product_store.current()
    st.title(page if product is None else f"{page} :gray[{shell.escape(product.product)}]")


def open_last() -> bool:
    """Open the last part that a restart has left on disk, in the background; False without one."""
    for part in open_product_store.open_parts():
        if not part.problem and not part.interrupted:
            open_recipe.start(part)
            return True
    return False


def _part(part: OpenProduct, detector: str, *, chosen: bool) -> None:
    """Show one product, with what can be done with it; detector: named where another product has the same name."""
    name = shell.escape(part.product)
    state = "saved" if part.saved else "not saved"
    if part.interrupted:
        state = "teaching was interrupted"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if part.thumbnail:
            st.image(part.thumbnail, width=THUMBNAIL, alt=f"A good part of {name}")
        with st.container(gap=None):
            label = f"**{name}**" if chosen else name
            widget_key = f"open-{part.id}-sidebar"
            closed = part.interrupted or (bool(part.problem) and open_product_store.find(part.id) is None)
            now = st.button(label, key=widget_key, type="tertiary", disabled=closed, help="Open it on Inspect")
            st.caption(shell.escape(" · ".join(filter(None, (detector, state, _when(part.opened_at))))))
        action = "Delete" if closed else "Close"
        key = f"close-{part.id}-sidebar"
        if st.button(action, key=key, type="tertiary", help=f"{action} {name}"):
            _close(part)
    if part.interrupted and st.button(
        "Teach again", key=f"again-{part.id}-sidebar", icon=":material/restart_alt:", help="With the same settings"
    ):
        shell.begin(lambda: _teach_again(part.id))
    if part.problem:
        st.caption(f":material/warning: {shell.escape(part.problem)}")
    if now:
        _choose(part)
        st.rerun()


def _choose(part: OpenProduct) -> None:
    if open_product_store.find(part.id) is not None:
        open_product_store.take(part.id)
        return
    try:
        open_recipe.start(part)
    except JobRejected as error:
        st.toast(shell.escape(error), icon=":material/hourglass_top:")


def _teach_again(part_id: str) -> None:
    with shell.errors_shown(ValueError):
        order = unsaved_products.interrupted(workspace.open_folder() / part_id)
        open_product_store.close(part_id)
        teaching_job.start(order)


def _close(part: OpenProduct) -> None:
    if part.saved or part.interrupted:
        open_product_store.close(part.id)
        st.rerun()
    _ask(part.id, part.product)


@st.dialog("Close without saving?")
def _ask(taught_id: str, product: str) -> None:
    st.markdown(f"**{shell.escape(product)}** is not saved as a recipe. Closing discards it in all windows.")
    if st.button(
        "Close without saving",
        key=f"lose-{taught_id}",
        type="primary",
        on_click=open_product_store.close,
        args=(taught_id,),
    ):
        st.rerun()


def _when(made: float) -> str:
    """Return the time of today, or the day."""
    moment, today = time.localtime(made), time.localtime()
    return time.strftime("%H:%M" if moment[:3] == today[:3] else "%d %b", moment)


def _state(product: TaughtProduct) -> str:
    """Return the state of the recipe in use, shown after its name."""
    if product.recipe is None or product.recipe.digest is None:
        return ""
    try:
        with AuditLog.open() as log:
            return f" · {life_cycle.state_of(log, product.recipe.digest)}"
    except LogError:  # named on Recipes and History, where it is needed
        return " · state unknown"
