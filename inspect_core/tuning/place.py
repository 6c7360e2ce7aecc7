"""Whether parts show the same at each place of every photo: this names the detector to begin with."""

import math
from collections.abc import Collection, Iterable

import torch
from torch import Tensor

from inspect_core.methods.registry import ANYWHERE, DEFAULT_METHOD, FIXED, IN_TILES, LOOSE
from inspect_core.study.study import Study

PLACED = 0.5
"""Share of the variance of patch features that the mean of their place explains from which on places are preferred:
they tell more than all else.
"""
SCATTERED = 0.05
"""The same share up to which places have nothing in common: what is learned place by place then only disturbs."""
MOST_PHOTOS = 100
"""Photos, evenly from those to fit, that tell."""


def explained_by_place(photos: Iterable[Tensor]) -> float:
    """The share of the variance of features that the mean of their place explains, leave-one-out.

    photos: (1, h, w, k) of each. 1 - (n / (n - 1))^2 within / total over n photos, sums over places and dimensions:
    near 1 where every photo shows the same at a place, 0 where places have nothing in common; -inf for a single photo
    or features that are all equal.
    """
    count = 0
    sums = torch.zeros(1)
    squares = torch.zeros(1)
    for features in photos:
        values = features[0].double()
        count, sums, squares = count + 1, sums.to(values) + values, squares.to(values) + values.square()
    mean = sums / max(count, 1)
    within = float((squares / max(count, 1) - mean.square()).sum(-1).mean())
    total = within + float((mean - mean.flatten(0, -2).mean(0)).square().sum(-1).mean())
    if count < 2 or total <= torch.finfo(torch.float32).eps * float(mean.square().sum(-1).mean()):
        return -math.inf
    return 1 - (count / (count - 1)) ** 2 * max(within, 0.0) / total


def place_of(study: Study) -> float | None:
    """`explained_by_place` of the photos to fit; None where the study does not look at places."""
    if DEFAULT_METHOD not in study.methods:
        return None
    samples = study.split.train[:: -(-len(study.split.train) // MOST_PHOTOS)]
    number = study.methods.index(DEFAULT_METHOD)
    photos = (study.scored_photo(sample, "train") for sample in samples)
    return explained_by_place(photo[1][number] for photo in photos if photo is not None)


def preferred(place: float | None, candidates: Collection[str]) -> str:
    """The detector to begin with, of these: by how fixed places are, the first where none of them takes part."""
    detectors = (LOOSE, FIXED)
    if place is not None and not SCATTERED < place < PLACED:
        detectors = (FIXED, LOOSE) if place >= PLACED else (ANYWHERE, LOOSE, FIXED)
    return next((name for name in detectors if name in candidates), next(iter(candidates)))


def preferred_in_tiles(place: float | None) -> str:
    """The detector of large photos in tiles, by how fixed places are."""
    fixed, loose, scattered = IN_TILES
    if place is None or place >= PLACED:
        return fixed
    return loose if place > SCATTERED else scattered


def in_words(place: float | None, *, tiled: bool = False) -> str:
    """What the photos say about places; "" where that is not known. tiled: for `preferred_in_tiles`."""
    if place is None:
        return ""
    share = f"(location explains {100 * max(place, 0):.0f}% of patch appearance)"
    if place >= PLACED:
        return f"Your parts are in much the same position in all photos {share}. "
    return f"Your parts vary in position {share}, so patches are compared regardless of location. "
