"""The shelf: the few taught parts that the process holds for all sessions, so a closed tab loses nothing.

Sessions, callbacks, fragments and jobs hold ids and look the part up when they need it; a part that leaves the shelf is
freed. A session that has taken no part yet gets the part used last.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps

import streamlit as st

from inspect_core.images import heatmap
from inspect_core.images.read import Picture
from inspect_core.runtime import workspace
from inspect_core.study.scored_photo import ADDED, UNKNOWN, ScoredPhoto
from inspect_core.ui import uploads
from inspect_core.ui.taught_part import TaughtPart

SIZE = 3
_KEY = "in_hand"


class _Shelf:
    """The parts of all sessions, the one used last at the end; when full, the longest unused one is dropped."""

    def __init__(self) -> None:
        self.changing = threading.RLock()
        self._lock = threading.Lock()
        self.items: OrderedDict[str, TaughtPart] = OrderedDict()

    def put(self, taught: TaughtPart) -> None:
        with self._lock:
            self.items[taught.id] = taught
            self.items.move_to_end(taught.id)
            while len(self.items) > SIZE:
                self.items.popitem(last=False)

    def get(self, taught_id: str | None) -> TaughtPart | None:
        with self._lock:
            if taught_id in self.items:
                self.items.move_to_end(taught_id)
            return self.items.get(taught_id)

    def last_used(self) -> TaughtPart | None:
        with self._lock:
            return next(reversed(self.items.values()), None)


@st.cache_resource(show_spinner=False)
def _shelf() -> _Shelf:
    return _Shelf()


def put(taught: TaughtPart) -> str:
    """Put a part on the shelf; returns the id by which callbacks, fragments and jobs refer to it."""
    _shelf().put(taught)
    return taught.id


def find(taught_id: str) -> TaughtPart | None:
    """The part with this id as it is now; None when it was dropped for parts used later."""
    return _shelf().get(taught_id)


def change(taught_id: str, how: Callable[[TaughtPart], TaughtPart]) -> TaughtPart | None:
    """Replace a part by `how(part)`, for all sessions; None when the part was dropped.

    One change at a time: none is lost when two sessions, or a session and a job, change the same part.
    """
    shelf = _shelf()
    with shelf.changing:
        taught = shelf.get(taught_id)
        if taught is None:
            return None
        changed = how(taught)
        shelf.put(changed)
        return changed


def add(taught: TaughtPart, picture: Picture) -> TaughtPart | None:
    """The part with an uploaded photo on its bench, stored losslessly in the workspace; None when it was dropped.

    Raises NotLocated when the part is not found in it.
    """
    if taught.position_of(picture.digest) is not None:
        return taught
    placement = taught.preparation.place(picture.pixels)
    path = uploads.keep_picture(picture, workspace.uploads_folder())
    photo = ScoredPhoto(picture.name, picture.digest, placement.size, UNKNOWN, ADDED, path, placement=placement)
    features = taught.look(picture.pixels, picture.digest, placement)
    taught.hold(path, picture.pixels)
    thumbnail = heatmap.thumbnail(placement.picture(picture.pixels))
    return change(taught.id, lambda held: held.with_photo(photo, features, thumbnail))


def take(taught_id: str) -> None:
    """Make this session work with a part on the shelf."""
    st.session_state[_KEY] = taught_id


def current() -> TaughtPart | None:
    """The part this session works with: the one it took last, or, if it has taken none, the one used last by anyone.

    None when there is none, or when its part was dropped (see `put_away`): no other part replaces it unasked.
    """
    wanted = st.session_state.get(_KEY)
    if wanted is not None:
        return find(wanted)
    taught = _shelf().last_used()
    if taught is not None:
        take(taught.id)
    return taught


def put_away() -> TaughtPart | None:
    """The part used last by anyone, if this session's part was dropped; else None."""
    return _shelf().last_used() if _KEY in st.session_state and current() is None else None


def redrawn(draw: Callable[[TaughtPart], None]) -> Callable[[TaughtPart], None]:
    """A function that draws a part, as a fragment: each time with the part's current state.

    Streamlit keeps the arguments of a fragment until the session's next full run, so it is given the id alone.
    """

    @st.fragment
    @wraps(draw)
    def fragment(taught_id: str) -> None:
        taught = find(taught_id)
        if taught is None:
            st.rerun()
        draw(taught)

    return lambda taught: fragment(taught.id)
