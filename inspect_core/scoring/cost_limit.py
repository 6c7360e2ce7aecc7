"""The limit that known defects suggest when an escape and a false reject have a price."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from inspect_core.scoring.counts import VerdictCounts
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.input_checks import as_some_finite
from inspect_core.scoring.limits import limits_from_good, overkill_at

FOLDS = 5
ESCAPE_COST = 10.0
MOST_REVIEWED = 0.10
"""Where known defects help to suggest the limits: false reviews that one escape costs, and the largest share of good
parts above the review limit, by the fitted tail.
"""


@dataclass(frozen=True)
class CostLimit:
    """limit: the cheapest on all the given parts. counts: each part judged by a limit set without its group."""

    limit: float
    counts: VerdictCounts


def limit_for_cost(good_scores: ArrayLike, defect_scores: ArrayLike, *, escape_cost: float) -> float:
    """The limit at which false rejects and escapes cost least.

    good_scores (n,), defect_scores (m,): finite, at least one each. escape_cost: how many false rejects one escape
    costs, with as large a share of defects as among these parts. The limit lies halfway between two neighbouring
    scores; of limits that cost the same, the one in the widest gap.
    Raises ValueError for a class without scores and for a cost that is not above 0.
    """
    if not escape_cost > 0:
        raise ValueError(f"escape_cost is {escape_cost}; give how many false rejects one escape costs, above 0")
    good = np.sort(as_some_finite(good_scores, name="good_scores"))
    defects = np.sort(as_some_finite(defect_scores, name="defect_scores"))
    fraction = defects.size / (good.size + defects.size)
    levels = np.unique(np.concatenate([good, defects]))
    # Between two levels, below the lowest and from the highest on, nothing changes.
    edges = np.concatenate([[2 * levels[0] - levels[-1] - 1], levels])
    rejected = 1 - np.searchsorted(good, edges, side="right") / good.size
    missed = np.searchsorted(defects, edges, side="right") / defects.size
    costs = (1 - fraction) * rejected + fraction * escape_cost * missed
    gaps = np.diff(np.append(edges, edges[-1]))
    cheapest = np.flatnonzero(costs <= costs.min() * (1 + 1e-12))
    best = cheapest[gaps[cheapest].argmax()]
    # The midpoint of neighbouring numbers can round up to the upper one, which would then be accepted.
    limit = edges[best] + gaps[best] / 2
    return float(limit if gaps[best] == 0 else min(limit, np.nextafter(edges[best + 1], edges[best])))


def limits_with_defects(
    good_scores: ArrayLike, defect_scores: ArrayLike, *, ceiling: float | None = None
) -> tuple[float, float]:
    """Limits (review, reject) as `limits_from_good`, review lowered where that finds known defects.

    good_scores (n,), of parts the detector was not fitted to; defect_scores (m,), at least one; both finite. Of the
    limits between those that the shares MOST_REVIEWED and DEFAULT_REVIEW of good parts exceed, the one at which good
    parts above it (by the fitted tail) and ESCAPE_COST times the known defects accepted cost least, each in proportion
    to their number here. Never above the limit from good parts alone: known defects need not be the faintest to come.
    Raises ValueError as `limits_from_good`.
    """
    good, defects = as_some_finite(good_scores, name="good_scores"), as_some_finite(defect_scores, name="defect_scores")
    lowest, _ = limits_from_good(good, review=MOST_REVIEWED, ceiling=ceiling)
    highest, reject = limits_from_good(good, ceiling=ceiling)
    between = defects[(defects > lowest) & (defects <= highest)]
    levels = [highest, lowest, *np.nextafter(between, -np.inf).tolist()]
    fraction = defects.size / (good.size + defects.size)
    costs = [
        (1 - fraction) * overkill_at(level, good, ceiling=ceiling).expected / 100
        + fraction * ESCAPE_COST * float((defects <= level).mean())
        for level in levels
    ]
    return levels[int(np.argmin(costs))], reject


def cost_limit(parts: Evidence, *, escape_cost: float, folds: int = FOLDS, seed: int = 0) -> CostLimit:
    """`limit_for_cost` with honest counts: every part is judged by a limit set without its group.

    The limit is that of the parts whose scores decide: a defect that is not accepted for another reason says nothing
    about it, nor does a part that the product check stops. A group may hold good and defective parts; the groups are
    assigned to `folds` folds with the seed.
    Raises ValueError as `limit_for_cost`, for fewer than 2 folds, and when a fold would leave no good or no defective
    part to set a limit by.
    """
    if folds < 2:
        raise ValueError(f"folds is {folds}; give at least 2")
    names, group = np.unique(parts.groups, return_inverse=True)
    fold = np.random.default_rng(seed).permutation(len(names))[group] % folds
    counts_by_fold = []
    for held_fold in np.unique(fold):
        others = parts.select(fold != held_fold)
        if not all(len(scores) for scores in _deciding(others)):
            raise ValueError("all good or all defective parts are in one group; add parts from other groups")
        limit = _Single(limit_for_cost(*_deciding(others), escape_cost=escape_cost))
        counts_by_fold.append(parts.select(fold == held_fold).counts(limit))
    limit = _Single(limit_for_cost(*_deciding(parts), escape_cost=escape_cost))
    counts = parts.counts(limit)
    names = ("good_rejected", "good_reviewed", "defects_missed", "defects_reviewed")
    summed = {name: sum(getattr(part, name) for part in counts_by_fold) for name in names}
    # Where they are caught belongs to one limit; here each fold has its own.
    return CostLimit(limit.reject, replace(counts, **summed, with_mask=0, caught_at_defect=0, caught_elsewhere=0))


class _Single(NamedTuple):
    """A single limit."""

    reject: float

    @property
    def review(self) -> float:
        return self.reject


def _deciding(parts: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """The scores of good parts and of defects whose scores decide."""
    good = parts.good & ~parts.stopped
    defect = parts.defect & ~parts.stopped & ~parts.never_accepted
    return parts.scores[good], parts.scores[defect]
