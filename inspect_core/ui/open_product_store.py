"""The open products of this server, for all sessions, so a closed tab or a restart loses nothing.

The few used last are in memory, those that no recipe holds as they are also on disk (`study.unsaved_products`), where
they stay until they are saved or closed. What a page changes is written a moment later, by a timer.
Sessions, callbacks, fragments and jobs hold ids and look the product up when they need it; a product that leaves the
memory is freed. A session that has taken none yet gets the one used last.
"""

import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import wraps

import streamlit as st

from inspect_core.images import heatmap
from inspect_core.images.photo_reader import DecodedPhoto
from inspect_core.methods.registry import JOIN
from inspect_core.runtime import workspace
from inspect_core.runtime.program_log import log_unexpected
from inspect_core.study.scored_photo import ADDED, UNKNOWN, ScoredPhoto
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.study.unsaved_products import InForce, OpenProduct, UnsavedProduct, UnsavedProductStore
from inspect_core.ui import uploads
from inspect_core.ui.taught_product import TaughtProduct

SIZE = 6
WRITE_AFTER_S = 1.0
"""Seconds from the first change of a product to its writing: a slider that moves is written once."""
_KEY = "in_hand"
_IN_RECIPE = ("study", "product", "product_check", "defect_types", "known_cases", "mm_per_pixel")


class _Store:
    """items: the products in memory, the one used last at the end; when full, the one with the least to lose is
    dropped: the longest unused saved one, then of those on disk, never one that is nowhere else. unsaved: those on
    disk.
    """

    def __init__(self) -> None:
        self.changing = threading.RLock()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._due: dict[str, bool] = {}
        self.items: OrderedDict[str, TaughtProduct] = OrderedDict()
        self.unsaved = UnsavedProductStore(workspace.open_folder())

    def put(self, product: TaughtProduct) -> None:
        with self._lock:
            self.items[product.id] = product
            self.items.move_to_end(product.id)
            known = self.unsaved.lines
            products = [key for key in self.items if key != product.id and not (key in known and known[key].problem)]
            products.sort(key=lambda other: other in known)
            for other in products[: max(0, len(self.items) - SIZE)]:
                del self.items[other]

    def get(self, taught_id: str | None) -> TaughtProduct | None:
        with self._lock:
            if taught_id in self.items:
                self.items.move_to_end(taught_id)
            return self.items.get(taught_id)

    def last_used(self) -> TaughtProduct | None:
        with self._lock:
            return next(reversed(self.items.values()), None)

    def keep_soon(self, taught_id: str, *, make_recipe: bool) -> None:
        """Have a product that was changed written to disk, or deleted there once it is saved."""
        with self._lock:
            is_first = not self._due
            self._due[taught_id] = make_recipe or self._due.get(taught_id, False)
        if is_first:
            timer = threading.Timer(WRITE_AFTER_S, self.flush)
            timer.daemon = True
            timer.start()

    def flush(self) -> None:
        """Write what is due."""
        with self._writing:
            with self._lock:
                due, self._due = self._due, {}
                products = [(self.items[key], make_recipe) for key, make_recipe in due.items() if key in self.items]
            for product, make_recipe in products:
                try:
                    if product.is_saved:
                        self.unsaved.drop(product.id)
                    elif product.order is not None:
                        self._keep(product, make_recipe=make_recipe or product.id not in self.unsaved.lines)
                except Exception as error:  # one that cannot be written is no reason to lose the others
                    log_unexpected(error, f"writing {product.product}")

    def keep(self, product: TaughtProduct) -> None:
        """Write a product that is not saved to disk at once, with its recipe."""
        with self._writing:
            self._keep(product, make_recipe=True)

    def _keep(self, product: TaughtProduct, *, make_recipe: bool) -> None:
        scored = product.scored
        known = (
            product.product,
            product.opened_at,
            _thumbnail(product),
            product.latest_order(),
            scored.photos,
            product.notes,
        )
        live, set_on = product.live, scored.calibration_scores(**product.live)
        in_force = InForce(live, product.limits, product.limits_by_hand is not None, tuple(map(float, set_on)))
        more = product.detector_reason, scored.unscored, in_force, product.recipe_digest
        unsaved = UnsavedProduct(*known, *more)
        freeze = product.to_recipe
        self.unsaved.keep(_line(product), unsaved, freeze if make_recipe else None)

    def close(self, taught_id: str) -> None:
        with self._lock:
            self.items.pop(taught_id, None)
        with self._writing:
            self.unsaved.drop(taught_id)


@st.cache_resource(show_spinner=False)
def _store() -> _Store:
    return _Store()


def open_products() -> list[OpenProduct]:
    """The open products of this server, the latest first."""
    lines = dict(_store().unsaved.lines)
    for product in list(_store().items.values()):
        problem = lines[product.id].problem if product.id in lines else ""
        lines[product.id] = replace(_line(product), problem=problem)
    return sorted(lines.values(), key=lambda product: product.opened_at, reverse=True)


