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
    """Show all open products, and what is known of the one in use."""
    product = open_product_store.current()
    products = open_product_store.open_products()
    if not products:
        st.caption("No product has been taught yet.")
    names = Counter(open_product.product for open_product in products)
    for open_product in products:
        detector = (
            title_of(open_product.detector, is_short=True)
            if open_product.detector and names[open_product.product] > 1
            else ""
        )
        _show(open_product, detector, chosen=product is not None and open_product.id == product.id)
    if product is not None:
        if product.is_saved:
            st.caption(shell.escape(product.describe() + _state(product)))
        st.caption(f"Runs on {shell.escape(product.extractor.backbone.engine)}")


def title(page: str) -> None:
    """Show the head of a page about a product: its own name and that of the product in use."""
    product = open_product_store.current()
    st.title(page if product is None else f"{page} :gray[{shell.escape(product.product)}]")


def open_last() -> bool:
    """Open the last product that a restart has left on disk, in the background; False without one."""
    for open_product in open_product_store.open_products():
        if not open_product.problem and not open_product.interrupted:
            open_recipe.start(open_product)
            return True
    return False


def _show(open_product: OpenProduct, detector: str, *, chosen: bool) -> None:
    """Show one product, with what can be done with it; detector: named where another product has the same name."""
    name = shell.escape(open_product.product)
    state = "saved" if open_product.saved else "not saved"
    if open_product.interrupted:
        state = "teaching was interrupted"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if open_product.thumbnail:
            st.image(open_product.thumbnail, width=THUMBNAIL, alt=f"A good part of {name}")
        with st.container(gap=None):
            label = f"**{name}**" if chosen else name
            widget_key = f"open-{open_product.id}-sidebar"
            closed = open_product.interrupted or (
                bool(open_product.problem) and open_product_store.find(open_product.id) is None
            )
            now = st.button(label, key=widget_key, type="tertiary", disabled=closed, help="Open it on Inspect")
            st.caption(shell.escape(" · ".join(filter(None, (detector, state, _when(open_product.opened_at))))))
        action = "Delete" if closed else "Close"
        key = f"close-{open_product.id}-sidebar"
        if st.button(action, key=key, type="tertiary", help=f"{action} {name}"):
            _close(open_product)
    if open_product.interrupted and st.button(
        "Teach again",
        key=f"again-{open_product.id}-sidebar",
        icon=":material/restart_alt:",
        help="With the same settings",
    ):
        shell.begin(lambda: _teach_again(open_product.id))
    if open_product.problem:
        st.caption(f":material/warning: {shell.escape(open_product.problem)}")
    if now:
        _choose(open_product)
        st.rerun()


def _choose(open_product: OpenProduct) -> None:
    if open_product_store.find(open_product.id) is not None:
        open_product_store.take(open_product.id)
        return
    try:
        open_recipe.start(open_product)
    except JobRejected as error:
        st.toast(shell.escape(error), icon=":material/hourglass_top:")


def _teach_again(part_id: str) -> None:
    with shell.errors_shown(ValueError):
        order = unsaved_products.interrupted(workspace.open_folder() / part_id)
        open_product_store.close(part_id)
        teaching_job.start(order)


def _close(open_product: OpenProduct) -> None:
    if open_product.saved or open_product.interrupted:
        open_product_store.close(open_product.id)
        st.rerun()
    _ask(open_product.id, open_product.product)


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
