"""From what was fitted to a recipe: everything that is in force, frozen."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from statistics import mode
from typing import Any

import numpy as np

from inspect_core.features.extraction import FeatureExtractor
from inspect_core.images.photo_quality import QualityRange
from inspect_core.recipe import Recipe
from inspect_core.recipe_format.origin import BackboneChoice, Provenance
from inspect_core.recipe_format.recorded_photos import CalibrationPhoto, TeachingRecord, UnscoredPart
from inspect_core.runtime.users import UNKNOWN
from inspect_core.runtime.versions import library_versions
from inspect_core.scoring.anomaly_map import AREA
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.verdict import Limits


def build_recipe(
    order: TeachingConfig,
    extractor: FeatureExtractor,
    fitted: ScoredPhotos,
    scored: ScoredPhotos,
    live: Mapping[str, int],
    limits: Limits | None,
    *,
    quality: QualityRange | None,
    teaching: TeachingRecord | None,
    reasons: Sequence[str],
    learned: str = "",
    product: str = "part",
    author: str = UNKNOWN,
    reason: str = "",
    parent: str | None = None,
    **parts: Any,
) -> Recipe:
    """The recipe at these live values with these limits, default ones when None.

    fitted: the photos at the stored stops; scored: at the live values, with the areas of the recipe; reasons: of the
    photos, as `photo_evidence.reasons_of`; learned: what known defects taught, in words; parent: digest of the recipe
    that it follows; parts: further fields of the recipe. Raises ValueError as `InspectionAreas.check`.
    """
    backbone, areas = extractor.backbone, scored.areas
    if areas is not None:
        areas.check(scored.size, extractor.alignment, least=live[AREA])
    views = tuple(
        replace(view, scales=fitted.scales(i, view.stops) | scored.scales(i, [view.value(live)]))
        for i, view in enumerate(fitted.views)
    )
    note = order.photos.note()
    if order.tolerances is not None:
        note = f"{note}, each within the tolerances {order.tolerances}"
    note = "; ".join(filter(None, (note, order.photos.label_note(), learned)))
    made = datetime.now(UTC).isoformat(timespec="seconds")
    root = str(mode(sample.root for sample in order.photos.train))
    roots = {str(sample.root) for sample in (*order.photos.train, *order.scored)}
    seeds = {"split": order.seed, "detector": order.seed}
    versions = library_versions()
    by = author, reason, parent
    folders = tuple(sorted(roots - {root}))
    provenance = Provenance(made, *by, seeds, versions, root, folders, note)
    scores = scored.scores(**live)

    def recorded(part: str, is_chosen: np.ndarray) -> tuple[CalibrationPhoto, ...]:
        photos = [(scored.photos[i], i) for i in np.flatnonzero(is_chosen & scored.of_subset(part))]
        facts = ((photo.name, photo.digest, float(scores[i]), photo.label, reasons[i]) for photo, i in photos)
        return tuple(CalibrationPhoto(*row) for row in facts)

    return Recipe(
        product=product,
        backbone=BackboneChoice(backbone.name, tuple(backbone.taps), backbone.weight_digest, tuple(backbone.size)),
        grid=extractor.grid,
        nearest_upsampling=extractor.nearest_upsampling,
        views=views,
        live_values=live,
        limits=limits or scored.default_limits(**live),
        calibration_photos=recorded("calibration", scored.setters()),
        test_photos=recorded("test", np.ones(len(scores), bool)),
        unscored=tuple(
            UnscoredPart(photo.sample.name, photo.label, photo.subset, photo.verdict, photo.reason)
            for photo in fitted.unscored
        ),
        provenance=provenance,
        depth=order.photos.train[0].depth,
        alignment=extractor.alignment,
        areas=areas,
        tiles=extractor.tiles,
        quality=quality,
        teaching=teaching,
        as_published=order.as_published,
        **parts,
    )
