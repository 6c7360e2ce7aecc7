"""How well a fitted detector tells good from defect on photos whose truth is known."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from inspect_core.datasets.folders import PhotoFile
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.runtime.wording import pluralise as number_of
from inspect_core.scoring.anomaly_map import AREA
from inspect_core.scoring.counts import (
    UnscoredCounts,
    VerdictCounts,
    count_parts,
    counts_sentence,
    select_counted_parts,
)
from inspect_core.scoring.defect_hits import hit_limit as found_in_map
from inspect_core.scoring.limits import overkill_at, provable_bound, with_contradicting
from inspect_core.scoring.metrics import auroc, fpr95_of_foreign, fpr_at_tpr
from inspect_core.scoring.verdict_rule import ACCEPTED, NO_FLAGS, Flags, rank
from inspect_core.study.evaluation_scores import AT_ONCE, EvaluationScores, Live
from inspect_core.study.scored_photo import ADDED, RELABELLED, UNKNOWN, ScoredPhoto, UnscoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import FittedStudy
from inspect_core.study.study_tasks import EvaluationTask
from inspect_core.verdict import Limits

ENOUGH_GOOD_PHOTOS = 60
"""Good photos that promise enough."""
MORE = (20, 30, 60, 100, 200, 400)
"""Numbers to propose when there are fewer."""


@dataclass(frozen=True)
class RepeatabilityCounts:
    """Verdicts that change when a part is photographed again within the tolerances.

    stopped: good parts accepted before; accepted: defects not accepted before; total: parts photographed again.
    """

    changed: int
    stopped: int
    accepted: int
    total: int

    def sentence(self) -> str:
        """For the bench: the verdicts that change, and which way."""
        breakdown = f": {self.stopped} good no longer accepted, {number_of(self.accepted, 'defect')} accepted"
        return (
            f"For repeat photos within the tolerances, {self.changed} of {number_of(self.total, 'part')} would get "
            f"a different verdict{(breakdown if self.changed else '')}."
        )

    @classmethod
    def from_scores(
        cls, scores: np.ndarray, repeat_scores: np.ndarray, defect: np.ndarray, limits: Limits
    ) -> "RepeatabilityCounts | None":
        """Create it from parts by their scores before and again, each (n,); None where none was photographed again."""
        was_repeated = ~np.isnan(repeat_scores)
        if not was_repeated.any():
            return None
        defect = defect[was_repeated]
        before, after = (
            rank(scores_of_set[was_repeated], limits.review, limits.reject) for scores_of_set in (scores, repeat_scores)
        )
        stopped = (before == ACCEPTED) & (after > ACCEPTED) & ~defect
        accepted = (before > ACCEPTED) & (after == ACCEPTED) & defect
        return cls(*map(int, map(np.sum, (before != after, stopped, accepted, was_repeated))))


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
    differ = study.differ(sample.name for sample in samples if sample.name not in notes.damaged | notes.not_located)
    return [replace(scores, never_accepted=scores.never_accepted | differ) for scores in scores_by_setting]


def evaluate_photos(scored: ScoredPhotos, limits: Limits, masks: list[np.ndarray | None], **live: int) -> Evaluation:
    """Figures of the test photos under limits at a stored live value; masks: returned by `truth_masks`.

    Verdicts are by scores and by what of a part is in view; `Study.differ` tells of the other photos never accepted.
    """
    evaluated = EvaluationScores.from_scored(scored, live, np.flatnonzero(scored.of_subset("test")).tolist(), masks)
    return figures(evaluated, limits, [photo for photo in scored.unscored if photo.subset == "test"])


def figures(evaluated: EvaluationScores, limits: Limits, unscored: Sequence[UnscoredPhoto] = ()) -> Evaluation:
    """Figures of judged photos under limits; unscored: those to judge that have no score."""
    scores, defect, counts = evaluated.scores, evaluated.defect, evaluated.counts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Evaluation(
            image_auroc=auroc(scores, defect),
            pixel_auroc=counts.pixel_auroc,
            aupro=counts.aupro(),
            fpr95=fpr95_of_foreign(scores[~defect], scores[defect]),
            good_rejected_at_95_caught=fpr_at_tpr(scores, defect),
            counts=_counts(
                scores[~defect],
                scores[defect],
                limits,
                evaluated.hit_limits[defect],
                unscored,
                *(Flags(never_accepted=evaluated.never_accepted[chosen]) for chosen in (~defect, defect)),
            ),
            changed=RepeatabilityCounts.from_scores(scores, evaluated.repeat_scores, defect, limits),
        )


def _counts(
    good: np.ndarray,
    defects: np.ndarray,
    limits: Limits,
    hit_limits: np.ndarray | None,
    unscored: Sequence[UnscoredPhoto],
    good_flags: Flags,
    defect_flags: Flags,
) -> VerdictCounts:
    known = {"good_flags": good_flags, "defect_flags": defect_flags, "found_up_to": hit_limits}
    return count_parts(good, defects, **asdict(limits), **known, **unscored_counts(unscored))


def unscored_counts(photos: Sequence[UnscoredPhoto]) -> dict[str, UnscoredCounts]:
    """The arguments of `count_parts` for parts that have no score."""

    def counts_of(good: bool) -> UnscoredCounts:
        return UnscoredCounts.of_words(
            [photo.verdict for photo in photos if photo.label != UNKNOWN and (photo.label == "good") == good]
        )

    return {"good_unscored": counts_of(True), "defects_unscored": counts_of(False)}


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


def found_up_to(scored: ScoredPhotos, **live: int) -> np.ndarray:
    """(photos,) float64, read-only, of `scoring.defect_hits` at a stored live value; NaN without a mask."""
    values = {**scored.live, **live}

    def look() -> np.ndarray:
        limits = np.full(len(scored.photos), math.nan)
        masks = {
            i: mask for i, photo in enumerate(scored.photos) if (mask := photo.dilated_mask(scored.size)) is not None
        }
        known = list(masks)
        for first in range(0, len(known), AT_ONCE):
            positions = known[first : first + AT_ONCE]
            for i, anomaly_map in zip(positions, scored.maps(positions, **live), strict=True):
                limits[i] = found_in_map(anomaly_map, masks[i], area=values[AREA])
        return limits

    return scored.cached(("found", *sorted(values.items())), look)


def repeatability_counts(scored: ScoredPhotos, limits: Limits, **live: int) -> RepeatabilityCounts | None:
    """That of the parts that the sentence counts; None where no tolerances were taught."""
    good, defect, *_ = select_counted(scored.photos, scored.unscored)
    scores = scored.scores(**live)
    repeat_scores = scored.repeat_scores(**live)
    known = good | defect
    return RepeatabilityCounts.from_scores(scores[known], repeat_scores[known], defect[known], limits)


class CountedParts(NamedTuple):
    """What the sentence in parts counts: good, defect: (n,) bool, of the scored; unscored: those without a score;
    limits_set_here: whether the limit was set on these good parts; hidden: (m,) scores of good parts that are counted
    and not shown.
    """

    good: np.ndarray
    defect: np.ndarray
    unscored: list[UnscoredPhoto]
    limits_set_here: bool
    hidden: np.ndarray


def select_counted(
    photos: Sequence[Any], unscored: Sequence[UnscoredPhoto], set_on: Sequence[float] | None = None
) -> CountedParts:
    """That of all parts, those that `select_counted_parts` counts; photos: anything with a kind and a part;
    set_on: scores of the good parts that set the limit, where their photos are not among these.
    """
    known = [*photos, *unscored]
    elsewhere = [] if set_on is None else list(set_on)
    count = len(elsewhere)
    good = np.array([photo.label == "good" for photo in known] + [True] * count, bool)
    defect = np.array([photo.label not in ("good", UNKNOWN) for photo in known] + [False] * count, bool)
    good, defect, is_set_on = select_counted_parts(
        good, defect, [photo.subset for photo in known] + ["calibration"] * count
    )
    first, last = len(photos), len(known)
    here = (good | defect)[first:last]
    without = [photo for photo, counts in zip(unscored, here, strict=True) if counts]
    return CountedParts(good[:first], defect[:first], without, is_set_on, np.array(elsewhere, float)[good[last:]])


def labelled_since(photos: Sequence[ScoredPhoto]) -> int:
    """Count the photos whose label was given by someone who had seen the score: they are in no figure."""
    return sum(photo.subset == RELABELLED or (photo.subset == ADDED and photo.label != UNKNOWN) for photo in photos)


def counts_sentence_for(
    scored: ScoredPhotos,
    scores: np.ndarray,
    limits: Limits,
    hit_limits: np.ndarray | None = None,
    flags: Flags = NO_FLAGS,
) -> str:
    """What the limits do, in parts; hit_limits: (photos,) up to which limit each defect is found; flags: what
    decides about the photos besides their scores.
    """
    good, defect, unscored, set_on_these, hidden = select_counted(scored.photos, scored.unscored, scored.set_on)
    good_scores = np.concatenate([scores[good], hidden])
    none = np.zeros(len(hidden), bool)
    good_flags = Flags(*(np.concatenate([flag, none]) for flag in flags.select(good)))
    hits = None if hit_limits is None else hit_limits[defect]
    counts = _counts(good_scores, scores[defect], limits, hits, unscored, good_flags, flags.select(defect))
    return counts_sentence(counts, limit_set_on_these=set_on_these, relabelled=labelled_since(scored.photos))
