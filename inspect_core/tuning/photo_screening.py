"""A look at the good photos before they are learned, since defects, other products and bad photos hide among them.

Each photo is compared with the others: its sharpness and exposure, copies, the product check, and how much it looks
like a defect to a detector that learned the other two thirds. What stands out is described in a sentence; nothing is
left out automatically.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import stored_embedding
from inspect_core.features.store import Store
from inspect_core.images.grouping import propose_groups
from inspect_core.images.photo_quality import (
    BLUR,
    EXPOSURE,
    STANDS_OUT,
    Finding,
    Quality,
    distances,
    findings,
    measured,
)
from inspect_core.images.photo_quality import FEWEST_COMPARED as FEWEST
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.images.samples import Sample, Samples, counted, examples
from inspect_core.images.splitting import LEAST_FOLDS, Split, folds
from inspect_core.methods.registry import BOTH
from inspect_core.runtime.jobs import device_lock
from inspect_core.runtime.progress import Report, stage
from inspect_core.study.scored_photos import ScoredPhotos, swept
from inspect_core.study.study import Study
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.alignment_training import aligned
from inspect_core.tuning.product_check_training import fit

LOST, PRODUCT, UNLIKE, COPY = "not located", "another product", "unusual", "copy"
TOPICS = (LOST, PRODUCT, UNLIKE, BLUR, EXPOSURE, COPY)
"""Topics of the findings, the most serious first."""
MOST_ALIKE = 0.75
"""Share of the photos, the nearest to their median, that the product is learned from: from all of them, a second
product among the photos would be learned as part of the first.
"""
UNRELATED = 1.0
"""The product check's score of a photo that has nothing in common with the product."""
_SCORE, _PRODUCT = 0.05, 0.02
"""Least deviations of the logarithm of a detector's score, and of the product check's score."""

Pairs = Sequence[tuple[Sequence[Sample], Sequence[Sample]]]


@dataclass(frozen=True)
class ScreenedPhoto:
    """A good photo and what stands out in it; unlike: its score over the median of all, higher is stranger, 1 with too
    few photos to compare; place: centre of its strangest patch, (x, y) from 0 to 1 of the photo, None without one.
    """

    sample: Sample
    findings: tuple[Finding, ...]
    unlike: float = 1.0
    place: tuple[float, float] | None = None


