"""A recipe in plain words, and the differences between two."""

from collections import Counter
from typing import NamedTuple

import torch

from inspect_core.audit.changes import limits_in_words
from inspect_core.methods.registry import title_of
from inspect_core.recipe import Recipe
from inspect_core.runtime.wording import pluralise
from inspect_core.scoring.anomaly_map import AREA


class RecipeDifference(NamedTuple):
    """what: the property that differs, in words; before, after: its value in each of the two, "" for none."""

    what: str
    before: str
    after: str


def in_words(recipe: Recipe) -> dict[str, str]:
    """Everything that an engineer sets or sees of a recipe, by its name on the pages."""
    backbone, provenance, (height, width) = recipe.backbone, recipe.provenance, recipe.grid
    alignment, product_check, types, known = (
        recipe.alignment,
        recipe.product_check,
        recipe.defect_types,
        recipe.known_cases,
    )
    kinds = Counter(area.mode for area in recipe.areas.areas) if recipe.areas else {}
    areas = [f"{count} {kind if kind == 'stricter' else f'to {kind}'}" for kind, count in kinds.items()]
    named = f"{', '.join(types.names)}; minimum confidence {100 * types.minimum_confidence:.0f}%" if types else "none"
    return {
        "Product": recipe.product,
        "Limit": limits_in_words(recipe.limits),
        "Smallest area": f"{recipe.live_values[AREA]} px of the map",
        **{f"Live value {name}": str(value) for name, value in recipe.live_values.items() if name != AREA},
        "Detector": title_of(recipe.method, as_published=recipe.as_published),
        "Backbone": f"{backbone.name}, weights {backbone.weight_digest[:12]}",
        "Feature layers": ", ".join(backbone.taps),
        "Photo size": f"{backbone.size[1]} × {backbone.size[0]} px",
        "Scale": f"{recipe.mm_per_pixel:g} mm per pixel" if recipe.mm_per_pixel else "unknown",
        "Tiles": recipe.tiles.sentence() if recipe.tiles else "none",
        "Patch grid": f"{width} × {height}",
        "Training": provenance.calibration_note,
        "Photos that set the limit": pluralise(len(recipe.calibration_photos), "good part"),
        "Alignment": " ".join(alignment.sentences()) if alignment else "none (fixed position)",
        "Areas": ", ".join(areas) or "none (whole photo inspected equally)",
        "Product check": f"{product_check.mode}, limit {product_check.limit:.4g}" if product_check else "none",
        "Defect types": named,
        "Known cases": pluralise(len(known.cases), "part") if known else "none",
        "Reason": provenance.reason,
        "Created": f"{made(recipe)} by {provenance.author}",
        "Versions": ", ".join(f"{name} {number}" for name, number in provenance.versions.items()),
    }


def difference(before: Recipe, after: Recipe) -> list[RecipeDifference]:
    """The differences, in the order of `in_words`; another fit or other photos even if the words agree."""
    old, new = in_words(before), in_words(after)
    rows = [RecipeDifference(subject, old.get(subject, ""), new.get(subject, "")) for subject in old | new]
    differing = [row for row in rows if row.before != row.after]
    digests, others = ({part.digest for part in recipe.calibration_photos} for recipe in (before, after))
    if digests != others:
        removed, added = (f"{len(only)} only in this version" for only in (digests - others, others - digests))
        differing.append(RecipeDifference("Calibration photos", removed, added))
    if not _same_fit(before, after):
        differing.append(RecipeDifference("Trained model", "", "retrained"))
    return differing


def made(recipe: Recipe) -> str:
    """When it was made."""
    return recipe.provenance.created.replace("T", " ").removesuffix("+00:00") + " UTC"


def _same_fit(before: Recipe, after: Recipe) -> bool:
    if before.method != after.method:
        return False
    for old, new in zip(before.views, after.views, strict=True):
        arrays = old.detector.arrays()
        others = new.detector.arrays()
        if arrays.keys() != others.keys() or not all(torch.equal(arrays[name], others[name]) for name in arrays):
            return False
    return True
