"""Recipes on disk in float32 and with 16-bit factors, and what the rounding does to scores of the sample part.

The 16-bit model is rounded before it is calibrated, so its limit is its own; flips are counted under its own limit
and, as a harder test, under the limit of the float32 model.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks.main_job.setting import Setting, network, study, taught
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.recipe import Recipe, inspect
from inspect_core.recipe_io import recipe_file
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import FittedStudy

MB = 10**6


def figures(setting: Setting) -> dict:
    """MB (10^6 bytes) of both recipes and the effect of rounding, on each grid."""
    return {"k": setting.k} | {f"{side}x{side}": on_grid(setting, side) for side in setting.sides}


def on_grid(setting: Setting, side: int) -> dict:
    with tempfile.TemporaryDirectory(prefix="loupe-recipes-") as folder:
        root = Path(folder)
        full = study(setting, taught(setting), side, FeatureStore(root / "features")).fit()
        rounded = _rounded(full)
        recipe = full.recipe()
        rounded_recipe = rounded.recipe()
        return {
            "float32": _saved(recipe, root / "float32", full, setting),
            "float16": _saved(rounded_recipe, root / "float16", rounded, setting),
            "rounding": effect(full, rounded),
        }


def effect(full: FittedStudy, rounded: FittedStudy) -> dict:
    """Changes of image and patch scores, relative to float32; rank correlation; photos whose verdict changes."""
    before = full.scores()
    after = rounded.scores()
    patches = full.scored.grid_errors(), rounded.scored.grid_errors()
    limits = full.default_limits()
    theirs = rounded.default_limits()
    words = [limits.decide(score)[0] for score in before]
    return {
        "photos": len(before),
        "largest_relative_change": float(np.abs(after / before - 1).max()),
        "largest_relative_change_of_a_patch": float(np.abs(patches[1] / patches[0] - 1).max()),
        "rank_correlation": float(spearmanr(before, after)[0]),
        "flips": sum(word != theirs.decide(score)[0] for word, score in zip(words, after, strict=True)),
        "flips_under_the_float32_limit": sum(
            word != limits.decide(score)[0] for word, score in zip(words, after, strict=True)
        ),
    }


def _rounded(full: FittedStudy) -> FittedStudy:
    """The same study with its factors in 16 bits; every photo is scored anew."""
    old = full.scored
    views = [replace(view, detector=view.detector.rounded()) for view in old.views]
    scored = ScoredPhotos(views, old.grid, old.size)
    for photo in old.photos:
        scored = scored.with_photo(photo, full.features(photo))
    return replace(full, scored=scored)


def _saved(recipe: Recipe, path: Path, fitted: FittedStudy, setting: Setting) -> dict:
    """Its size as a folder and as a zip, and whether it gives the study's scores to the bit when opened again."""
    recipe_file.save(recipe, path)
    recipe_file.save(recipe, path.with_suffix(".zip"))
    opened = recipe_file.load(path)
    photos = fitted.photos[: setting.repeats]
    scores = [inspect(read(photo.path).pixels, opened, backbone=network(setting)).score for photo in photos]
    return {
        "folder_mb": sum(file.stat().st_size for file in path.iterdir()) / MB,
        "zip_mb": path.with_suffix(".zip").stat().st_size / MB,
        "same_scores_when_opened": bool(np.array_equal(np.float32(scores), fitted.scores()[: len(photos)])),
    }
