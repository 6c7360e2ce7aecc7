"""How well a fitted detector tells good from defect on photos whose truth is known."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from inspect_core.images.folders import Sample
from inspect_core.images.samples import counted as number_of
from inspect_core.judge.anomaly_map import AREA
from inspect_core.judge.counts import Counts, Unscored, count_parts, counted_parts, in_parts
from inspect_core.judge.defect_hits import found_up_to as found_in_map
from inspect_core.judge.limits import least_promise, overkill_at
from inspect_core.judge.metrics import auroc, fpr95_of_foreign, fpr_at_tpr
from inspect_core.runtime.progress import Report, silent
from inspect_core.study.evaluation_scores import AT_ONCE, EvaluationScores, Live
from inspect_core.study.scored_photo import ADDED, RELABELLED, UNKNOWN, ScoredPhoto, UnscoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import Study
from inspect_core.study.study_tasks import EvaluationTask
from inspect_core.verdict import Limits

STEADY, MORE = 60, (20, 30, 60, 100, 200, 400)
"""Good photos that promise enough, and numbers to propose when there are fewer."""


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
        which = f": {self.stopped} good no longer accepted, {number_of(self.accepted, 'defect')} accepted"
        return (
            f"For repeat photos within the tolerances, {self.changed} of {number_of(self.total, 'part')} would get "
            f"a different verdict{(which if self.changed else '')}."
        )

    @classmethod
    def of(
        cls, scores: np.ndarray, again: np.ndarray, defect: np.ndarray, limits: Limits
    ) -> "RepeatabilityCounts | None":
        """Of parts by their scores before and again, each (n,); None where none was photographed again."""
        taken = ~np.isnan(again)
        if not taken.any():
            return None
        marks, defect = (limits.review, limits.reject), defect[taken]
        before, after = (np.searchsorted(marks, own[taken].astype(float)) for own in (scores, again))
        stopped, accepted = (before == 0) & (after > 0) & ~defect, (before > 0) & (after == 0) & defect
        return cls(*map(int, map(np.sum, (before != after, stopped, accepted, taken))))


@dataclass(frozen=True)
class Evaluation:
    """Figures on judge photos. All are shares from 0 to 1, NaN where the photos cannot give them.

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
    counts: Counts
    changed: RepeatabilityCounts | None = None


def judge_photos(
    study: Study, samples: Sequence[Sample], moves: Sequence[Live], report: Report = silent
) -> list[EvaluationScores]:
    """What a fitted study makes of any number of other photos, at each of several live values.

    They are counted and forgotten some at a time, and are not on the bench; damaged ones are left out. Raises
    ValueError for a value outside the fit, and whatever `report` raises to stop.
    """
    lives = [study.live | dict(move) for move in moves]
    views = [replace(view, only=tuple(sorted({view.value(own) for own in lives}))) for view in study.results.views]
    for own in lives:
        scored = study.at(own)
        for i, view in enumerate(views):
            views[i] = replace(view, scales={**view.scales, **scored.scales(i, [view.value(own)])})
    keep = study.store.would_fit(study.preparation.bytes_per_photo * len(samples))
    streamed = frozenset() if keep else frozenset(sample.name for sample in samples)
    features, found = replace(study.photo_features, streamed=streamed), [EvaluationScores.merged([]) for _ in lives]
    task = EvaluationTask(tuple(views), tuple(lives), study.fitting.again)
    for some in study.workers.results(task, features, samples, report):
        found = [EvaluationScores.merged(own) for own in zip(found, some, strict=True)]
    return found


def evaluate_photos(scored: ScoredPhotos, limits: Limits, masks: list[np.ndarray | None], **live: int) -> Evaluation:
    """Figures of the judge photos under limits at a stored live value; masks: returned by `truth_masks`."""
    judged = EvaluationScores.of(scored, live, np.flatnonzero(scored.of_subset("judge")).tolist(), masks)
    return figures(judged, limits, [photo for photo in scored.unscored if photo.part == "judge"])


def figures(judged: EvaluationScores, limits: Limits, unscored: Sequence[UnscoredPhoto] = ()) -> Evaluation:
    """Figures of judged photos under limits; unscored: those to judge that have no score."""
    scores, defect, counts = judged.scores, judged.defect, judged.counts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Evaluation(
            image_auroc=auroc(scores, defect),
            pixel_auroc=counts.pixel_auroc,
            aupro=counts.aupro(),
            fpr95=fpr95_of_foreign(scores[~defect], scores[defect]),
            good_rejected_at_95_caught=fpr_at_tpr(scores, defect),
            counts=_counts(scores[~defect], scores[defect], limits, judged.found[defect], unscored),
            changed=RepeatabilityCounts.of(scores, judged.again, defect, limits),
        )


def _counts(
    good: np.ndarray, defects: np.ndarray, limits: Limits, found: np.ndarray | None, unscored: Sequence[UnscoredPhoto]
) -> Counts:
    return count_parts(good, defects, **asdict(limits), found_up_to=found, **unscored_counts(unscored))


def unscored_counts(photos: Sequence[UnscoredPhoto]) -> dict[str, Unscored]:
    """The arguments of `count_parts` for parts that have no score."""

    def of(good: bool) -> Unscored:
        return Unscored.of_words(
            [photo.word for photo in photos if photo.kind != UNKNOWN and (photo.kind == "good") == good]
        )

    return {"good_unscored": of(True), "defects_unscored": of(False)}


