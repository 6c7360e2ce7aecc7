"""How well a fitted detector tells good from defect on photos whose truth is known."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inspect_core.images.read import ImageError
from inspect_core.judge.limits import Counts, count_parts, in_parts, least_promise, overkill_at
from inspect_core.judge.masks import mask_at
from inspect_core.judge.metrics import aupro, auroc, fpr_at_tpr
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import Study
from inspect_core.verdict import Limits

STEADY = 60
MORE = (20, 30, 60, 100, 200, 400)
"""Numbers of good photos to propose when there are too few for limits that promise enough."""


@dataclass(frozen=True)
class Evaluation:
    """Figures on judge photos. All are shares from 0 to 1, NaN where the photos cannot give them.

    image_auroc and fpr95 from image scores; pixel_auroc and aupro (to 30 % false positives) from the maps of good
    photos and of defects with masks; counts under the limits.
    """

    image_auroc: float
    pixel_auroc: float
    aupro: float
    fpr95: float
    counts: Counts


def truth_masks(scored: ScoredPhotos, which: Sequence[int] | None = None) -> list[np.ndarray | None]:
    """For every photo, or those at the given positions, its true mask at the input size: all False for a good part,
    None where it is unknown.
    """
    size, photos = scored.size, scored.photos if which is None else [scored.photos[i] for i in which]
    masks: list[np.ndarray | None] = []
    for photo in photos:
        if photo.kind == "good":
            masks.append(np.zeros(size, bool))
            continue
        try:
            known = photo.true_mask()
        except ImageError:
            known = None
        masks.append(mask_at(known, size) if known is not None else None)
    return masks


def evaluate(study: Study, limits: Limits, masks: list[np.ndarray | None], **live: int) -> Evaluation:
    """Figures of the judge photos under limits and any value of the live parameter, stored or computed when needed.

    masks: returned by `truth_masks`. Raises ValueError for a value outside the fit.
    """
    return evaluate_photos(study.at(live), limits, masks, **live)


def evaluate_photos(scored: ScoredPhotos, limits: Limits, masks: list[np.ndarray | None], **live: int) -> Evaluation:
    """As `evaluate`, at a stored value."""
    chosen = scored.of_subset("judge")
    scores = scored.scores(**live)[chosen]
    defect = scored.good_and_defect()[1][chosen]
    known = [i for i in np.flatnonzero(chosen).tolist() if masks[i] is not None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        pixel_auroc, overlap = float("nan"), float("nan")
        if known:
            maps = scored.maps(known, **live)
            true = np.stack([masks[i] for i in known])
            pixel_auroc, overlap = auroc(maps.ravel(), true.ravel()), aupro(maps, true)
        return Evaluation(
            image_auroc=auroc(scores, defect),
            pixel_auroc=pixel_auroc,
            aupro=overlap,
            fpr95=fpr_at_tpr(scores, defect),
            counts=count_parts(scores[~defect], scores[defect], review=limits.review, reject=limits.reject),
        )


def promise(scored: ScoredPhotos, limits: Limits, setting_scores: np.ndarray, *, ceiling: float | None = None) -> str:
    """How many of the next 100 good parts the limits will stop, and what too few good photos cannot promise.

    setting_scores: `calibration_scores` of the photos that set limits; ceiling: their `ceiling`. "" without any.
    """
    setters = [photo for photo, sets in zip(scored.photos, scored.setters(), strict=True) if sets]
    if not setters:
        return ""
    groups = [photo.split_group or photo.name for photo in setters]
    chosen = {"above the review limit": limits.review, "rejected": limits.reject}
    if limits.review == limits.reject:
        del chosen["above the review limit"]
    found = {word: overkill_at(limit, setting_scores, groups=groups, ceiling=ceiling) for word, limit in chosen.items()}
    words = ", ".join(f"{one.expected:.0f} {word} ({one.low} to {one.high})" for word, one in found.items())
    sentence = f"Of the next 100 good parts, expect {words}; intervals at 95 %."
    if (count := len(set(groups))) >= STEADY:
        return sentence
    least = least_promise(count)
    more = next((number for number in MORE if least_promise(number) <= least / 2), MORE[-1])
    setting = (
        f"{count} good parts" if count == len(setters) else f"{count} groups of good parts ({len(setters)} photos)"
    )
    return (
        f"{sentence} No limit set by {setting} can promise fewer than {least} of 100; set by {more}, it could "
        f"promise {least_promise(more)}."
    )


def in_parts_of(scored: ScoredPhotos, scores: np.ndarray, limits: Limits) -> str:
    """What the limits do to the photos, in parts.

    Good parts are those of `judge`; when there are none, those of `calibrate`, and the sentence says that the limit was
    set on them. Photos whose truth is unknown do not count, nor do defects used to choose settings.
    """
    good, defect = scored.good_and_defect()
    judge, calibrate = scored.of_subset("judge"), scored.of_subset("calibrate")
    own = not (good & judge).any() or not (good & calibrate).any()
    shown = good & (judge if (good & judge).any() else calibrate)
    found = scores[defect & ~scored.of_subset("choose")]
    counts = count_parts(scores[shown], found, review=limits.review, reject=limits.reject)
    return in_parts(counts, limit_set_on_these=own)
