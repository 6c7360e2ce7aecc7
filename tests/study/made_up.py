"""Photos on the bench whose patches are made up."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.view import View

SIZE, GRID = (64, 96), (4, 3)


def patches(seed: int) -> torch.Tensor:
    """(1, 4, 3, 5) float32 of one photo."""
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(1, *GRID, 5)).astype(np.float32))


def photo(name: str, kind: str = "good", part: str = "judge", **known) -> ScoredPhoto:
    return ScoredPhoto(name, name * 8, SIZE, kind, part, Path(name), **known)


def bench(views: Sequence[View], photos: Sequence[ScoredPhoto], seen=patches) -> ScoredPhotos:
    """The photos under one view, each with the patches that `seen` makes for its number."""
    scored = ScoredPhotos(views, GRID, SIZE)
    for i, own in enumerate(photos):
        scored = scored.with_photo(own, [seen(i)])
    return scored