def outcomes(evaluation: Evaluation) -> dict[str, int | None]:
    """Where defects were caught, None without a true mask; how many parts have no score; how many verdicts change when
    parts are photographed again within the tolerances, None without.
    """
    counts, changed = evaluation.counts, evaluation.changed
    known, unscored = counts.with_mask > 0, (counts.good_unscored, counts.defects_unscored)
    return {
        "caught_at_defect": counts.caught_there if known else None,
        "caught_elsewhere": counts.caught_elsewhere if known else None,
        "not_located": sum(own.not_located for own in unscored),
        "not_judged": sum(own.not_judged for own in unscored),
        "changed_again": None if changed is None else changed.changed,
        "again": None if changed is None else changed.total,
    }


def promise(scored: ScoredPhotos, limits: Limits, setting_scores: np.ndarray, *, ceiling: float | None = None) -> str:
    """How many of the next 100 good parts the limits will stop, and what too few good photos cannot promise.

    setting_scores: `calibration_scores` of the photos that set limits; ceiling: their `ceiling`. "" without any.
    """
    setters = [photo for photo, sets in zip(scored.photos, scored.setters(), strict=True) if sets]
    if not setters:
        return ""
    groups = [photo.split_group or photo.name for photo in setters]
    reviewed = [("above the review limit", limits.review)] if limits.review != limits.reject else []
    expected = []
    for word, limit in (*reviewed, ("rejected", limits.reject)):
        found = overkill_at(limit, setting_scores, groups=groups, ceiling=ceiling)
        expected.append(f"{found.expected:.0f} {word} ({found.low} to {found.high})")
    count, known = len(set(groups)), int(scored.chosen_defects().sum())
    sentence = f"The suggested limits are based on {number_of(count, 'good part')}"
    sentence += f" and {number_of(known, 'known defect')}." if known else "."
    sentence = f"Expected among the next 100 good parts: {', '.join(expected)}. {sentence}"
    return " ".join(filter(None, (sentence, most_promised(count, photos=len(setters)))))


def most_promised(groups: int, *, photos: int) -> str:
    """What so many good photos in so many groups can promise at best; "" from STEADY groups on."""
    if groups >= STEADY or not groups:
        return ""
    least = least_promise(groups)
    more = next((number for number in MORE if least_promise(number) <= least / 2), MORE[-1])
    alone = groups == photos
    setting = f"{groups} good parts" if alone else f"{groups} groups of good parts ({photos} photos)"
    further = "photos" if alone else "groups"
    return (
        f"With {setting}, no limit can guarantee fewer than {least} in 100; {more} {further} would at least halve it."
    )


def found_up_to(scored: ScoredPhotos, **live: int) -> np.ndarray:
    """(photos,) float64, read-only, of `judge.defect_hits` at a stored live value; NaN where no true mask is known."""
    values = {**scored.live, **live}

    def look() -> np.ndarray:
        limits = np.full(len(scored.photos), math.nan)
        masks = {i: near for i, photo in enumerate(scored.photos) if (near := photo.near(scored.size)) is not None}
        known = list(masks)
        for first in range(0, len(known), AT_ONCE):
            some = known[first : first + AT_ONCE]
            for i, own in zip(some, scored.maps(some, **live), strict=True):
                limits[i] = found_in_map(own, masks[i], area=values[AREA])
        return limits

    return scored.latest(("found", *sorted(values.items())), look)


def changed_again(scored: ScoredPhotos, limits: Limits, **live: int) -> RepeatabilityCounts | None:
    """Of the parts that the sentence counts; None where no tolerances were taught."""
    good, defect, *_ = counted(scored.photos, scored.unscored)
    scores, again = scored.scores(**live), scored.scores_again(**live)
    known = good | defect
    return RepeatabilityCounts.of(scores[known], again[known], defect[known], limits)


class Counted(NamedTuple):
    """What the sentence in parts counts: good, defect: (n,) bool, of the scored; unscored: those without a score; own:
    whether the limit was set on these good parts; hidden: (m,) scores of good parts that are counted and not shown.
    """

    good: np.ndarray
    defect: np.ndarray
    unscored: list[UnscoredPhoto]
    own: bool
    hidden: np.ndarray


def counted(photos: Sequence[Any], unscored: Sequence[UnscoredPhoto], set_on: Sequence[float] | None = None) -> Counted:
    """Of all parts, those that `counted_parts` counts; photos: anything with a kind and a part; set_on: scores of the
    good parts that set the limit, where their photos are not among these.
    """
    known, elsewhere = [*photos, *unscored], [] if set_on is None else list(set_on)
    count = len(elsewhere)
    good = np.array([photo.kind == "good" for photo in known] + [True] * count, bool)
    defect = np.array([photo.kind not in ("good", UNKNOWN) for photo in known] + [False] * count, bool)
    good, defect, own = counted_parts(good, defect, [photo.part for photo in known] + ["calibrate"] * count)
    first, last = len(photos), len(known)
    here = (good | defect)[first:last]
    without = [photo for photo, counts in zip(unscored, here, strict=True) if counts]
    return Counted(good[:first], defect[:first], without, own, np.array(elsewhere, float)[good[last:]])


def labelled_since(photos: Sequence[ScoredPhoto]) -> int:
    """Count the photos whose label was given by someone who had seen the score: they are in no figure."""
    return sum(photo.part == RELABELLED or (photo.part == ADDED and photo.kind != UNKNOWN) for photo in photos)


def in_parts_of(scored: ScoredPhotos, scores: np.ndarray, limits: Limits, found: np.ndarray | None = None) -> str:
    """What the limits do to the photos, in parts; found: (photos,) up to which limit each defect is found."""
    good, defect, unscored, own, hidden = counted(scored.photos, scored.unscored, scored.set_on)
    good_scores = np.concatenate([scores[good], hidden])
    counts = _counts(good_scores, scores[defect], limits, None if found is None else found[defect], unscored)
    return in_parts(counts, limit_set_on_these=own, relabelled=labelled_since(scored.photos))
