"""What this session has set for the part in hand: the bench, Explore and Kinds read it here."""

import streamlit as st

from inspect_core.ui import taught_part
from inspect_core.ui.taught_part import InHand
from inspect_core.verdict import Limits


def settings_of(hand: InHand) -> dict:
    """This session's settings for a part; those of parts that were put away go.

    live values; limits (None: as suggested); position of the photo shown; patch framed on it: (position, (row, column))
    or None; added: ids of the files added; preview: the run at hand, or None; film: token of the thumbnails handed
    over, or None.
    """
    if _key(hand.id) not in st.session_state:
        live = dict(hand.recipe.live) if hand.study is None and hand.recipe else hand.tray.live
        before = settings_at(hand.follows)
        st.session_state[_key(hand.id)] = {
            "live": live,
            "limits": hand.recipe.limits if hand.study is None and hand.recipe else None,
            "position": before["position"] if before else _strangest(hand, live),
            "patch": None,
            "added": set(),
            "preview": None,
            "film": None,
        }
        for key in [key for key in st.session_state if str(key).startswith(_key(""))]:
            if taught_part.find(key.removeprefix(_key(""))) is None:
                del st.session_state[key]
    return st.session_state[_key(hand.id)]


def settings_at(hand_id: str | None) -> dict | None:
    """This session's settings for the part of this id, as `settings_of` keeps them; None without any."""
    return st.session_state.get(_key(hand_id))


def carry_limits(hand: InHand, settings: dict, live: dict[str, int]) -> None:
    """Another live value is another scale of scores: a limit set by hand keeps its ratio to the suggested one."""
    if settings["limits"] is not None:
        before, after = hand.suggested_limits(settings["live"]), hand.suggested_limits(live)
        ratio = after.reject / before.reject if before.reject else 1.0
        settings["limits"] = Limits(settings["limits"].review * ratio, settings["limits"].reject * ratio)
    settings["live"] = live


def show_on_bench(hand: InHand, position: int, place: tuple[int, int] | None) -> None:
    """Go to Inspect with this photo on the bench and the patch in this row and column of the grid framed."""
    settings_of(hand)["position"] = position
    settings_of(hand)["patch"] = None if place is None else (position, place)
    st.switch_page("pages/inspect.py")


def _strangest(hand: InHand, live: dict[str, int]) -> int:
    return int(hand.scores(live).argmax()) if hand.tray.photos else 0


def _key(hand_id: str | None) -> str:
    return f"settings-{hand_id or ''}"
