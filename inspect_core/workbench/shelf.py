"""The open products of this process, for all windows, so that a closed tab or a restart loses nothing.

The few used last are in memory, those that no recipe holds as they are also on disk (`study.unsaved_products`), where
they stay until they are saved or closed. What a user changes (`transitions`) is written a moment later, by a timer.
Sessions, callbacks, fragments and jobs hold ids and look the product up when they need it; a product that leaves the
memory is freed.
"""

import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from inspect_core.images import heatmap
from inspect_core.images.photo_reader import DecodedPhoto
from inspect_core.methods.registry import JOIN
from inspect_core.runtime import workspace
from inspect_core.runtime.program_log import log_unexpected
from inspect_core.study.scored_photo import ADDED, UNKNOWN, ScoredPhoto
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.study.unsaved_products import OpenProduct, UnsavedProduct, UnsavedProductStore
from inspect_core.workbench import uploads
from inspect_core.workbench.taught_product import TaughtProduct

SIZE = 6
"""Products in memory."""
WRITE_AFTER_S = 1.0
"""Seconds from the first change of a product to its writing: a slider that moves is written once."""
_IN_RECIPE = ("study", "product", "product_check", "defect_types", "known_cases", "mm_per_pixel")

_opening = threading.Lock()
_shelves: dict[Path, "Shelf"] = {}


def shelf() -> "Shelf":
    """That of this process in the workspace; what is on disk there is read when it is first asked for."""
    folder = workspace.open_folder()
    with _opening:
        if folder not in _shelves:
            _shelves[folder] = Shelf(folder)
        return _shelves[folder]