@dataclass(frozen=True)
class FirstLook:
    """photos: the good ones, those least like the others first, since defects are among these; skipped: (name, reason)
    of damaged ones.
    """

    photos: tuple[ScreenedPhoto, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def found(self) -> tuple[ScreenedPhoto, ...]:
        """Photos in which something stands out."""
        return tuple(seen for seen in self.photos if seen.findings)

    def sentence(self) -> str:
        """What was found, in words."""
        photos = counted(len(self.photos), "good photo")
        if len(self.photos) < FEWEST:
            return f"{photos}: too few to detect outliers; at least {FEWEST} are needed."
        return f"{len(self.found)} of {photos} are unusual." if self.found else f"No outliers among {photos}."


def first_look(samples: Samples, order: TeachingConfig, store: Store, report: Report) -> FirstLook:
    """Look at all good photos of `samples`; holds the device all the while.

    order: the backbone, size, grid, alignment and seed to use; its photos do not matter, and large ones are not cut
    into tiles. Without alignment the features are those that a comparison of detectors needs too, and are stored for
    it. Raises ValueError for photos that no alignment can be learned from, and whatever `report` raises to stop.
    """
    report(0.0, "loading the network (can take a minute the first time)")
    backbone, taps = order.network(BOTH)
    with device_lock(backbone.device):
        photos, skipped = _read(samples, backbone, store, stage(report, 0.0, 0.4))
        samples = replace(samples, good=tuple(photo.sample for photo in photos))
        found = findings([photo.quality for photo in photos])
        for own, sample in zip(found, samples.good, strict=True):
            if twins := [name for copies in samples.copies if sample.name in copies for name in copies]:
                twins.remove(sample.name)
                own.append(Finding(COPY, f"Near-duplicate of {examples(twins, most=1)}."))
        unlike, places = np.ones(len(photos)), [None] * len(photos)
        groups = propose_groups(samples, few=True)
        pairs = _pairs(samples.good, groups, order.seed)
        if pairs and len(photos) >= FEWEST:
            embeddings = {photo.sample.name: photo.embedding for photo in photos}
            _note_foreign(found, _foreign(embeddings, pairs))
            order = aligned(replace(order, photos=Split(samples.good, (), (), groups=groups)), report)
            order = replace(order, parameters={}, area=None, as_published=False, tolerances=None, tiles=None)
            study = Study(order, backbone, store, taps=taps, method=BOTH)
            study.extract(stage(report, 0.4, 0.8))
            scores, places = _scores(study, pairs, stage(report, 0.8, 1.0))
            for own, sample in zip(found, samples.good, strict=True):
                if sample.name in study.lost:
                    own.append(Finding(LOST, f"The part was not located: {study.lost[sample.name]}."))
            ratios = scores / max(float(np.nanmedian(scores)), np.finfo(np.float32).tiny)
            _note_unlike(found, np.nan_to_num(ratios, nan=1.0))
            unlike = np.nan_to_num(ratios, nan=float(np.nanmax(ratios)))
    seen = map(ScreenedPhoto, samples.good, map(tuple, found), map(float, unlike), places)
    return FirstLook(tuple(sorted(seen, key=lambda one: -one.unlike)), tuple(skipped))


class _Photo(NamedTuple):
    sample: Sample
    quality: Quality
    embedding: np.ndarray


def _read(
    samples: Samples, backbone: Backbone, store: Store, report: Report
) -> tuple[list[_Photo], list[tuple[str, str]]]:
    photos, skipped = [], []
    good = sorted(samples.good, key=lambda sample: sample.name)
    for done, sample in enumerate(good, start=1):
        report(done / len(good), f"checking photo {done} of {len(good)}")
        try:
            picture = read(sample.path, sample.depth)
        except ImageError as error:
            skipped.append((sample.name, f"{error.reason}; {error.remedy}"))
            continue
        pixels = picture.pixels
        embedding = stored_embedding(picture.digest, lambda pixels=pixels: pixels, backbone, store)
        photos.append(_Photo(sample, measured(pixels), embedding))
    return photos, skipped


def _pairs(good: Sequence[Sample], groups: dict[str, str], seed: int) -> Pairs:
    """(fold, all others) of each fold; none with too few groups."""
    found = []
    for fold in folds(good, groups, seed=seed, count=LEAST_FOLDS):
        inside = {sample.name for sample in fold}
        found.append((fold, [sample for sample in good if sample.name not in inside]))
    return found


def _foreign(embeddings: dict[str, np.ndarray], pairs: Pairs) -> np.ndarray:
    """(n,) product check score of each photo, in the order of `embeddings`, learned from the other folds."""
    scores: dict[str, float] = {}
    for fold, others in pairs:
        rows = np.stack([embeddings[sample.name] for sample in others])
        directions = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        apart = np.linalg.norm(directions - np.median(directions, axis=0), axis=1)
        asked = np.stack([embeddings[sample.name] for sample in fold])
        product_check = fit(rows[apart <= np.quantile(apart, MOST_ALIKE)], asked)
        scores |= zip((sample.name for sample in fold), product_check.score(asked).tolist(), strict=True)
    return np.array([scores[name] for name in embeddings])


def _note_foreign(found: list[list[Finding]], scores: np.ndarray) -> None:
    """Note other products: photos whose score is halfway or more from the usual one to that of an unrelated photo."""
    median, apart = float(np.median(scores)), distances(scores, least=_PRODUCT)
    for own, score, distance in zip(found, scores.tolist(), apart.tolist(), strict=True):
        if distance > STANDS_OUT and score > (median + UNRELATED) / 2:
            words = f"product check {score:.2f} (0: the same, 1: nothing in common)"
            said = f"Looks like another product: {words}, median of the photos {median:.2f}."
            own.append(Finding(PRODUCT, said))


def _scores(study: Study, pairs: Pairs, report: Report) -> tuple[np.ndarray, list[tuple[float, float] | None]]:
    """(n,) score of each photo to fit by a detector that learned the photos of the other folds, and its strangest
    place; NaN and None for a photo that cannot be scored because its part is not located.
    """
    scored, count = None, len(study.split.fit)
    for fold, others in pairs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # few photos: all are scored alike
            views = [study.fit_view(number, samples=others) for number in range(len(study.methods))]
        views = [replace(view, only=(view.start,)) for view in views]
        scored = scored or ScoredPhotos(views, study.preparation.grid, study.preparation.backbone.size)
        for sample in fold:
            report(len(scored.photos) / count, f"comparing photo {len(scored.photos) + 1} of {count} with the others")
            if (photo := study.scored_photo(sample, "calibrate")) is not None:
                scored = scored.with_errors(photo[0], swept([(view, view.stops) for view in views], photo[1]))
    if scored is None:
        raise ValueError("there are too few photos to compare; add good photos")
    scores, (height, width) = scored.calibration_scores(), study.preparation.grid
    found = {}
    for photo, score, errors in zip(scored.photos, scores.tolist(), scored.grid_errors(), strict=True):
        shown = np.where(photo.placed.empty(errors.shape), errors.min(), errors)
        row, column = divmod(int(photo.placed.over_photo(shown).argmax()), width)
        found[photo.name] = score, ((column + 0.5) / width, (row + 0.5) / height)
    kept = [found.get(sample.name, (np.nan, None)) for sample in study.split.fit]
    return np.array([score for score, _ in kept]), [place for _, place in kept]


def _note_unlike(found: list[list[Finding]], unlike: np.ndarray) -> None:
    apart = distances(np.log(np.maximum(unlike, np.finfo(np.float32).tiny)), least=_SCORE)
    for own, ratio, distance in zip(found, unlike.tolist(), apart.tolist(), strict=True):
        if distance > STANDS_OUT:
            own.append(Finding(UNLIKE, f"Unusual: its peak score is {ratio:.1f} times the median of the others."))
