"""A recipe in plain words, and the differences between two."""

from collections import Counter
from typing import NamedTuple

import torch

from inspect_core.audit.changes import limits_in_words
from inspect_core.images.samples import counted
from inspect_core.judge.anomaly_map import AREA
from inspect_core.methods.table import title_of
from inspect_core.recipe import Recipe


class Difference(NamedTuple):
    """what: the property that differs, in words; before, after: its value in each of the two, "" for none."""

    what: str
    before: str
    after: str


def in_words(recipe: Recipe) -> dict[str, str]:
    """Everything that an engineer sets or sees of a recipe, by its name on the pages."""
    backbone, size, grid = recipe.backbone, recipe.backbone.size, recipe.grid
    values = {f"Live value {name}": str(value) for name, value in recipe.live.items() if name != AREA}
    return {
        "Product": recipe.product,
        "Limit": limits_in_words(recipe.limits),
        "Smallest area": f"{recipe.live[AREA]} px of the map",
        **values,
        "Detector": title_of(recipe.method),
        "Backbone": f"{backbone.name}, weights {backbone.weight_digest[:12]}",
        "Feature layers": ", ".join(backbone.taps),
        "Image size": f"{size[1]} × {size[0]} px",
        "Scale": f"{recipe.mm_per_pixel:g} mm per pixel" if recipe.mm_per_pixel else "not known",
        "Tiles": recipe.tiles.sentence() if recipe.tiles else "none",
        "Patch grid": f"{grid[1]} × {grid[0]}",
        "Training": recipe.provenance.calibration_note,
        "Photos that set the limit": counted(len(recipe.calibration), "good part"),
        "Alignment": _alignment(recipe),
        "Areas": _areas(recipe),
        "Product check": _product_check(recipe),
        "Defect types": _defect_types(recipe),
        "Known cases": _known_cases(recipe),
        "Reason": recipe.provenance.reason,
        "Made": f"{made(recipe)} by {recipe.provenance.author}",
        "Versions": ", ".join(f"{name} {number}" for name, number in recipe.provenance.versions.items()),
    }


def difference(before: Recipe, after: Recipe) -> list[Difference]:
    """The differences, in the order of `in_words`; another fit or other photos are named even if the words agree."""
    old, new = in_words(before), in_words(after)
    found = [
        Difference(what, old.get(what, ""), new.get(what, ""))
        for what in old | new
        if old.get(what, "") != new.get(what, "")
    ]
    digests = [{part.digest for part in recipe.calibration} for recipe in (before, after)]
    if digests[0] != digests[1]:
        gone, added = len(digests[0] - digests[1]), len(digests[1] - digests[0])
        found.append(
            Difference("Which photos set the limit", f"{gone} of them only here", f"{added} of them only here")
        )
    if not _same_fit(before, after):
        found.append(Difference("What was learned", "", "learned again"))
    return found


def made(recipe: Recipe) -> str:
    """When it was made."""
    return recipe.provenance.created.replace("T", " ").removesuffix("+00:00") + " UTC"


def _alignment(recipe: Recipe) -> str:
    return " ".join(recipe.alignment.sentences()) if recipe.alignment else "none, photos as taken"


def _areas(recipe: Recipe) -> str:
    if recipe.areas is None:
        return "none, all is inspected alike"
    kinds = Counter(area.kind for area in recipe.areas.areas)
    return ", ".join(
        f"{count} to {kind}" if kind != "stricter" else f"{count} stricter" for kind, count in kinds.items()
    )


def _product_check(recipe: Recipe) -> str:
    return f"{recipe.guard.mode}, limit {recipe.guard.limit:.4g}" if recipe.guard else "none"


def _defect_types(recipe: Recipe) -> str:
    if recipe.defect_types is None:
        return "none"
    least = 100 * recipe.defect_types.minimum_confidence
    return f"{', '.join(recipe.defect_types.names)}; minimum confidence {least:.0f} %"


def _known_cases(recipe: Recipe) -> str:
    return counted(len(recipe.gallery.cases), "part") if recipe.gallery else "none"


def _same_fit(before: Recipe, after: Recipe) -> bool:
    if len(before.views) != len(after.views):
        return False
    for old, new in zip(before.views, after.views, strict=True):
        arrays, others = old.detector.arrays(), new.detector.arrays()
        if old.method != new.method or arrays.keys() != others.keys():
            return False
        if not all(torch.equal(arrays[name], others[name]) for name in arrays):
            return False
    return True