def require_room() -> None:
    """Raise JobRejected, with what to do, when one more product that is not saved would not be kept."""
    _store().unsaved.require_room()


def put(product: TaughtProduct, *, keep: bool = True) -> str:
    """Open a product; returns the id by which callbacks, fragments and jobs refer to it.

    keep: whether it is written to disk as long as it is not saved.
    """
    store = _store()
    with store.changing:
        if keep and not product.is_saved and product.order is not None:
            store.keep(product)
        store.put(product)
    return product.id


def begin(order: TeachingConfig) -> str:
    """Write down what is about to be taught, listed as interrupted after a restart; returns the id for `ended`.

    Raises JobRejected as `require_room`, and OSError.
    """
    require_room()
    key = uuid.uuid4().hex[:12]
    _store().unsaved.begin(key, order)
    return key


def ended(key: str) -> None:
    """Forget what `begin` wrote down."""
    _store().unsaved.drop(key)


def refuse(taught_id: str, problem: str) -> None:
    """Say in the list why a product on disk cannot be opened."""
    lines = _store().unsaved.lines
    lines[taught_id] = replace(lines[taught_id], problem=problem)


def close(taught_id: str) -> None:
    """Close a product for all sessions; one that is not saved is lost."""
    if st.session_state.get(_KEY) == taught_id:
        del st.session_state[_KEY]
    _store().close(taught_id)


def find(taught_id: str) -> TaughtProduct | None:
    """The product with this id as it is now; None when it was dropped for others used later."""
    return _store().get(taught_id)


def change(taught_id: str, make_change: Callable[[TaughtProduct], TaughtProduct]) -> TaughtProduct | None:
    """Replace a product by what `make_change` returns, for all sessions; None when it was dropped.

    One change at a time: none is lost when two sessions, or a session and a job, change the same product.
    """
    store = _store()
    with store.changing:
        product = store.get(taught_id)
        if product is None:
            return None
        changed = make_change(product)
        if changed.contents() != product.contents():
            changed = replace(changed, changed_at=time.time())
        store.put(changed)
        other = any(getattr(changed, name) is not getattr(product, name) for name in _IN_RECIPE)
        store.keep_soon(taught_id, make_recipe=other or changed.scored.areas != product.scored.areas)
        return changed


def flush() -> None:
    """Write what was changed last, at once."""
    _store().flush()


def add(product: TaughtProduct, picture: DecodedPhoto) -> TaughtProduct | None:
    """The product with an uploaded photo added, stored losslessly; None when it was dropped.

    Raises NotLocated when the part is not found in it.
    """
    if product.position_of(picture.digest) is not None:
        return product
    placement = product.extractor.place(picture.pixels)
    path = uploads.keep_picture(picture, workspace.uploads_folder())
    photo = ScoredPhoto(picture.name, picture.digest, placement.size, UNKNOWN, ADDED, path, placement=placement)
    features = product.extract_features(picture.pixels, picture.digest, placement)
    product.cache_photo(path, picture.pixels)
    thumbnail = heatmap.thumbnail(placement.picture(picture.pixels))
    return change(product.id, lambda current: current.with_photo(photo, features, thumbnail))


def take(taught_id: str) -> None:
    """Make this session work with an open product."""
    st.session_state[_KEY] = taught_id


def current() -> TaughtProduct | None:
    """The product this session works with: the one it took last, else the one used last by anyone.

    None when there is none, or when its product was dropped (see `is_unloaded`): no other replaces it unasked.
    """
    product_id = st.session_state.get(_KEY)
    if product_id is not None:
        return find(product_id)
    product = _store().last_used()
    if product is not None:
        take(product.id)
    return product


def is_unloaded() -> bool:
    """Whether this session's product was dropped."""
    return _KEY in st.session_state and current() is None


def as_fragment(draw: Callable[[TaughtProduct], None]) -> Callable[[TaughtProduct], None]:
    """A function that draws a product, as a fragment: each time in its current state.

    Streamlit keeps the arguments of a fragment until the session's next full run, so it is given the id alone.
    """

    @st.fragment
    @wraps(draw)
    def fragment(taught_id: str) -> None:
        product = find(taught_id)
        if product is None:
            st.rerun()
        draw(product)

    return lambda product: fragment(product.id)


def _line(product: TaughtProduct) -> OpenProduct:
    line = OpenProduct(product.id, product.product, product.opened_at, _thumbnail(product), product.is_saved)
    line = replace(line, recipe=product.recipe_digest, changed_at=product.changed_at)
    detector = JOIN.join(view.method for view in product.scored.views)
    return replace(line, detector=detector, values=product.values(), fit=product.fit)


def _thumbnail(product: TaughtProduct) -> bytes:
    """That of the first good photo."""
    good, _ = product.scored.good_and_defect()
    return product.thumbnails[int(good.argmax())] if product.thumbnails else b""
