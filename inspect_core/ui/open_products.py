"""The open products in the sidebar, that of this window on top: choose, close, teach an interrupted one again."""

import time
from collections import Counter
from collections.abc import Sequence

import streamlit as st

from inspect_core.audit.life_cycle import APPROVED
from inspect_core.methods.registry import title_of
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import JobRejected
from inspect_core.study import unsaved_products
from inspect_core.study.unsaved_products import OpenProduct
from inspect_core.ui import in_hand, open_recipe, saved_recipes, shell, teaching_job
from inspect_core.workbench.shelf import shelf

THUMBNAIL = 36  # pixels of the longer side
_BY_ITSELF = "opens_by_itself"


def show_current(products: Sequence[tuple[OpenProduct, str]]) -> None:
    """Show the product that this window works with, and its state; products: as `told_apart` returns them."""
    product = in_hand.current()
    for entry, difference in products:
        if product is not None and entry.id == product.id:
            _show(entry, difference, chosen=True)


def show_others(products: Sequence[tuple[OpenProduct, str]]) -> None:
    """Show the other open products, and what the network of the one in use runs on."""
    product = in_hand.current()
    others = [line for line in products if product is None or line[0].id != product.id]
    if others and product is not None:
        st.caption("Other open products")
    for entry, difference in others:
        _show(entry, difference, chosen=False)
    if product is not None:
        st.caption(f"Runs on {shell.escape(product.extractor.backbone.engine)}")


def told_apart() -> list[tuple[OpenProduct, str]]:
    """The open products, the latest first, each with what tells it from others of its name: detector, values."""
    products = shelf().open_products()
    names = Counter(entry.product for entry in products)
    lines = []
    for entry in products:
        same = [other for other in products if other.product == entry.product and other.detector == entry.detector]
        differs = [text for text in entry.values if any(text not in other.values for other in same)]
        detector = [title_of(entry.detector)] if entry.detector and names[entry.product] > 1 else []
        lines.append((entry, " · ".join([*detector, *differs])))
    return lines


def title(page: str) -> None:
    """Show the head of a page about a product: its own name, that of the product in use, and its state."""
    product = in_hand.current()
    if product is None:
        st.title(page)
        return
    state = saved_recipes.state(product.recipe_digest, is_saved=product.is_saved)
    colour = "orange" if not product.is_saved else "green" if APPROVED in state else "gray"
    st.title(f"{page} {shell.escape(product.product)} :small[:{colour}-badge[{shell.escape(state)}]]")


def open_last() -> bool:
    """Open the last product that a restart has left on disk, in the background; False without one."""
    for entry in shelf().open_products():
        if not entry.problem and not entry.interrupted:
            st.session_state[_BY_ITSELF] = open_recipe.start(entry).id
            return True
    return False


def _show(entry: OpenProduct, difference: str, *, chosen: bool) -> None:
    """Show one product, with what can be done with it; difference: what tells it from others of the same name."""
    name = shell.escape(entry.product)
    state = "teaching was interrupted" if entry.interrupted else _state_of(entry)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if entry.thumbnail:
            st.image(entry.thumbnail, width=THUMBNAIL, alt=f"A good part of {name}")
        with st.container(gap=None):
            label = f"**{name}**" if chosen else name
            widget_key = f"open-{entry.id}-sidebar"
            closed = entry.interrupted or (bool(entry.problem) and shelf().find(entry.id) is None)
            now = st.button(label, key=widget_key, type="tertiary", disabled=closed, help="Open it on Inspect")
            when = _when(entry.changed_at or entry.opened_at)
            st.caption(shell.escape(" · ".join(filter(None, (difference, state, when)))))
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
    if shelf().find(entry.id) is not None:
        in_hand.take(entry.id)
        return
    if (job_id := st.session_state.pop(_BY_ITSELF, None)) is not None:
        shell.jobs().cancel(job_id)  # what the user asks for does not wait behind what nobody did
    try:
        open_recipe.start(entry)
    except JobRejected as error:
        st.toast(shell.escape(error), icon=":material/hourglass_top:")


def _teach_again(taught_id: str) -> None:
    with shell.errors_shown(ValueError):
        order = unsaved_products.interrupted(workspace.open_folder() / taught_id)
        in_hand.close(taught_id)
        teaching_job.start(order)


def _close(entry: OpenProduct) -> None:
    if entry.interrupted or (entry.saved and saved_recipes.find(entry.recipe) is not None):
        in_hand.close(entry.id)
        st.rerun()
    _ask(entry.id, entry.product, _state_of(entry), is_changed=bool(entry.recipe))


@st.dialog("Close without saving?")
def _ask(taught_id: str, product: str, state: str, *, is_changed: bool) -> None:
    lost = "these changes" if is_changed else "it"
    words = f"**{shell.escape(product)}** is {shell.escape(state)}. Closing discards {lost} in all windows."
    st.markdown(words)
    row = st.container(horizontal=True)
    take, at, icon = in_hand.take, f"save_first-{taught_id}", ":material/inventory_2:"
    if row.button("Save first", key=at, type="primary", icon=icon, on_click=take, args=(taught_id,)):
        shell.go_to("pages/inspect.py")
    close, at = in_hand.close, f"lose-{taught_id}"
    if row.button("Close without saving", key=at, type="tertiary", on_click=close, args=(taught_id,)):
        st.rerun()


def _when(made: float) -> str:
    """The time of today, or the day."""
    moment, today = time.localtime(made), time.localtime()
    return time.strftime("%H:%M" if moment[:3] == today[:3] else "%d %b", moment)
