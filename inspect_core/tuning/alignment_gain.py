"""Whether alignment helps on a user's good photos: how much less they differ from each other at each place."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from inspect_core.features.extraction import Preparation
from inspect_core.images.alignment import Alignment

PAYS = 0.8
"""Alignment is proposed when it leaves less than this share of the variance."""


@dataclass(frozen=True)
class Gain:
    """before, after: mean variance of a feature at a place over the good photos; photos: those both are of; seconds: to
    align one of them.
    """

    before: float
    after: float
    photos: int
    seconds: float

    @property
    def pays(self) -> bool:
        """Whether to propose it."""
        return self.after < PAYS * self.before

    def sentence(self) -> str:
        """A gain that pays and its cost in words, for the user."""
        less = f"{1 - self.after / self.before:.0%} less"
        return (
            f"Aligned, {self.photos} good photos differ {less} from each other at each place. It takes "
            f"{self.seconds:.2f} s a photo, and a photo in which the part is not found is not judged."
        )


def measured(photos: Iterable[np.ndarray], alignment: Alignment, preparation: Preparation) -> Gain:
    """The gain on good photos, (H, W, 3) uint8, processed one after the other; those not located are skipped.

    Two runs of the network per photo. Raises ValueError for fewer than two located photos.
    """
    moments = {way: [torch.zeros(1), torch.zeros(1)] for way in ("before", "after")}
    count, seconds = 0, 0.0
    for pixels in photos:
        began = time.perf_counter()
        located = alignment.locate(pixels)
        if located is None:
            continue
        count += 1
        aligned = located.squash(pixels, preparation.backbone.size)
        seconds += time.perf_counter() - began
        for way, picture in (("before", pixels), ("after", aligned)):
            features = preparation.features(picture)[0].double().cpu()
            moments[way] = [moments[way][0] + features, moments[way][1] + features**2]
    if count < 2:
        raise ValueError(f"the part was located on {count} photos; the gain is measured on two or more")
    before, after = (float((squares / count - (sums / count) ** 2).mean()) for sums, squares in moments.values())
    return Gain(before, after, count, seconds / count)