class Shelf:
    """items: the products in memory, the one used last at the end; when full, the one with the least to lose is
    dropped: the longest unused saved one, then of those on disk, never one that is nowhere else. unsaved: those on
    disk.
    """

    def __init__(self, folder: Path) -> None:
        self._changing = threading.RLock()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._due: dict[str, bool] = {}
        self.items: OrderedDict[str, TaughtProduct] = OrderedDict()
        self.unsaved = UnsavedProductStore(folder)

    def put(self, product: TaughtProduct, *, keep: bool = True) -> str:
        """Open a product; returns the id by which callbacks, fragments and jobs refer to it.

        keep: whether it is written to disk as long as it is not saved.
        """
        with self._changing:
            if keep and not product.is_saved and product.order is not None:
                with self._writing:
                    self._write(product, make_recipe=True)
            self._take_in(product)
        return product.id

    def find(self, taught_id: str | None) -> TaughtProduct | None:
        """The product with this id as it is now; None when it was dropped for others used later."""
        with self._lock:
            if taught_id in self.items:
                self.items.move_to_end(taught_id)
            return self.items.get(taught_id)

    def last_used(self) -> TaughtProduct | None:
        """The product used last by anyone."""
        with self._lock:
            return next(reversed(self.items.values()), None)

    def change(self, taught_id: str, make_change: Callable[[TaughtProduct], TaughtProduct]) -> TaughtProduct | None:
        """Replace a product by what `make_change` returns, for all windows; None when it was dropped.

        One change at a time: none is lost when two windows, or a window and a job, change the same product.
        """
        with self._changing:
            product = self.find(taught_id)
            if product is None:
                return None
            changed = make_change(product)
            if changed.contents() != product.contents():
                changed = replace(changed, changed_at=time.time())
            self._take_in(changed)
            other = any(getattr(changed, name) is not getattr(product, name) for name in _IN_RECIPE)
            self._write_soon(taught_id, make_recipe=other or changed.scored.areas != product.scored.areas)
            return changed

    def add(self, product: TaughtProduct, picture: DecodedPhoto) -> TaughtProduct | None:
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
        return self.change(product.id, lambda current: current.with_photo(photo, features, thumbnail))

    def close(self, taught_id: str) -> None:
        """Close a product for all windows; one that is not saved is lost."""
        with self._lock:
            self.items.pop(taught_id, None)
        with self._writing:
            self.unsaved.drop(taught_id)

    def open_products(self) -> list[OpenProduct]:
        """A line for each product, the latest first."""
        lines = dict(self.unsaved.lines)
        for product in list(self.items.values()):
            problem = lines[product.id].problem if product.id in lines else ""
            lines[product.id] = replace(_line(product), problem=problem)
        return sorted(lines.values(), key=lambda product: product.opened_at, reverse=True)

    def require_room(self) -> None:
        """Raise JobRejected, with what to do, when one more product that is not saved would not be kept."""
        self.unsaved.require_room()

    def begin(self, order: TeachingConfig) -> str:
        """Write down what is about to be taught, listed as interrupted after a restart; returns the id for `ended`.

        Raises JobRejected as `require_room`, and OSError.
        """
        self.require_room()
        key = uuid.uuid4().hex[:12]
        self.unsaved.begin(key, order)
        return key

    def ended(self, key: str) -> None:
        """Forget what `begin` wrote down."""
        self.unsaved.drop(key)

    def refuse(self, taught_id: str, problem: str) -> None:
        """Say in its line why a product on disk cannot be opened."""
        self.unsaved.lines[taught_id] = replace(self.unsaved.lines[taught_id], problem=problem)

    def flush(self) -> None:
        """Write what was changed last, at once."""
        with self._writing:
            with self._lock:
                due, self._due = self._due, {}
                products = [(self.items[key], make_recipe) for key, make_recipe in due.items() if key in self.items]
            for product, make_recipe in products:
                try:
                    if product.is_saved:
                        self.unsaved.drop(product.id)
                    elif product.order is not None:
                        self._write(product, make_recipe=make_recipe or product.id not in self.unsaved.lines)
                except Exception as error:  # one that cannot be written is no reason to lose the others
                    log_unexpected(error, f"writing {product.product}")

    def _take_in(self, product: TaughtProduct) -> None:
        with self._lock:
            self.items[product.id] = product
            self.items.move_to_end(product.id)
            known = self.unsaved.lines
            products = [key for key in self.items if key != product.id and not (key in known and known[key].problem)]
            products.sort(key=lambda other: other in known)
            for other in products[: max(0, len(self.items) - SIZE)]:
                del self.items[other]

    def _write_soon(self, taught_id: str, *, make_recipe: bool) -> None:
        """Have a product that was changed written to disk, or deleted there once it is saved."""
        with self._lock:
            is_first = not self._due
            self._due[taught_id] = make_recipe or self._due.get(taught_id, False)
        if is_first:
            timer = threading.Timer(WRITE_AFTER_S, self.flush)
            timer.daemon = True
            timer.start()

    def _write(self, product: TaughtProduct, *, make_recipe: bool) -> None:
        scored, live = product.scored, product.live
        suggested = None
        with suppress(ValueError):
            suggested = product.suggested_limits(live)
        unsaved = UnsavedProduct(
            product.product,
            product.opened_at,
            _thumbnail(product),
            product.latest_order(),
            scored.photos,
            product.notes,
            product.warnings,
            product.detector_reason,
            scored.unscored,
            live=live,
            limits_by_hand=product.limits_by_hand,
            suggested_limits=suggested,
            set_on=tuple(map(float, scored.calibration_scores(**live))),
            recipe_digest=product.recipe_digest,
        )
        self.unsaved.keep(_line(product), unsaved, product.to_recipe if make_recipe else None)


def _line(product: TaughtProduct) -> OpenProduct:
    line = OpenProduct(product.id, product.product, product.opened_at, _thumbnail(product), product.is_saved)
    line = replace(line, recipe=product.recipe_digest, changed_at=product.changed_at)
    detector = JOIN.join(view.method for view in product.scored.views)
    return replace(line, detector=detector, values=product.values(), fit=product.fit)


def _thumbnail(product: TaughtProduct) -> bytes:
    """That of the first good photo."""
    good, _ = product.scored.good_and_defect()
    return product.thumbnails[int(good.argmax())] if product.thumbnails else b""
