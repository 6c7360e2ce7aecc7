"""The proof that a recipe can inspect: everything in it scores made-up features before it is handed out.

A recipe from elsewhere may be well formed and still fit nothing, or overflow. Features of any photo are bounded, so
what is finite on vectors of all lengths that networks give, and beyond, stays finite; where it does not after all, the
photo gets an error and no verdict.
"""

from copy import copy
from pathlib import Path

import numpy as np
import torch

from inspect_core.judge.anomaly_map import SIGMA, image_score, to_pixels
from inspect_core.judge.checks import as_finite
from inspect_core.methods.table import METHODS
from inspect_core.package.manifest import refusing
from inspect_core.recipe import Recipe

PARTS = {
    "detector": "the detector",
    "guard": "the product check",
    "gallery": "the gallery of known cases",
    "kinds": "the naming of defects",
}
PHOTOS, CLASSES = 8, 1000
SHORTEST, LONGEST = -3, 6
"""Powers of ten that the made-up vectors are scaled by."""


def prove(recipe: Recipe, where: Path, *, width: int, embedding: int | None) -> None:
    """Score one patch grid with the detector, and some photos with the product check, gallery and kinds.

    width: features of a patch; embedding: width of the penultimate features, None when no part looks at them.
    What the detector derives from its arrays on the way is not kept.
    Raises RecipeError naming recipe, part and reason when a part cannot score them, or gives what is not finite.
    """
    rng = np.random.default_rng(0)
    patches, photos = _vectors(rng, *recipe.grid, width)[None], _vectors(rng, PHOTOS, embedding or 0)
    with np.errstate(all="ignore"):
        with refusing(where, f"{PARTS['detector']} cannot be used"):
            _prove_detector(recipe, torch.from_numpy(patches))
        if recipe.guard is not None:
            with refusing(where, f"{PARTS['guard']} cannot be used"):
                logits = _vectors(rng, PHOTOS, CLASSES) if recipe.guard.fused else None
                as_finite(recipe.guard.score(photos, logits), name="its score")
        if recipe.gallery is not None:
            with refusing(where, f"{PARTS['gallery']} cannot be used"):
                for photo in photos:
                    recipe.gallery.nearest(photo, count=1)
        if recipe.defect_types is not None:
            with refusing(where, f"{PARTS['kinds']} cannot be used"):
                for photo in photos:
                    recipe.defect_types.of_embedding(photo)


def _prove_detector(recipe: Recipe, patches: torch.Tensor) -> None:
    """Maps of (1, h, w, k) features at the live parameter in force, at the one to begin with, and at the end of it."""
    row, detector = METHODS[recipe.method], copy(recipe.detector)
    stops = (*recipe.live.values(), row.start(detector), row.top(detector)) if row.live else (0,)
    errors = row.sweep(detector, patches, stops).reshape(len(stops), *recipe.grid).cpu().float().numpy()
    as_finite(image_score(to_pixels(errors, recipe.backbone.size, sigma=SIGMA)), name="its score")


def _vectors(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """(..., n) float32 normal vectors, each at a scale of its own."""
    scale = 10.0 ** rng.uniform(SHORTEST, LONGEST, (*shape[:-1], 1))
    return (scale * rng.standard_normal(shape)).astype(np.float32)
