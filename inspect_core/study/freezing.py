"""From a study to a recipe: everything that is in force, frozen."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from inspect_core.images.areas import Areas
from inspect_core.judge.anomaly_map import AREA
from inspect_core.package.known_parts import Calibrated
from inspect_core.recipe import BackboneChoice, Provenance, Recipe
from inspect_core.runtime.versions import library_versions
from inspect_core.verdict import Limits
from inspect_core.whole_part.defect_types import DefectTypes
from inspect_core.whole_part.known_cases import KnownCases
from inspect_core.whole_part.product_check import Guard

if TYPE_CHECKING:
    from inspect_core.study.study import Study


def frozen(
    study: "Study", limits: Limits | None = None, *, product: str = "part", author: str = "you", reason: str = "",
    parent: str | None = None, guard: Guard | None = None, gallery: KnownCases | None = None,
    defect_types: DefectTypes | None = None, areas: Areas | None = None,
    mm_per_pixel: float | None = None, **live: int,
) -> Recipe:  # fmt: skip
    """The recipe with the limits and live parameters in force; default limits when none are given.

    parent: digest of the recipe that it follows; live: values of live parameters, by default those to begin with.
    Raises ValueError as `Areas.check`.
    """
    preparation, in_force = study.preparation, study.results.live | live
    backbone, scored = preparation.backbone, study.at(in_force).with_areas(areas)
    if areas is not None:
        areas.check(scored.size, preparation.alignment, least=in_force[AREA])
    setters = [photo for photo, sets in zip(scored.photos, scored.setters(), strict=True) if sets]
    rows = zip(setters, scored.calibration_scores(**in_force), strict=True)
    views = tuple(
        replace(view, scales=study.results.scales(i, view.stops) | scored.scales(i, [view.value(in_force)]))
        for i, view in enumerate(study.results.views)
    )
    note = study.split.note()
    if study.tolerances is not None:
        note = f"{note}, each within the tolerances {study.tolerances}"
    provenance = Provenance(
        datetime.now(UTC).isoformat(timespec="seconds"), author, reason, parent,
        seeds={"split": study.seed, "detector": study.seed}, versions=library_versions(),
        photos=str(study.split.fit[0].root), calibration_note=note,
    )  # fmt: skip
    return Recipe(
        product,
        BackboneChoice(backbone.name, tuple(backbone.taps), backbone.weight_digest, tuple(backbone.size)),
        preparation.grid,
        preparation.nearest,
        views,
        live=in_force,
        limits=limits or scored.default_limits(**in_force),
        calibration=tuple(
            Calibrated(photo.name, photo.digest, float(score)) for photo, score in rows if photo.part == "calibrate"
        ),
        judged=tuple(
            Calibrated(photo.name, photo.digest, float(score))
            for photo, score in zip(scored.photos, scored.scores(**in_force), strict=True)
            if photo.part == "judge"
        ),
        guard=guard,
        gallery=gallery,
        defect_types=defect_types,
        provenance=provenance,
        depth=study.depth,
        alignment=preparation.alignment,
        areas=areas,
        tiles=preparation.tiles,
        mm_per_pixel=mm_per_pixel,
        quality=study.quality,
    )
