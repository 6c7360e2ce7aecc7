"""Up to which limit each defect of the bench is found at its true mask."""

import math

import numpy as np

from inspect_core.judge import found
from inspect_core.judge.anomaly_map import AREA
from inspect_core.study.judged import AT_ONCE
from inspect_core.study.scored_photos import ScoredPhotos


def found_up_to(scored: ScoredPhotos, **live: int) -> np.ndarray:
    """(photos,) float64, read-only, of `judge.found` at a stored live value; NaN where no true mask is known."""
    values = scored.live | live

    def look() -> np.ndarray:
        limits = np.full(len(scored.photos), math.nan)
        masks = {i: near for i, photo in enumerate(scored.photos) if (near := photo.near(scored.size)) is not None}
        known = list(masks)
        for first in range(0, len(known), AT_ONCE):
            some = known[first : first + AT_ONCE]
            for i, own in zip(some, scored.maps(some, **live), strict=True):
                limits[i] = found.found_up_to(own, masks[i], area=values[AREA])
        return limits

    return scored.latest.of(("found", *sorted(values.items())), look)
