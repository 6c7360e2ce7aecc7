"""A trial: how well settings, or whole detectors, separate defects from the good surface, photo by photo.

The defects are made up and pasted into good photos; when enough real ones are known, the half reserved for choosing,
for which no figures are reported, is added. Qualities are per photo, so that two settings are compared in pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from torch import Tensor

from inspect_core.features.extraction import Preparation
from inspect_core.images.alignment import NotLocated
from inspect_core.images.pasted_defects import KINDS
from inspect_core.images.placement import Placement
from inspect_core.images.read import ImageError, read
from inspect_core.judge.masks import mask_at
from inspect_core.judge.metrics import aupro, auroc
from inspect_core.runtime.progress import Report, tell
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import Study
from inspect_core.view import View

PASTED = 24
MOST_GOOD = 60
HELD_BYTES = 10**9
"""Most bytes of features of the good photos, which are held in memory: fewer photos if they are large."""
CONFIDENCE = 0.95
SHRINK = 4
"""Maps are read at every fourth pixel: they are smooth, and hundreds of them are compared."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Photos to try settings on.

    photos: good ones first, then defects, with their features for each view and the mask of a defect, (h, w) bool,
    where it is known; pasted: how many of the defects are made up; held_out: whether the good photos were kept out of
    the fit.
    """

    photos: tuple[tuple[ScoredPhoto, tuple[Tensor, ...], np.ndarray | None], ...]
    grid: tuple[int, int]
    size: tuple[int, int]
    area: int
    pasted: int
    held_out: bool

    @property
    def basis(self) -> str:
        """What the trial is based on, in words: "36 synthetic defects in good photos and 20 known ones"."""
        known = sum(photo.is_defect for photo, _, _ in self.photos) - self.pasted
        made = f"{self.pasted} good photos with synthetic defects pasted in"
        return made if not known else f"{made} and {known} known defects"

    def scored(self, views: Sequence[View]) -> ScoredPhotos:
        """The photos of the trial under a detector."""
        scored = ScoredPhotos(views, self.grid, self.size, area=self.area)
        for photo, features, _ in self.photos:
            scored = scored.with_photo(photo, features)
        return scored

    def qualities(self, scored: ScoredPhotos, **live: int) -> np.ndarray:
        """(defects,) from 0 to 1: the mean of up to three shares for each photo with a defect.

        The share of good photos it scores above; how often a pixel of the defect scores above one outside it; AUPRO.
        """
        good = np.sort(scored.calibration_scores(**live))
        scores, found = scored.scores(**live), []
        for i, (photo, _, mask) in enumerate(self.photos):
            if not photo.is_defect:
                continue
            sides = [np.searchsorted(good, scores[i], side=side) / len(good) for side in ("left", "right")]
            shares = [float(np.mean(sides))]
            if mask is not None and mask.any():
                pixels = scored.map(i, **live)[SHRINK // 2 :: SHRINK, SHRINK // 2 :: SHRINK][None]
                shares += [auroc(pixels, mask[None]), aupro(pixels, mask[None])]
            found.append(float(np.mean(shares)))
        return np.array(found)


def is_better(qualities: np.ndarray, than: np.ndarray, *, tried: int = 1) -> bool:
    """Whether the first is better on the same photos: a one-sided paired t-test at CONFIDENCE.

    tried: how many were compared, of which this is the best (Bonferroni).
    """
    difference = qualities - than
    if len(difference) < 2:
        return False
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return bool(difference.mean() > stats.t.ppf(1 - (1 - CONFIDENCE) / tried, len(difference) - 1) * error)


def make_trial(study: Study, progress: Report | None = None) -> Trial:
    """The trial of an extracted study. Raises ValueError when none of the good photos can be read any more."""
    pool = study.split.calibrate or study.split.fit
    preparation = study.preparation
    held = max(PASTED // 2, HELD_BYTES // preparation.bytes_per_photo)
    good = [pool[i] for i in np.unique(np.linspace(0, len(pool) - 1, min(MOST_GOOD, held)).astype(int))]
    size, photos, made = preparation.map_size, [], 0
    for sample in good:
        if (found := study.scored_photo(sample, "calibrate")) is not None:
            photos.append((*found, None))
    for number in range(PASTED):
        tell(progress, None, number / PASTED, "making synthetic defects")
        sample = good[number * len(good) // PASTED if len(good) >= PASTED else number % len(good)]
        donor = good[(number + len(good) // 2) % len(good)]
        try:
            photo, donated = (read(one.path, one.depth).pixels for one in (sample, donor))
            placement = preparation.place(photo)
            pixels, other = preparation.picture(photo, placement), preparation.picture(donated)
        except (ImageError, NotLocated):
            continue
        rng = np.random.default_rng([study.seed, number])
        here, mask = _window(preparation, rng), np.zeros(preparation.size, bool)
        pixels[here], mask[here] = KINDS[number % len(KINDS)](pixels[here], rng, other[here])
        mask &= ~placement.empty(preparation.size)
        made_up = ScoredPhoto(
            f"pasted {number}", f"pasted {number}", placement.size, "pasted", "choose", sample.path, placement=placement
        )
        features = preparation.features(pixels, Placement(preparation.size))
        photos.append((made_up, features, mask_at(mask, _small(size))))
        made += 1
    if not made:
        raise ValueError("none of the good photos can be read any more; check that they are still there")
    for sample in study.split.choose:
        if (found := study.scored_photo(sample, "choose")) is not None:
            photos.append((*found, found[0].known_mask(_small(size))))
    return Trial(tuple(photos), preparation.grid, size, preparation.default_area, made, bool(study.split.calibrate))


def _window(preparation: Preparation, rng: np.random.Generator) -> tuple[slice, slice]:
    """Where a defect is pasted: anywhere in a photo that the network sees whole, within one tile's size in a large
    one.
    """
    free = [whole - seen for whole, seen in zip(preparation.size, preparation.backbone.size, strict=True)]
    top, left = (int(rng.integers(most + 1)) if most else 0 for most in free)
    height, width = preparation.backbone.size
    return slice(top, top + height), slice(left, left + width)


def _small(size: tuple[int, int]) -> tuple[int, int]:
    return (-(-(size[0] - SHRINK // 2) // SHRINK), -(-(size[1] - SHRINK // 2) // SHRINK))
