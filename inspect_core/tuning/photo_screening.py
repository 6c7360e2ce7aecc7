"""A look at the good photos before they are learned, since defects, other products and bad photos hide among them.

Each photo is compared with the others: its sharpness and exposure, copies, the product check, and how much it looks
like a defect to a detector that learned the other two thirds. What stands out is described in a sentence; nothing is
left out automatically.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from inspect_core.datasets.dataset import Dataset, PhotoFile
from inspect_core.datasets.grouping import propose_groups
from inspect_core.datasets.splitting import MIN_FOLDS, Split, folds
from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import Crop, embeddings_of
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_quality import (
    BLUR,
    EXPOSURE,
    STANDS_OUT,
    Finding,
    PhotoQuality,
    find_outliers,
    measure_quality,
    robust_z_scores,
)
from inspect_core.images.photo_quality import FEWEST_COMPARED as FEWEST
from inspect_core.images.photo_reader import ImageError, read, squash
from inspect_core.methods.fitted_method import sweep_errors
from inspect_core.methods.registry import SCREENING_METHODS
from inspect_core.runtime.jobs import device_lock
from inspect_core.runtime.ordered_pool import in_order
from inspect_core.runtime.progress import Report, stage
from inspect_core.runtime.wording import join_first_names, pluralise
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import Study
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.alignment_training import decide_alignment
from inspect_core.tuning.product_check_training import fit
from inspect_core.tuning.second_product import second_product, two_products_sentence

LOST, PRODUCT, UNLIKE, COPY = "not located", "another product", "unusual", "copy"
TOPICS = (LOST, PRODUCT, UNLIKE, BLUR, EXPOSURE, COPY)
"""Topics of the findings, the most serious first."""
MOST_ALIKE = 0.75
"""Share of the photos, the nearest to their median, that the product is learned from: from all of them, a second
product among the photos would be learned as part of the first.
"""
UNRELATED = 1.0
"""The product check's score of a photo that has nothing in common with the product."""
LOOKED = 60
"""Good photos among which a second product is looked for before anything is taught."""
_SCORE = 0.05
"""Least deviation of the logarithm of a detector's score."""
_PRODUCT = 0.02
"""Least deviation of the product check's score."""

Pairs = Sequence[tuple[Sequence[PhotoFile], Sequence[PhotoFile]]]


@dataclass(frozen=True)
class ScreenedPhoto:
    """A good photo and what stands out in it; score_ratio: its score over the median of all, higher is stranger, 1 with
    too few photos to compare; peak_cell: centre of its strangest patch, (x, y) from 0 to 1 of the photo, None without
    one.
    """

    sample: PhotoFile
    findings: tuple[Finding, ...]
    score_ratio: float = 1.0
    peak_cell: tuple[float, float] | None = None


