"""What a fitted detector makes of photos whose truth is known: a score of each, and counts of their pixels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from inspect_core.scoring.anomaly_map import AREA, image_score
from inspect_core.scoring.counts import UnscoredCounts
from inspect_core.scoring.defect_hits import dilate_mask, hit_limit
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.overlap_counts import OverlapCounts
from inspect_core.study.scored_photo import UNKNOWN, UnscoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos

AT_ONCE = 16
"""Photos whose maps are made, counted and forgotten. Sums depend on it, so it is the same in every process."""
Live = Mapping[str, int]


@dataclass(frozen=True, eq=False)
class EvaluationScores:
    """scores: (n,) float32 image scores; repeat_scores: those of the parts photographed again, NaN where they were not;
    defect: (n,) bool; hit_limits: (n,) float64, up to which limit each defect is found, NaN where no true mask is
    known; never_accepted: (n,) bool, parts that are partly out of view; counts: of the photos whose true mask is known.
    """

    scores: np.ndarray
    repeat_scores: np.ndarray
    defect: np.ndarray
    hit_limits: np.ndarray
    never_accepted: np.ndarray
    counts: OverlapCounts

    @classmethod
    def from_scored(
        cls, scored: ScoredPhotos, live: Live, indices: Sequence[int], masks: Sequence[np.ndarray | None]
    ) -> Self:
        """Create it from the photos at these positions, at stored live values; masks: of all, as `truth_masks`."""
        area, indices = live.get(AREA, scored.live[AREA]), list(indices)
        scores, hit_limits, counts = [np.zeros(0, np.float32)], [], []
        for first in range(0, len(indices), AT_ONCE):
            positions = indices[first : first + AT_ONCE]
            maps = scored.maps(positions, **live)
            scores.append(image_score(maps, area=area))
            pairs = [(anomaly_map, masks[i]) for anomaly_map, i in zip(maps, positions, strict=True)]
            known = ((anomaly_map, mask) for anomaly_map, mask in pairs if mask is not None)
            counts.append(
                OverlapCounts.merged(OverlapCounts.from_map(anomaly_map, mask) for anomaly_map, mask in known)
            )
            for anomaly_map, mask in pairs:
                hit_limits.append(
                    np.nan if mask is None or not mask.any() else hit_limit(anomaly_map, dilate_mask(mask), area=area)
                )
        repeat_scores, defect = scored.repeat_scores(**live)[indices], scored.good_and_defect()[1][indices]
        return cls(
            np.concatenate(scores),
            repeat_scores,
            defect,
            np.array(hit_limits, float),
            scored.partly_out(area)[indices],
            OverlapCounts.merged(counts),
        )

    def evidence(self, unscored: Sequence[UnscoredPhoto] = ()) -> Evidence:
        """That of these photos, all of which count; unscored: those to judge that have no score."""
        return Evidence(
            scores=self.scores,
            good=~self.defect,
            defect=self.defect,
            never_accepted=self.never_accepted,
            hit_limits=self.hit_limits,
            repeat_scores=self.repeat_scores,
            **unscored_counts(unscored),
        )

    @classmethod
    def merged(cls, parts: Sequence[Self]) -> Self:
        """Create it from the photos of all parts, in their order."""
        none = cls(*(np.zeros(0, dtype) for dtype in ("f4", "f4", bool, float, bool)), OverlapCounts.merged([]))
        names = ("scores", "repeat_scores", "defect", "hit_limits", "never_accepted")
        columns = (np.concatenate([getattr(part, name) for part in (none, *parts)]) for name in names)
        return cls(*columns, OverlapCounts.merged(part.counts for part in parts))


def unscored_counts(photos: Sequence[UnscoredPhoto]) -> dict[str, Any]:
    """The fields of an `Evidence` for parts that have no score."""

    def counts_of(good: bool) -> UnscoredCounts:
        return UnscoredCounts.of_words(
            [photo.verdict for photo in photos if photo.label != UNKNOWN and (photo.label == "good") == good]
        )

    return {"good_unscored": counts_of(True), "defects_unscored": counts_of(False)}


def truth_masks(scored: ScoredPhotos, positions: Sequence[int] | None = None) -> list[np.ndarray | None]:
    """For every photo, or those at the given positions, its true mask at the input size: all False for a good
    part, None where it is unknown.
    """
    size = scored.size
    photos = scored.photos if positions is None else [scored.photos[i] for i in positions]
    return [np.zeros(size, bool) if photo.label == "good" else photo.known_mask(size) for photo in photos]


def score_for_evaluation(scored: ScoredPhotos, moves: Sequence[Live]) -> list[EvaluationScores]:
    """All of these photos at each of several moves of the live parameters."""
    masks = truth_masks(scored)
    return [EvaluationScores.from_scored(scored, live, range(len(masks)), masks) for live in moves]
