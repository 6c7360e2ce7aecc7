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
from inspect_core.ui import open_product_store, open_recipe, saved_recipes, shell, teaching_job
from inspect_core.ui.taught_product import TaughtProduct

THUMBNAIL = 36  # pixels of the longer side


def in_sidebar() -> None:
    """Show all open products, and what is known of the one in use."""
    product = open_product_store.current()
    products = open_product_store.open_products()
    if not products and shell.active_job() is None:
        st.caption("No product has been taught yet.")
    names = Counter(entry.product for entry in products)
    for entry in products:
        detector = title_of(entry.detector) if entry.detector and names[entry.product] > 1 else ""
        _show(entry, detector, chosen=product is not None and entry.id == product.id)
    if product is not None:
        if product.recipe_digest:
            st.caption(shell.escape(product.describe() + _state(product)))
        st.caption(f"Runs on {shell.escape(product.extractor.backbone.engine)}")


def title(page: str) -> None:
    """Show the head of a page about a product: its own name and that of the product in use."""
    product = open_product_store.current()
    st.title(page if product is None else f"{page} :gray[{shell.escape(product.product)}]")


def open_last() -> bool:
    """Open the last product that a restart has left on disk, in the background; False without one."""
    for entry in open_product_store.open_products():
        if not entry.problem and not entry.interrupted:
            open_recipe.start(entry)
            return True
    return False


def _show(entry: OpenProduct, detector: str, *, chosen: bool) -> None:
    """Show one product, with what can be done with it; detector: named where another product has the same name."""
    name = shell.escape(entry.product)
    state = "teaching was interrupted" if entry.interrupted else _state_of(entry)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if entry.thumbnail:
            st.image(entry.thumbnail, width=THUMBNAIL, alt=f"A good part of {name}")
        with st.container(gap=None):
            label = f"**{name}**" if chosen else name
            widget_key = f"open-{entry.id}-sidebar"
            closed = entry.interrupted or (bool(entry.problem) and open_product_store.find(entry.id) is None)
            now = st.button(label, key=widget_key, type="tertiary", disabled=closed, help="Open it on Inspect")
            when = _when(entry.changed_at or entry.opened_at)
            st.caption(shell.escape(" · ".join(filter(None, (detector, state, when)))))
        action = "Delete" if closed else "Close"
        key = f"close-{entry.id}-sidebar"
        if st.button(action, key=key, type="tertiary", help=f"{action} {name}"):
            _close(entry)
    if entry.interrupted and st.button(
        "Teach again", key=f"again-{entry.id}-sidebar", icon=":material/restart_alt:", help="With the same settings"
    ):
        shell.begin(lambda: _teach_again(entry.id))
    if entry.problem:
        st.caption(f":material/warning: {shell.escape(entry.problem)}")
    if now:
        _choose(entry)
        st.rerun()


def _state_of(entry: OpenProduct) -> str:
    return saved_recipes.state(entry.recipe, is_saved=entry.saved)


def _choose(entry: OpenProduct) -> None:
    if open_product_store.find(entry.id) is not None:
        open_product_store.take(entry.id)
        return
    try:
        open_recipe.start(entry)
    except JobRejected as error:
        st.toast(shell.escape(error), icon=":material/hourglass_top:")


def _teach_again(taught_id: str) -> None:
    with shell.errors_shown(ValueError):
        order = unsaved_products.interrupted(workspace.open_folder() / taught_id)
        open_product_store.close(taught_id)
        teaching_job.start(order)


def _close(entry: OpenProduct) -> None:
    if entry.saved or entry.interrupted:
        open_product_store.close(entry.id)
        st.rerun()
    _ask(entry.id, entry.product, _state_of(entry), is_changed=bool(entry.recipe))


@st.dialog("Close without saving?")
def _ask(taught_id: str, product: str, state: str, *, is_changed: bool) -> None:
    lost = "these changes" if is_changed else "it"
    words = f"**{shell.escape(product)}** is {shell.escape(state)}. Closing discards {lost} in all windows."
    st.markdown(words)
    row = st.container(horizontal=True)
    take, at, icon = open_product_store.take, f"save_first-{taught_id}", ":material/inventory_2:"
    if row.button("Save first", key=at, type="primary", icon=icon, on_click=take, args=(taught_id,)):
        st.switch_page("pages/inspect.py")
    close, at = open_product_store.close, f"lose-{taught_id}"
    if row.button("Close without saving", key=at, type="tertiary", on_click=close, args=(taught_id,)):
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
