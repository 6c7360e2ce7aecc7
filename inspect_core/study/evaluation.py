"""How well a fitted detector tells good from defect on photos whose truth is known."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from inspect_core.datasets.folders import PhotoFile
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.runtime.wording import pluralise as number_of
from inspect_core.scoring.counts import RepeatabilityCounts, VerdictCounts
from inspect_core.scoring.limits import overkill_at, provable_bound, with_contradicting
from inspect_core.scoring.metrics import auroc, fpr95_of_foreign, fpr_at_tpr
from inspect_core.study.evaluation_scores import EvaluationScores, Live
from inspect_core.study.scored_photo import UnscoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import FittedStudy
from inspect_core.study.study_tasks import EvaluationTask
from inspect_core.verdict import Limits

ENOUGH_GOOD_PHOTOS = 60
"""Good photos that promise enough."""
MORE = (20, 30, 60, 100, 200, 400)
"""Numbers to propose when there are fewer."""


@dataclass(frozen=True)
class Evaluation:
    """Figures on test photos. All are shares from 0 to 1, NaN where the photos cannot give them.

    image_auroc from image scores; fpr95: defects accepted by the limit that keeps 95 % of the good parts, as in the
    papers; good_rejected_at_95_caught: good parts rejected by that which catches 95 % of the defects; pixel_auroc and
    aupro (to 30 % false positives) from the maps of good photos and of defects with masks; counts under the limits;
    changed: verdicts when the parts are photographed again, None without tolerances.
    """

    image_auroc: float
    pixel_auroc: float
    aupro: float
    fpr95: float
    good_rejected_at_95_caught: float
    counts: VerdictCounts
    changed: RepeatabilityCounts | None = None


def score_test_photos(
    study: FittedStudy, samples: Sequence[PhotoFile], moves: Sequence[Live], report: Report = ignore_progress
) -> list[EvaluationScores]:
    """What a fitted study makes of any number of other photos, at each of several live values.

    They are counted and forgotten some at a time, and are not on the bench; damaged ones are left out. Raises
    ValueError for a value outside the fit, and whatever `report` raises to stop.
    """
    lives = [study.live | dict(move) for move in moves]
    views = [replace(view, selected_stops=tuple(sorted(set(map(view.value, lives))))) for view in study.scored.views]
    for live in lives:
        scored = study.at(live)
        for i, view in enumerate(views):
            views[i] = replace(view, scales={**view.scales, **scored.scales(i, [view.value(live)])})
    keep = study.store.would_fit(study.extractor.bytes_per_photo * len(samples))
    streamed = frozenset() if keep else frozenset(sample.name for sample in samples)
    features = replace(study.photo_features, streamed=streamed)
    scores_by_setting = [EvaluationScores.merged([]) for _ in lives]
    task = EvaluationTask(tuple(views), tuple(lives), study.fitting.repeat_tolerances)
    for shard_scores in study.workers.results(task, features, samples, report):
        scores_by_setting = [EvaluationScores.merged(two) for two in zip(scores_by_setting, shard_scores, strict=True)]
    notes = study.photo_features.notes
    names = [sample.name for sample in samples if sample.name not in notes.damaged | notes.not_located]
    differ = np.array([bool(words) for words in study.differ(names)], bool)
    return [replace(scores, never_accepted=scores.never_accepted | differ) for scores in scores_by_setting]


def evaluate_photos(
    scored: ScoredPhotos, limits: Limits, masks: list[np.ndarray | None], *, differ: Sequence[str] = (), **live: int
) -> Evaluation:
    """Figures of the test photos under limits at a stored live value; masks: returned by `truth_masks`; differ: as
    `FittedStudy.differ`, of all photos.
    """
    positions = np.flatnonzero(scored.of_subset("test")).tolist()
    evaluated = EvaluationScores.from_scored(scored, live, positions, masks)
    if differ:
        differs = np.array([bool(differ[i]) for i in positions], bool)
        evaluated = replace(evaluated, never_accepted=evaluated.never_accepted | differs)
    return figures(evaluated, limits, [photo for photo in scored.unscored if photo.subset == "test"])


def figures(evaluated: EvaluationScores, limits: Limits, unscored: Sequence[UnscoredPhoto] = ()) -> Evaluation:
    """Figures of judged photos under limits; unscored: those to judge that have no score."""
    scores, defect, counts = evaluated.scores, evaluated.defect, evaluated.counts
    evidence = evaluated.evidence(unscored)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Evaluation(
            image_auroc=auroc(scores, defect),
            pixel_auroc=counts.pixel_auroc,
            aupro=counts.aupro(),
            fpr95=fpr95_of_foreign(scores[~defect], scores[defect]),
            good_rejected_at_95_caught=fpr_at_tpr(scores, defect),
            counts=evidence.counts(limits),
            changed=evidence.repeatability(limits),
        )


def outcomes(evaluation: Evaluation) -> dict[str, int | None]:
    """Where defects were caught, None without a true mask; how many parts have no score; how many verdicts
    change when parts are photographed again within the tolerances, None without.
    """
    counts, changed = evaluation.counts, evaluation.changed
    known = counts.with_mask > 0
    unscored = (counts.good_unscored, counts.defects_unscored)
    return {
        "caught_at_defect": counts.caught_at_defect if known else None,
        "caught_elsewhere": counts.caught_elsewhere if known else None,
        "not_located": sum(photo.not_located for photo in unscored),
        "not_judged": sum(photo.not_judged for photo in unscored),
        "changed_again": None if changed is None else changed.changed,
        "again": None if changed is None else changed.total,
    }


def forecast_sentence(
    scored: ScoredPhotos,
    limits: Limits,
    scores: np.ndarray,
    setting_scores: np.ndarray,
    *,
    ceiling: float | None = None,
) -> str:
    """How many of the next 100 good parts the limits will stop, which good parts say so, and what too few of
    them cannot promise.

    scores: (photos,) of all; setting_scores: `calibration_scores` of the photos that set limits; ceiling: their
    `ceiling`. "" without any.
    """
    setters = [photo for photo, sets in zip(scored.photos, scored.setters(), strict=True) if sets]
    if not setters:
        return ""
    is_tested = scored.tested_good()
    known_good = with_contradicting(setting_scores, scores[is_tested], ceiling=ceiling)
    tested = [*compress(scored.photos, is_tested)] if len(known_good) > len(setting_scores) else []
    groups = [photo.split_group or photo.name for photo in (*setters, *tested)]
    reviewed = [("above the review limit", limits.review)] if limits.review != limits.reject else []
    expected = []
    for word, limit in (*reviewed, ("rejected", limits.reject)):
        forecast = overkill_at(limit, known_good, groups=groups, ceiling=ceiling)
        expected.append(f"{forecast.expected:.0f} {word} ({forecast.low} to {forecast.high})")
    count = len(set(groups[: len(setters)]))
    known = int(scored.chosen_defects().sum())
    also = [number_of(len(tested), "good test photo")] if tested else []
    also += [number_of(known, "known defect")] if known else []
    sentence = f"The suggested limits are based on {' and '.join([number_of(count, 'good part'), *also])}."
    if tested:
        sentence += " The test photos score higher: they were taken otherwise, or the other good photos are too few."
    sentence = f"Expected among the next 100 good parts: {', '.join(expected)}. {sentence}"
    sentence += f" They count to {math.ceil(100 / (len(known_good) + 1))} in 100; what is rarer is estimated."
    return " ".join(filter(None, (sentence, most_promised(count, photos=len(setters)))))


def most_promised(groups: int, *, photos: int) -> str:
    """What so many good photos in so many groups can promise at best; "" from ENOUGH_GOOD_PHOTOS groups on."""
    if groups >= ENOUGH_GOOD_PHOTOS or not groups:
        return ""
    least = provable_bound(groups)
    more = next((number for number in MORE if provable_bound(number) <= least / 2), MORE[-1])
    setting = f"{groups} good parts" if groups == photos else f"{groups} groups of good parts ({photos} photos)"
    return (
        f"{setting} can only prove that at most {least} in 100 good parts will be rejected; {more} would bring this "
        f"to {provable_bound(more)}."
    )
