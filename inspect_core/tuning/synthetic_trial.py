"""A trial: how well detectors separate defects from the good surface, photo by photo.

The defects are made up and pasted into good photos; when enough real ones are known, the half reserved for choosing,
for which no figures are reported, is added. Qualities are per photo, so that two settings are compared in pairs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import stdtrit

from inspect_core.datasets.folders import PhotoFile
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.images.alignment import NotLocated
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.images.synthetic_defects import KINDS
from inspect_core.scoring.masks import mask_at
from inspect_core.scoring.metrics import aupro, auroc
from inspect_core.study.fitting import Made
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import FittedStudy, Study

COMPARISON_DEFECTS = 120
"""Synthetic defects that detectors are compared on."""
CONFIDENCE = 0.95
NO_READABLE_PHOTOS = "none of the good photos can be read any more; check that they are still there"
SHRINK = 4
"""Maps are read at every fourth pixel: they are smooth, and hundreds of them are compared."""


class DefectPaster:
    """Synthetic defects pasted into good photos of a study, `count` in all, evenly over them.

    masks: (h, w) bool of each photo made so far, by name, at every SHRINK-th pixel of the map.
    """

    def __init__(self, study: Study, good: Sequence[PhotoFile], count: int) -> None:
        self.masks: dict[str, np.ndarray] = {}
        self._study, self._good, self.count = study, good, count
        self._numbers: dict[str, list[int]] = {}
        for number in range(count):
            i = number % len(good) if count > len(good) else number * len(good) // count
            self._numbers.setdefault(good[i].name, []).append(number)
        self._donors = {sample.name: good[(i + len(good) // 2) % len(good)] for i, sample in enumerate(good)}

    def paste_defects(self, samples: Sequence[PhotoFile]) -> Iterator[Callable[[], Made | None]]:
        """Yield what makes each photo from some of the good ones; None for one that cannot be read."""
        for sample in samples:
            for number in self._numbers.get(sample.name, ()):
                yield partial(self._made, sample, number)

    def _made(self, sample: PhotoFile, number: int) -> Made | None:
        extractor = self._study.extractor
        donor = self._donors[sample.name]
        try:
            photo, donated = (read(file.path, file.depth).pixels for file in (sample, donor))
            placement = extractor.place(photo)
        except (ImageError, NotLocated):
            return None
        pixels, other = extractor.network_input(photo, placement), extractor.network_input(donated)
        rng = np.random.default_rng([self._study.order.seed, number])
        here = _window(extractor, rng)
        mask = np.zeros(extractor.size, bool)
        pixels[here], mask[here] = KINDS[number % len(KINDS)](pixels[here], rng, other[here])
        mask &= ~placement.uninspected_mask(extractor.size)
        name = f"pasted {number}"
        self.masks[name] = mask_at(mask, shrunk_size(extractor.map_size))
        made = ScoredPhoto(name, name, placement.size, "pasted", "validation", sample.path, placement=placement)
        return made, pixels


@dataclass(frozen=True, eq=False)
class Trial:
    """Photos to try detectors on.

    photos: good ones, which set the limits, and defects; masks: of a defect, (h, w) bool, by name, where it is known;
    pasted: how many of the defects are made up.
    """

    photos: tuple[ScoredPhoto, ...]
    masks: Mapping[str, np.ndarray]
    pasted: int

    @property
    def basis(self) -> str:
        """What the trial is based on, in words: "36 good photos with synthetic defects pasted in"."""
        known = sum(photo.is_defect for photo in self.photos) - self.pasted
        made = (self.pasted, "good photos with synthetic defects pasted in"), (known, "known defects")
        return " and ".join(f"{count} {subject}" for count, subject in made if count)

    def qualities(self, scored: ScoredPhotos, **live: int) -> np.ndarray:
        """(defects,) from 0 to 1: the mean of up to three shares for each photo with a defect.

        The share of good photos it scores above; how often a pixel of the defect scores above one outside it; AUPRO.
        scored: these photos under a detector.
        """
        good = np.sort(scored.calibration_scores(**live))
        scores = scored.scores(**live)
        quality_scores = []
        for i, photo in enumerate(self.photos):
            if not photo.is_defect:
                continue
            sides = [np.searchsorted(good, scores[i], side=side) / len(good) for side in ("left", "right")]
            shares = [float(np.mean(sides))]
            mask = self.masks.get(photo.name)
            if mask is not None and mask.any():
                pixels = scored.map(i, **live)[SHRINK // 2 :: SHRINK, SHRINK // 2 :: SHRINK][None]
                shares += [auroc(pixels, mask[None]), aupro(pixels, mask[None])]
            quality_scores.append(float(np.mean(shares)))
        return np.array(quality_scores)


def is_better(qualities: np.ndarray, than: np.ndarray, *, tried: int = 1) -> bool:
    """Whether the first is better on the same photos: a one-sided paired t-test at CONFIDENCE.

    tried: how many were compared, of which this is the best (Bonferroni).
    """
    difference = qualities - than
    if len(difference) < 2:
        return False
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return bool(difference.mean() > stdtrit(len(difference) - 1, 1 - (1 - CONFIDENCE) / tried) * error)


def crossed_trial(study: FittedStudy, pasting: DefectPaster) -> tuple[Trial, ScoredPhotos]:
    """The trial of a study fitted with `trying=pasting.made_of`, and its photos under all views at their start.

    Raises ValueError when none of the good photos can be read any more.
    """
    if pasting.count and not study.tried:
        raise ValueError(NO_READABLE_PHOTOS)
    results = study.scored
    views = [replace(view, selected_stops=(view.start,)) for view in results.views]
    first = [view.stops.index(view.start) for view in results.views]
    chosen = results.setters() | results.of_subset("validation")
    photo_errors = [(results.photos[i], results.errors(i)) for i in np.flatnonzero(chosen).tolist()]
    scored = results.with_views(views).with_errors(
        (photo, [[view_errors[[stop]] for view_errors, stop in zip(errors, first, strict=True)]])
        for photo, errors in (*photo_errors, *study.tried)
    )
    masks = pasting.masks | masks_of(scored.photos, results.size)
    return Trial(scored.photos, masks, len(study.tried)), scored


def masks_of(photos: Sequence[ScoredPhoto], size: tuple[int, int]) -> dict[str, np.ndarray]:
    """By name the known masks of the defects kept to choose by, at every SHRINK-th pixel of the map."""
    masks = {photo.name: photo.known_mask(shrunk_size(size)) for photo in photos if photo.is_defect and photo.mask}
    return {name: mask for name, mask in masks.items() if mask is not None}


def _window(extractor: FeatureExtractor, rng: np.random.Generator) -> tuple[slice, slice]:
    """Where a defect is pasted: anywhere in a photo seen whole, within one tile's size in a large one."""
    free = [whole - input_side for whole, input_side in zip(extractor.size, extractor.backbone.size, strict=True)]
    top, left = (int(rng.integers(most + 1)) if most else 0 for most in free)
    height, width = extractor.backbone.size
    return slice(top, top + height), slice(left, left + width)


def shrunk_size(size: tuple[int, int]) -> tuple[int, int]:
    """The size of a map read at every SHRINK-th pixel."""
    return (-(-(size[0] - SHRINK // 2) // SHRINK), -(-(size[1] - SHRINK // 2) // SHRINK))