@dataclass(frozen=True)
class ScreeningResult:
    """photos: good ones, those least like the others first, since defects are there; skipped: (name, reason);
    second_product: how many of them look like another product than the rest, 0 where all look like one.
    """

    photos: tuple[ScreenedPhoto, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    second_product: int = 0

    @property
    def unusual(self) -> tuple[ScreenedPhoto, ...]:
        """Photos in which something stands out."""
        return tuple(screened for screened in self.photos if screened.findings)

    def sentence(self) -> str:
        """What was found, in words."""
        counted = pluralise(len(self.photos), "good photo")
        if len(self.photos) < FEWEST:
            return f"{counted}: too few to detect outliers; at least {FEWEST} are needed."
        if self.second_product:
            return two_products_sentence(len(self.photos), self.second_product)
        return f"{len(self.unusual)} of {counted} are unusual." if self.unusual else f"No outliers among {counted}."


def screen_photos(samples: Dataset, order: TeachingConfig, store: FeatureStore, report: Report) -> ScreeningResult:
    """Look at all good photos of `samples`; holds the device all the while.

    order: the backbone, size, grid, alignment and seed to use; its photos do not matter, and large ones are not cut
    into tiles. Without alignment the features are those that a comparison of detectors needs too, and are stored for
    it. Raises ValueError for photos that no alignment can be learned from, and whatever `report` raises to stop.
    """
    report(0.0, "loading the network (can take a minute the first time)")
    backbone, taps = order.network(SCREENING_METHODS)
    with device_lock(backbone.device):
        photos, skipped = _read(samples, backbone, store, stage(report, 0.0, 0.4))
        samples = replace(samples, good=tuple(photo.sample for photo in photos))
        findings_by_photo = find_outliers([photo.quality for photo in photos])
        for photo_findings, sample in zip(findings_by_photo, samples.good, strict=True):
            if twins := [name for copies in samples.copies if sample.name in copies for name in copies]:
                twins.remove(sample.name)
                photo_findings.append(Finding(COPY, f"Near-duplicate of {join_first_names(twins, most=1)}."))
        unlike, second = np.ones(len(photos)), np.zeros(len(photos), bool)
        places = [None] * len(photos)
        groups = propose_groups(samples, few=True)
        pairs = _pairs(samples.good, groups, order.seed)
        if pairs and len(photos) >= FEWEST:
            embeddings = {photo.sample.name: photo.embedding for photo in photos}
            _note_foreign(findings_by_photo, _foreign(embeddings, pairs))
            second = second_product(np.stack(list(embeddings.values())))
            _note_second(findings_by_photo, second)
            photos_to_align = Split(samples.good, (), (), groups=groups)
            order = decide_alignment(replace(order, photos=photos_to_align), stage(report, 0.4, 0.5))
            order = replace(order, parameters={}, area=None, as_published=False, tolerances=None, tiles=None)
            study = Study.from_order(order, backbone, store, taps=taps, method=SCREENING_METHODS)
            study.extract(stage(report, 0.5, 0.8))
            scores, places = _scores(study, pairs, stage(report, 0.8, 1.0))
            for photo_findings, sample in zip(findings_by_photo, samples.good, strict=True):
                if sample.name in study.not_located:
                    photo_findings.append(Finding(LOST, f"The part was not located: {study.not_located[sample.name]}."))
            ratios = scores / max(float(np.nanmedian(scores)), np.finfo(np.float32).tiny)
            _note_unlike(findings_by_photo, np.nan_to_num(ratios, nan=1.0))
            unlike = np.nan_to_num(ratios, nan=float(np.nanmax(ratios)))
    screened = map(ScreenedPhoto, samples.good, map(tuple, findings_by_photo), map(float, unlike), places)
    photos_by_score = tuple(sorted(screened, key=lambda photo: -photo.score_ratio))
    return ScreeningResult(photos_by_score, tuple(skipped), int(second.sum()))


def find_second_product(samples: Dataset, order: TeachingConfig, store: FeatureStore, report: Report) -> str:
    """What to say where the good photos look like two products, "" where like one: a look at most at LOOKED of them,
    evenly spread by name, that takes seconds. order, errors: as of `screen_photos`.
    """
    report(0.0, "loading the network (can take a minute the first time)")
    backbone, _ = order.network(SCREENING_METHODS)
    spread = np.unique(np.linspace(0, len(samples.good) - 1, LOOKED).round().astype(int))
    with device_lock(backbone.device):
        photos, _ = _read(replace(samples, good=tuple(samples.good[i] for i in spread)), backbone, store, report)
    second = second_product(np.stack([photo.embedding for photo in photos])) if photos else np.zeros(0, bool)
    return two_products_sentence(len(photos), int(second.sum())) if second.any() else ""


class _Photo(NamedTuple):
    sample: PhotoFile
    quality: PhotoQuality
    embedding: np.ndarray


def _read(
    samples: Dataset, backbone: Backbone, store: FeatureStore, report: Report
) -> tuple[list[_Photo], list[tuple[str, str]]]:
    read_photos, skipped = [], []
    good = sorted(samples.good, key=lambda sample: sample.name)

    def measure(sample: PhotoFile) -> tuple[str, PhotoQuality, np.ndarray] | ImageError:
        try:
            picture = read(sample.path, sample.depth)
        except ImageError as error:
            return error
        return picture.digest, measure_quality(picture.pixels), squash(picture.pixels, backbone.size)

    def crops() -> Iterator[Crop]:
        with closing(in_order(measure, good)) as looks:
            for done, (sample, looked) in enumerate(zip(good, looks, strict=True), start=1):
                report(done / len(good), f"checking photo {done} of {len(good)}")
                if isinstance(looked, ImageError):
                    skipped.append((sample.name, f"{looked.reason}; {looked.remedy}"))
                    continue
                digest, quality, picture = looked
                read_photos.append((sample, quality))
                yield Crop(digest, lambda picture=picture: picture)

    embeddings = list(embeddings_of(crops(), backbone, store))
    return [_Photo(*known, embedding) for known, embedding in zip(read_photos, embeddings, strict=True)], skipped


def _pairs(good: Sequence[PhotoFile], groups: dict[str, str], seed: int) -> Pairs:
    """(fold, all others) of each fold; none with too few groups."""
    pairs = []
    for fold in folds(good, groups, seed=seed, count=MIN_FOLDS):
        fold_names = {sample.name for sample in fold}
        pairs.append((fold, [sample for sample in good if sample.name not in fold_names]))
    return pairs


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


def _note_second(findings_by_photo: list[list[Finding]], second: np.ndarray) -> None:
    """Note the photos of a second product that is not only a few outliers."""
    count = int(second.sum())
    for photo_findings, is_second in zip(findings_by_photo, second.tolist(), strict=True):
        if is_second and not any(finding.topic == PRODUCT for finding in photo_findings):
            others = f", like {pluralise(count - 1, 'other')}" if count > 1 else ""
            photo_findings.append(Finding(PRODUCT, f"Looks like another product than most photos{others}."))


def _note_foreign(findings_by_photo: list[list[Finding]], scores: np.ndarray) -> None:
    """Note other products: photos whose score is halfway or more from the usual one to that of an unrelated photo."""
    median = float(np.median(scores))
    apart = robust_z_scores(scores, least=_PRODUCT)
    for photo_findings, score, distance in zip(findings_by_photo, scores.tolist(), apart.tolist(), strict=True):
        if distance > STANDS_OUT and score > (median + UNRELATED) / 2:
            words = f"product check {score:.2f} (0: the same, 1: nothing in common)"
            finding_text = f"Looks like another product: {words}, median of the photos {median:.2f}."
            photo_findings.append(Finding(PRODUCT, finding_text))


def _scores(study: Study, pairs: Pairs, report: Report) -> tuple[np.ndarray, list[tuple[float, float] | None]]:
    """(n,) score of each photo to fit by a detector that learned the photos of the other folds, and its
    strangest place; NaN and None for a photo that cannot be scored because its part is not located.
    """
    scored = None
    count = len(study.split.train)
    for fold, others in pairs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # few photos: all are scored alike
            views = [study.fit_view(number, samples=others) for number in range(len(study.methods))]
        views = [replace(view, selected_stops=(view.start,)) for view in views]
        scored = scored or ScoredPhotos(views, study.extractor.grid, study.extractor.backbone.size)
        for sample in fold:
            report(len(scored.photos) / count, f"comparing photo {len(scored.photos) + 1} of {count} with the others")
            if (photo := study.scored_photo(sample, "calibration")) is not None:
                scored = scored.with_errors([(photo[0], sweep_errors([(v, v.stops) for v in views], [photo[1]]))])
    if scored is None:
        raise ValueError("there are too few photos to compare; add good photos")
    scores = scored.calibration_scores()
    height, width = study.extractor.grid
    score_by_name = {}
    for photo, score, errors in zip(scored.photos, scores.tolist(), scored.grid_errors(), strict=True):
        shown = np.where(photo.placed.uninspected_mask(errors.shape), errors.min(), errors)
        row, column = divmod(int(photo.placed.over_photo(shown).argmax()), width)
        score_by_name[photo.name] = score, ((column + 0.5) / width, (row + 0.5) / height)
    score_pairs = [score_by_name.get(sample.name, (np.nan, None)) for sample in study.split.train]
    return np.array([score for score, _ in score_pairs]), [place for _, place in score_pairs]


def _note_unlike(findings_by_photo: list[list[Finding]], unlike: np.ndarray) -> None:
    apart = robust_z_scores(np.log(np.maximum(unlike, np.finfo(np.float32).tiny)), least=_SCORE)
    for photo_findings, ratio, distance in zip(findings_by_photo, unlike.tolist(), apart.tolist(), strict=True):
        if distance > STANDS_OUT:
            photo_findings.append(
                Finding(UNLIKE, f"Unusual: its most unusual spot scores {ratio:.1f} times as high as usual.")
            )
