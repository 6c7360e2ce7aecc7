"""Products made from a finished fit: a new one, or one that takes the place of a product fitted before."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from inspect_core.images import heatmap
from inspect_core.images.alignment import Alignment, NotLocated
from inspect_core.images.areas import InspectionAreas
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.runtime.ordered_pool import in_order
from inspect_core.runtime.wording import join_first_names
from inspect_core.scoring.anomaly_map import AREA, largest_area
from inspect_core.study.scored_photo import ADDED, ScoredPhoto, UnscoredPhoto
from inspect_core.study.study import FittedStudy
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.ui.taught_product import TaughtProduct, new_id
from inspect_core.verdict import Limits
from inspect_core.whole_part.product_check import ProductCheck

PICTURE_SIDE = 480
"""Pixels of the longer side of a photo without a score, and of the reference beside it."""
KEPT = "Kept from before: "
"""How the note begins that says what became of what a user had set."""


def product_from_study(
    product: str,
    study: FittedStudy,
    notes: tuple[str, ...] = (),
    product_check: ProductCheck | None = None,
    order: TeachingConfig | None = None,
    **known: Any,
) -> TaughtProduct:
    """The product of a finished fit; order: that it was taught by, None for that of the study; known: further fields
    of it.
    """

    def thumbnail(photo: ScoredPhoto) -> bytes:
        return heatmap.thumbnail(photo.placed.picture(read(photo.path, photo.depth).pixels))

    return TaughtProduct(
        product,
        study.scored,
        study.extractor,
        study,
        notes=notes,
        product_check=product_check,
        order=order or study.order,
        thumbnails=tuple(in_order(thumbnail, study.photos)),
        without_score=unscored_pictures(study.scored.unscored, study.extractor.alignment),
        **known,
    )


def with_changes(product: TaughtProduct, photos: Sequence[ScoredPhoto], areas: InspectionAreas | None) -> TaughtProduct:
    """The product of a fit with what a user did before: photos added and labelled, areas drawn.

    photos: all that had a score. An added one that is gone, or in which the part is not located, is named in a note.
    """
    study = product.own_study
    missing = []
    learned = {sample.path for sample in (*study.split.train, *study.order.scored)}
    for photo in photos:
        if photo.subset == ADDED and photo.path not in learned:
            try:
                pixels = read(photo.path, photo.depth).pixels
                placed = replace(photo, placement=study.extractor.place(pixels))
            except (ImageError, NotLocated):
                missing.append(photo.name)
                continue
            thumbnail = heatmap.thumbnail(placed.placed.picture(pixels))
            product = product.with_photo(placed, study.features(placed), thumbnail)
    labels = {photo.digest: photo.label for photo in photos if photo.original_label is not None}
    note = [f"Added before, and gone since or not located: {join_first_names(missing)}."] if missing else []
    return replace(product.labelled(labels).with_areas(areas), notes=(*product.notes, *note))


def unscored_pictures(unscored: Sequence[UnscoredPhoto], alignment: Alignment | None) -> tuple[bytes, ...]:
    """A WebP picture of each photo without a score, b"" where it is gone, then one of the reference."""
    if not unscored:
        return ()
    pictures = []
    for photo in unscored:
        try:
            pictures.append(heatmap.thumbnail(read(photo.sample.path, photo.sample.depth).pixels, side=PICTURE_SIDE))
        except ImageError:
            pictures.append(b"")
    return (*pictures, b"" if alignment is None else heatmap.thumbnail(alignment.reference, side=PICTURE_SIDE))


class LimitsByHand(NamedTuple):
    """Limits that a user set, and on their scale the suggested ones and the ceiling of the scores."""

    limits: Limits
    suggested: Limits
    ceiling: float | None

    @classmethod
    def from_product(cls, product: TaughtProduct) -> "LimitsByHand | None":
        """Those in force for a product; None where the suggested ones are."""
        if (limits := product.limits_by_hand) is None:
            return None
        live = product.live
        return cls(limits, product.suggested_limits(live), product.scored.ceiling(**live))


def refitted_in_place(
    before: TaughtProduct, study: FittedStudy, chosen: Mapping[str, int], by_hand: LimitsByHand | None = None
) -> TaughtProduct:
    """A product under another fit of its photos, otherwise as `refitted`; the one before stays for `undone`."""
    order, at = before.order or study.order, before.own_study.order.parameters
    moved = {name: value for name, value in study.order.parameters.items() if at.get(name) != value}
    fitted = replace(
        before,
        order=replace(order, parameters={**order.parameters, **moved}),
        scored=study.scored,
        study=study,
        recipe=None,
        thumbnails=before.thumbnails[: len(study.photos)],
        before=replace(before, before=None),
        fit=new_id(),
        _memo=before._memo.of_another_fit(study),
    )
    return refitted(before, fitted, chosen, by_hand)


def undone(product: TaughtProduct) -> TaughtProduct:
    """A product as it was before its last refit, with what was added, labelled, learned and drawn since."""
    if product.before is None:
        return product
    earlier = with_changes(product.before, product.scored.photos, product.scored.areas)
    return replace(
        earlier,
        product_check=product.product_check,
        defect_types=product.defect_types,
        known_cases=product.known_cases,
        mm_per_pixel=product.mm_per_pixel,
    )


def refitted(
    before: TaughtProduct, fitted: TaughtProduct, chosen: Mapping[str, int], by_hand: LimitsByHand | None = None
) -> TaughtProduct:
    """A product under another fit with what was set, added, labelled, learned and drawn before.

    chosen: values of live parameters that a user chose; by_hand: limits, None for those in force before. What cannot
    stay, or stays in another unit, is named in a note.
    """
    if fitted.product_check is before.product_check:
        fitted._memo.foreign.update(before._memo.foreign)
    new = with_changes(fitted, before.scored.photos, before.scored.areas)
    scored = new.scored
    most = {view.live_parameter: view.definition.max_value(view.detector) for view in scored.views} | {
        AREA: largest_area(scored.size)
    }
    live = {name: min(chosen[name], most[name]) for name in scored.live if name in chosen}
    live = {name: value if name == AREA else scored.stop_of(name, value) for name, value in live.items()}
    changes = [
        f"{name} {value}" if value == chosen[name] else f"{name} {chosen[name]} became {value}"
        for name, value in live.items()
    ]
    limits = None
    by_hand = by_hand or LimitsByHand.from_product(before)
    if by_hand is not None and len(scored.calibration_scores()):
        now = dict(scored.live) | live
        ceilings = by_hand.ceiling, scored.ceiling(**now)
        limits = by_hand.limits.carried(by_hand.suggested, new.suggested_limits(now), ceilings)
        changes.append(f"limits {_in_words(by_hand.limits)} became {_in_words(limits)}, as scores have another scale")
    notes = [note for note in new.notes if not note.startswith(KEPT)]
    return replace(
        new,
        notes=(*notes, *([f"{KEPT}{'; '.join(changes)}."] if changes else ())),
        moved=live,
        limits_by_hand=limits,
        defect_types=before.defect_types,
        known_cases=before.known_cases,
        mm_per_pixel=before.mm_per_pixel,
        refit_of=before.id,
    )


def _in_words(limits: Limits) -> str:
    return f"{limits.review:.4g} / {limits.reject:.4g}"
