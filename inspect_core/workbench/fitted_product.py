"""Products made from a finished fit: a new one, or one that takes the place of a product fitted before."""

from collections.abc import Sequence
from dataclasses import replace

from inspect_core.images import heatmap
from inspect_core.images.alignment import Alignment, NotLocated
from inspect_core.images.areas import InspectionAreas
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.runtime.ordered_pool import in_order
from inspect_core.runtime.wording import join_first_names
from inspect_core.study.scored_photo import ADDED, ScoredPhoto, UnscoredPhoto
from inspect_core.study.study import FittedStudy
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.whole_part.product_check import ProductCheck
from inspect_core.workbench.taught_product import TaughtProduct

PICTURE_SIDE = 480
"""Pixels of the longer side of a photo without a score, and of the reference beside it."""


def product_from_study(
    product: str,
    study: FittedStudy,
    notes: tuple[str, ...] = (),
    product_check: ProductCheck | None = None,
    order: TeachingConfig | None = None,
    detector_reason: str | None = None,
    warnings: tuple[str, ...] = (),
) -> TaughtProduct:
    """The product of a finished fit; order: that it was taught by, None for that of the study."""

    def thumbnail(photo: ScoredPhoto) -> bytes:
        return heatmap.thumbnail(photo.placed.picture(read(photo.path, photo.depth).pixels))

    return TaughtProduct(
        product,
        study.scored,
        study.extractor,
        study,
        notes=notes,
        warnings=warnings,
        product_check=product_check,
        detector_reason=detector_reason,
        order=order or study.order,
        thumbnails=tuple(in_order(thumbnail, study.photos)),
        without_score=unscored_pictures(study.scored.unscored, study.extractor.alignment),
    )


def with_changes(product: TaughtProduct, photos: Sequence[ScoredPhoto], areas: InspectionAreas | None) -> TaughtProduct:
    """The product of a fit with what a user did before: photos added and labelled, defects and areas drawn.

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
    product = product.labelled(labels).with_drawings({photo.digest: photo.drawn for photo in photos})
    return replace(product.with_areas(areas), notes=(*product.notes, *note))


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
