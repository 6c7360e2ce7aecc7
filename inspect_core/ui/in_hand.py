"""The product that this session works with, of the open products of the server (`workbench.shelf`)."""

from collections.abc import Callable
from functools import wraps

import streamlit as st

from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

_KEY = "in_hand"


def of_session() -> str | None:
    """The id of the product that this session has taken; None while it has taken none."""
    return st.session_state.get(_KEY)


def take(taught_id: str) -> None:
    """Make this session work with an open product."""
    st.session_state[_KEY] = taught_id


def current() -> TaughtProduct | None:
    """The product this session works with: the one it took last, else the one used last by anyone.

    None when there is none, or when its product was dropped (see `is_unloaded`): no other replaces it unasked.
    """
    product_id = st.session_state.get(_KEY)
    if product_id is not None:
        return shelf().find(product_id)
    product = shelf().last_used()
    if product is not None:
        take(product.id)
    return product


def is_unloaded() -> bool:
    """Whether this session's product was dropped."""
    return _KEY in st.session_state and current() is None


def close(taught_id: str) -> None:
    """Close a product for all sessions; one that is not saved is lost."""
    if st.session_state.get(_KEY) == taught_id:
        del st.session_state[_KEY]
    shelf().close(taught_id)


def as_fragment(draw: Callable[[TaughtProduct], None]) -> Callable[[TaughtProduct], None]:
    """A function that draws a product, as a fragment: each time in its current state.

    Streamlit keeps the arguments of a fragment until the session's next full run, so it is given the id alone.
    """

    @st.fragment
    @wraps(draw)
    def fragment(taught_id: str) -> None:
        product = shelf().find(taught_id)
        if product is None:
            st.rerun()
        draw(product)

    return lambda product: fragment(product.id)
