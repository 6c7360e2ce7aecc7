"""What the engineer has in hand: one taught part with its tray, shared by all pages of a session.

The objects live in a small process-wide shelf, so a closed tab loses nothing: the next session finds the latest.
"""

import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import streamlit as st
from PIL import Image

from inspect_core import plots, workspace
from inspect_core.features.preparation import Preparation
from inspect_core.guard import OFF, Guard
from inspect_core.images.read import Picture, read
from inspect_core.kinds import Kinds
from inspect_core.known_cases import KnownCases
from inspect_core.recipe import Recipe, guard_score
from inspect_core.study import Study
from inspect_core.suggest import Suggestion
from inspect_core.tray import UNKNOWN, Tray, TrayPhoto
from inspect_core.verdict import Limits

SHELF_SIZE = 3
ADDED = "added"
_KEY = "in_hand"


@dataclass
class InHand:
    """A taught part on the bench: from a study just fitted, or from a recipe that was opened.

    thumbnails: small WebP pictures in the order of the tray; notes: sentences the engineer should see; suggestion:
    where the parameters began; follows: id of the part in hand that this one is a refit of; writing: held while kinds
    or cases are changed, since sessions and the job in the background share them.
    """

    product: str
    tray: Tray
    preparation: Preparation
    study: Study | None = None
    recipe: Recipe | None = None
    notes: tuple[str, ...] = ()
    guard: Guard | None = None
    kinds: Kinds | None = None
    cases: KnownCases | None = None
    suggestion: Suggestion | None = None
    follows: str | None = None
    thumbnails: list[bytes] = field(default_factory=list)
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    writing: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _foreign: dict[tuple[str, bool], float] = field(default_factory=dict)
    _read: tuple[Path, np.ndarray] | None = None
    _last: tuple[tuple, np.ndarray] | None = None

    @property
    def engine(self) -> str:
        return self.preparation.backbone.engine

    def describe(self) -> str:
        """One line: the recipe in use with its short digest and state, or that nothing was saved yet."""
        if self.recipe is None or self.recipe.digest is None:
            return "not saved as a recipe yet"
        return f"recipe {self.recipe.digest[:8]} · {self.recipe.provenance.state}"

    def pixels(self, position: int) -> np.ndarray:
        """(H, W, 3) uint8 of one photo on the tray, read from where it lies; the last one is kept for the next asking.

        Raises ImageError for a photo that can no longer be read.
        """
        path, held = self.tray.photos[position].path, self._read
        if held is None or held[0] != path:
            held = self._read = path, read(path).pixels
        return held[1]

    def suggested_limits(self, live: dict[str, int]) -> Limits:
        """The default limit at this value of the live parameter; an opened recipe's own."""
        return self.study.default_limits(**live) if self.study is not None else self.recipe.limits

    def scores(self, live: dict[str, int]) -> np.ndarray:
        """Scores of the whole tray; the last ones are kept, since a move of the limit asks for the same again."""
        asked = (tuple(live.items()), len(self.tray.photos))
        held = self._last
        if held is None or held[0] != asked:
            held = self._last = asked, self.tray.scores(**live)
        return held[1]

    def calm(self, live: dict[str, int]) -> float:
        """The median patch score of good photos, where colour begins; of all photos when none is known to be good."""
        errors = self.tray.grid_errors(**live)
        good, _ = self.tray.kinds()
        chosen = errors[good] if good.any() else errors
        return float(np.median(chosen)) if chosen.size else 0.0

    def product_check(self, position: int) -> str | None:
        """What the guard says of one photo on the tray; None when there is no guard or it is off."""
        if self.guard is None or self.guard.mode == OFF:
            return None
        asked = (self.tray.photos[position].digest, self.guard.fused)
        if asked not in self._foreign:
            self._foreign[asked] = guard_score(self.pixels(position), self.guard, self.preparation.backbone)
        return self.guard.sentence(self._foreign[asked])

    def is_foreign(self, position: int) -> bool:
        """Whether the guard trips on one photo; False while it has not been asked about it."""
        if self.guard is None:
            return False
        score = self._foreign.get((self.tray.photos[position].digest, self.guard.fused))
        return score is not None and self.guard.trips(score)

    def add(self, picture: Picture) -> int:
        """Put an uploaded photo on the tray (kept losslessly in the workspace); its position. Seen before: no work."""
        for position, photo in enumerate(self.tray.photos):
            if photo.digest == picture.digest:
                return position
        path = keep_upload(picture)
        size = picture.pixels.shape[:2]
        photo = TrayPhoto(picture.name, picture.digest, size, UNKNOWN, ADDED, path)
        position = self.tray.add(photo, self.preparation.features(picture.pixels))
        self.thumbnails.append(plots.thumbnail(picture.pixels))
        self.product_check(position)
        return position


def keep_upload(picture: Picture) -> Path:
    """The picture as a PNG in the workspace, named by its digest; the path."""
    folder = workspace.uploads_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{picture.digest[:32]}.png"
    if not path.exists():
        half_done = path.with_suffix(".part")
        Image.fromarray(picture.pixels).save(half_done, "PNG")
        half_done.replace(path)
    return path


def of_study(
    product: str,
    study: Study,
    notes: tuple[str, ...] = (),
    guard: Guard | None = None,
    suggestion: Suggestion | None = None,
) -> InHand:
    """What a finished fit puts in hand."""
    hand = InHand(product, study.tray, study.preparation, study=study, notes=notes, guard=guard, suggestion=suggestion)
    hand.thumbnails = [plots.thumbnail(hand.pixels(i)) for i in range(len(study.tray.photos))]
    return hand


def refitted(hand: InHand, study: Study) -> InHand:
    """The same part under another fit of the same photos; photos added on the bench come along."""
    for photo in hand.tray.photos:
        if photo.part == ADDED:
            study.tray.add(photo, study.features(photo))
    return InHand(
        hand.product, study.tray, study.preparation, study=study, notes=hand.notes, guard=hand.guard, kinds=hand.kinds,
        cases=hand.cases, suggestion=hand.suggestion, follows=hand.id, thumbnails=list(hand.thumbnails),
        _foreign=dict(hand._foreign),
    )  # fmt: skip


class _Shelf:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.items: OrderedDict[str, InHand] = OrderedDict()


@st.cache_resource
def _shelf() -> _Shelf:
    return _Shelf()


def take(hand: InHand) -> None:
    """Put `hand` on the shelf and in this session's hand; the oldest on a full shelf is dropped."""
    shelf = _shelf()
    with shelf.lock:
        shelf.items[hand.id] = hand
        shelf.items.move_to_end(hand.id)
        while len(shelf.items) > SHELF_SIZE:
            shelf.items.popitem(last=False)
    st.session_state[_KEY] = hand.id


def current() -> InHand | None:
    """What this session has in hand: what it took last, else the latest on the shelf, else nothing."""
    shelf = _shelf()
    with shelf.lock:
        wanted = st.session_state.get(_KEY)
        if wanted in shelf.items:
            return shelf.items[wanted]
        return next(reversed(shelf.items.values()), None)
