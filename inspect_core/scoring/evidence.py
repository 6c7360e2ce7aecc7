"""What is known of parts, by which limits are judged: their scores, and all that decides beside them.

Everything that counts parts, or says what a limit does to them, takes this value and nothing else, so that the bench,
the command line, a comparison and a recipe count alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from inspect_core.scoring.counts import (
    NONE_UNSCORED,
    RepeatabilityCounts,
    UnscoredCounts,
    VerdictCounts,
    counts_sentence,
)
from inspect_core.scoring.input_checks import as_finite
from inspect_core.scoring.verdict_rule import ACCEPTED, REJECTED, REVIEWED, WORDS, Flags, RankWord, rank

_FLAGS = ("good", "defect", "stopped", "never_accepted")
_FIGURES = ("hit_limits", "repeat_scores")
_no, _unknown = partial(np.zeros, (), bool), partial(np.full, (), np.nan)
"""Of all parts: not so, and not known."""


class LimitPair(Protocol):
    """Two limits, as `verdict.Limits`."""

    @property
    def review(self) -> float: ...

    @property
    def reject(self) -> float: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """Parts and what decides about each.

    scores: (n,) float64, finite; good, defect: (n,) bool, the parts that are counted as one or the other; stopped,
    never_accepted: (n,) bool, as `verdict_rule.Flags`; hit_limits: (n,) of `scoring.defect_hits`, NaN where the place
    of a defect is not known; repeat_scores: (n,) of the same parts photographed again, NaN where they were not; groups:
    (n,) names of what belongs together. good_unscored, defects_unscored: parts that are counted and have no score;
    limits_set_here: whether the limits were set on these good parts; relabelled: parts that are not counted, since who
    labelled them had seen the score. Raises ValueError for scores that are not finite.
    """

    scores: np.ndarray
    good: np.ndarray
    defect: np.ndarray
    stopped: np.ndarray = field(default_factory=_no)
    never_accepted: np.ndarray = field(default_factory=_no)
    hit_limits: np.ndarray = field(default_factory=_unknown)
    repeat_scores: np.ndarray = field(default_factory=_unknown)
    groups: Sequence[str] = ()
    good_unscored: UnscoredCounts = NONE_UNSCORED
    defects_unscored: UnscoredCounts = NONE_UNSCORED
    limits_set_here: bool = False
    relabelled: int = 0

    def __post_init__(self) -> None:
        scores = as_finite(self.scores, name="scores")
        known: dict[str, Any] = {"scores": scores}
        for names, dtype in ((_FLAGS, bool), (_FIGURES, np.float64)):
            known |= {name: np.broadcast_to(np.asarray(getattr(self, name), dtype), scores.shape) for name in names}
        known["groups"] = tuple(self.groups) or tuple(f"alone {i}" for i in range(len(scores)))
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_scores(cls, good: ArrayLike, defects: ArrayLike, *, hit_limits: ArrayLike = np.nan, **more: Any) -> Self:
        """Create it of good parts and defects by their scores; hit_limits: of the defects; more: other fields."""
        scores = [np.asarray(values, np.float64) for values in (good, defects)]
        is_defect = np.repeat([False, True], [len(values) for values in scores])
        limits_of_hits = np.full(len(is_defect), np.nan)
        limits_of_hits[is_defect] = hit_limits
        return cls(scores=np.concatenate(scores), good=~is_defect, defect=is_defect, hit_limits=limits_of_hits, **more)

    def __len__(self) -> int:
        return len(self.scores)

    def select(self, chosen: np.ndarray) -> Self:
        """Some of the parts, by (n,) bool or positions; parts without a score stay."""
        arrays = {name: getattr(self, name)[chosen] for name in ("scores", *_FLAGS, *_FIGURES)}
        return replace(self, **arrays, groups=[self.groups[i] for i in np.arange(len(self))[chosen]])

    def with_scores(self, scores: np.ndarray) -> Self:
        """The same parts at other scores, (n,)."""
        return replace(self, scores=scores)

    def with_good(self, scores: ArrayLike) -> Self:
        """These parts, and good ones of which only the scores, (m,), are known."""
        more = Evidence.from_scores(scores, ())
        arrays = {name: np.append(getattr(self, name), getattr(more, name)) for name in ("scores", *_FLAGS, *_FIGURES)}
        return replace(self, **arrays, groups=[*self.groups, *(f"elsewhere {i}" for i in range(len(more)))])

    def ranks(self, limits: LimitPair) -> np.ndarray:
        """(n,) int64 places of the verdicts in `verdict_rule.WORDS`, by the whole rule."""
        return self._ranks(self.scores, limits)

    def verdict(self, position: int, limits: LimitPair, score: float | None = None) -> RankWord:
        """The verdict on one part, at its own score or at another."""
        flags = Flags(self.stopped[position], self.never_accepted[position])
        score = float(self.scores[position]) if score is None else score
        return WORDS[int(rank(score, limits.review, limits.reject, flags))]

    def missed(self, limits: LimitPair) -> np.ndarray:
        """(n,) bool: defects that are accepted."""
        return self.defect & (self.ranks(limits) == ACCEPTED)

    def counts(self, limits: LimitPair) -> VerdictCounts:
        """How many parts are accepted, reviewed and rejected; one limit: review == reject."""
        ranks = self.ranks(limits)
        good, defects, hits = ranks[self.good], ranks[self.defect], self.hit_limits[self.defect]
        is_hit = hits > limits.review
        return VerdictCounts(
            good_rejected=int((good == REJECTED).sum()),
            good_total=good.size + self.good_unscored.total,
            defects_missed=int((defects == ACCEPTED).sum()),
            defects_total=defects.size + self.defects_unscored.total,
            good_reviewed=int((good == REVIEWED).sum()),
            defects_reviewed=int((defects == REVIEWED).sum()),
            two_limits=limits.review < limits.reject,
            with_mask=int((~np.isnan(hits)).sum()),
            caught_at_defect=int(is_hit.sum()),
            caught_elsewhere=int(((defects > ACCEPTED) & ~np.isnan(hits) & ~is_hit).sum()),
            good_unscored=self.good_unscored,
            defects_unscored=self.defects_unscored,
        )

    def sentence(self, limits: LimitPair) -> str:
        """What the limits do, in parts, as `counts_sentence`."""
        counts = self.counts(limits)
        return counts_sentence(counts, limit_set_on_these=self.limits_set_here, relabelled=self.relabelled)

    def repeatability(self, limits: LimitPair) -> RepeatabilityCounts | None:
        """Verdicts of counted parts that change when they are photographed again; None where none was."""
        was_repeated = (self.good | self.defect) & ~np.isnan(self.repeat_scores)
        if not was_repeated.any():
            return None
        parts = self.select(was_repeated)
        before, after = (parts._ranks(scores, limits) for scores in (parts.scores, parts.repeat_scores))
        stopped = (before == ACCEPTED) & (after > ACCEPTED) & parts.good
        accepted = (before > ACCEPTED) & (after == ACCEPTED) & parts.defect
        return RepeatabilityCounts(*map(int, map(np.sum, (before != after, stopped, accepted))), len(parts))

    def _ranks(self, scores: np.ndarray, limits: LimitPair) -> np.ndarray:
        return rank(scores, limits.review, limits.reject, Flags(self.stopped, self.never_accepted))
