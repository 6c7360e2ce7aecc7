"""What this session has set for the part in hand: the bench, Explore and Kinds read it here."""

import streamlit as st

from inspect_core.ui import taught_part
from inspect_core.ui.taught_part import TaughtPart
from inspect_core.verdict import Limits


def settings_of(taught: TaughtPart) -> dict:
    """This session's settings for a part; those of parts that were put away go.

    live values; limits (None: as suggested); position of the photo shown; patch framed on it: (position, (row, column))
    or None; added: ids of the files added; problems: why the last ones could not be; preview: the run at hand, or None;
    film: token of the thumbnails handed over, or None.
    """
    if _key(taught.id) not in st.session_state:
        live = dict(taught.recipe.live) if taught.study is None and taught.recipe else taught.scored.live
        before = settings_at(taught.follows)
        st.session_state[_key(taught.id)] = {
            "live": live,
            "limits": taught.recipe.limits if taught.study is None and taught.recipe else None,
            "position": before["position"] if before else _strangest(taught, live),
            "patch": None,
            "added": set(),
            "problems": [],
            "preview": None,
            "film": None,
        }
        for key in [key for key in st.session_state if str(key).startswith(_key(""))]:
            if taught_part.find(key.removeprefix(_key(""))) is None:
                del st.session_state[key]
    return st.session_state[_key(taught.id)]


def settings_at(taught_id: str | None) -> dict | None:
    """This session's settings for the part of this id, as `settings_of` keeps them; None without any."""
    return st.session_state.get(_key(taught_id))


def carry_limits(taught: TaughtPart, settings: dict, live: dict[str, int]) -> None:
    """Another live value is another scale of scores: a limit set by hand keeps its ratio to the suggested one."""
    if settings["limits"] is not None:
        before, after = taught.suggested_limits(settings["live"]), taught.suggested_limits(live)
        ratio = after.reject / before.reject if before.reject else 1.0
        settings["limits"] = Limits(settings["limits"].review * ratio, settings["limits"].reject * ratio)
    settings["live"] = live


def show_on_bench(taught: TaughtPart, position: int, place: tuple[int, int] | None) -> None:
    """Go to Inspect with this photo on the bench and the patch in this row and column of the grid framed."""
    settings_of(taught)["position"] = position
    settings_of(taught)["patch"] = None if place is None else (position, place)
    st.switch_page("pages/inspect.py")


def _strangest(taught: TaughtPart, live: dict[str, int]) -> int:
    return int(taught.scores(live).argmax()) if taught.scored.photos else 0


def _key(taught_id: str | None) -> str:
    return f"settings-{taught_id or ''}"
