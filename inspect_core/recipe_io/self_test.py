"""The proof that a recipe can inspect: all its parts score made-up features before the recipe is returned.

A recipe from elsewhere may be well formed and still not work, or overflow. Features of any photo are bounded, so scores
that are finite for vectors of all lengths that networks produce, and beyond, stay finite; if one does not after all,
the photo gets an error and no verdict.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from inspect_core.methods.fitted_method import joined_errors
from inspect_core.recipe import Recipe
from inspect_core.recipe_format.fields import PARTS
from inspect_core.recipe_format.recipe_package import recipe_errors
from inspect_core.scoring.anomaly_map import SIGMA, image_score, to_pixels
from inspect_core.scoring.input_checks import as_finite

PHOTOS = 8
CLASSES = 1000
SHORTEST = -3
"""Least power of ten that the made-up vectors are scaled by."""
LONGEST = 6
"""The largest."""


def run_self_test(recipe: Recipe, path: Path, *, widths: Sequence[int], embedding: int | None) -> None:
    """Score one patch grid with the detector, and some photos with the product check, gallery and kinds.

    widths: features of a patch for each view; embedding: width of the penultimate features, None when no part looks
    at them.
    Values that the detector derives from its arrays in the process are not kept.
    Raises RecipeError naming recipe, part and reason when a part cannot score them, or a score is not finite.
    """
    rng = np.random.default_rng(0)
    patches = [torch.from_numpy(_vectors(rng, *recipe.grid, width)[None]) for width in widths]
    embeddings = _vectors(rng, PHOTOS, embedding or 0)
    with np.errstate(all="ignore"):
        with recipe_errors(path, "the detector cannot be used"):
            _prove_detector(recipe, patches)
        if recipe.product_check is not None:
            with recipe_errors(path, f"{PARTS['product_check'][-1]} cannot be used"):
                logits = _vectors(rng, PHOTOS, CLASSES) if recipe.product_check.fused else None
                as_finite(recipe.product_check.score(embeddings, logits), name="its score")
        if recipe.known_cases is not None:
            with recipe_errors(path, "the gallery of known cases cannot be used"):
                for vector in embeddings:
                    recipe.known_cases.nearest(vector, count=1)
        if recipe.defect_types is not None:
            with recipe_errors(path, f"{PARTS['defect_types'][-1]} cannot be used"):
                for vector in embeddings:
                    recipe.defect_types.of_embedding(vector)
        if recipe.alignment is not None:
            with recipe_errors(path, f"{PARTS['alignment'][-1]} cannot be used"):
                recipe.alignment.locate(recipe.alignment.reference)


def _prove_detector(recipe: Recipe, patches: Sequence[torch.Tensor]) -> None:
    """Compute the map of (1, h, w, k) features at the live values in force, and each view's at its first and last."""
    views = [replace(view, detector=copy(view.detector)) for view in recipe.views]
    errors = joined_errors(views, [patches], recipe.live_values)
    for view, view_patches in zip(views, patches, strict=True):
        stops = (view.start, view.definition.max_value(view.detector)) if view.live_parameter else (0,)
        errors += list(view.sweep([view_patches], stops)[0])
    as_finite(image_score(to_pixels(np.stack(errors), recipe.map_size, sigma=SIGMA)), name="its score")


def _vectors(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """(..., n) float32 normal vectors, each at a scale of its own."""
    scale = 10.0 ** rng.uniform(SHORTEST, LONGEST, (*shape[:-1], 1))
    return (scale * rng.standard_normal(shape)).astype(np.float32)
