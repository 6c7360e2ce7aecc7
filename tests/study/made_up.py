"""Photos on the bench, and points of a scatter, whose patches are made up."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning.scatter_points import ScatterPoints

SIZE, GRID = (64, 96), (4, 3)


def patches(seed: int) -> torch.Tensor:
    """(1, 4, 3, 5) float32 of one photo."""
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(1, *GRID, 5)).astype(np.float32))


def photo(name: str, kind: str = "good", part: str = "test", **known) -> ScoredPhoto:
    return ScoredPhoto(name, name * 8, SIZE, kind, part, Path(name), **known)


def bench(views: Sequence[FittedMethod], photos: Sequence[ScoredPhoto], patches_of=patches) -> ScoredPhotos:
    """The photos under one view, each with the patches that `patches_of` makes for its number."""
    scored = ScoredPhotos(views, GRID, SIZE)
    for i, photo in enumerate(photos):
        scored = scored.with_photo(photo, [patches_of(i)])
    return scored


def rows_of(n: int, d: int = 5, seed: int = 0) -> ScatterPoints:
    rng = np.random.default_rng(seed)
    place = np.stack([rng.integers(0, GRID[0], n), rng.integers(0, GRID[1], n)], axis=1)
    flat = np.zeros(n, np.float32)
    truth = np.full(n, "good", dtype=object)
    return ScatterPoints(rng.normal(size=(n, d)).astype(np.float32), np.zeros(n, int), place, flat, flat, truth)
