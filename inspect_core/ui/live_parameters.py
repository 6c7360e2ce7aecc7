"""The controls under the bench: exactly the parameters of the detector in use that move live."""

import streamlit as st

from inspect_core.ui.in_hand import InHand

HELP = {
    "k": (
        "k: detail",
        "How much of the normal texture is modelled at every place. Higher sees finer changes and needs more good "
        "photos; lower is calmer. Every value comes from the same fit (Kim et al. 2021).",
    ),
}


def choose(hand: InHand, live: dict[str, int]) -> dict[str, int]:
    """The live value in force after the control has been drawn; the same when nothing can move."""
    tray = hand.tray
    if tray.live_name is None:
        return live
    label, text = HELP[tray.live_name]
    if hand.study is None:
        st.caption(f"{label} {live[tray.live_name]}, as the recipe says. Teach again to change it.")
        return live
    value = st.select_slider(
        label, tray.stops, live[tray.live_name], key=f"{tray.live_name}-{hand.id}", help=text, width="stretch"
    )
    return {tray.live_name: value}
