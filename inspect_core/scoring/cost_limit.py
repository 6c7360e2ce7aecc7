"""The limit that known defects suggest when an escape and a false reject have a price."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inspect_core.scoring.counts import NONE_UNSCORED, UnscoredCounts, VerdictCounts, count_parts
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


def cost_limit(
    good_scores: ArrayLike,
    defect_scores: ArrayLike,
    *,
    escape_cost: float,
    good_groups: Sequence[str] | None = None,
    defect_groups: Sequence[str] | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    good_unscored: UnscoredCounts = NONE_UNSCORED,
    defects_unscored: UnscoredCounts = NONE_UNSCORED,
) -> CostLimit:
    """`limit_for_cost` with honest counts: every part is judged by a limit set without its group.

    groups: one for every score, None when every part stands alone; a group may hold good and defective parts. The
    groups are assigned to `folds` folds with the seed. Parts without a score are only counted.
    Raises ValueError as `limit_for_cost`, for groups of another length, for fewer than 2 folds, and when a fold would
    leave no good or no defective part to set a limit by.
    """
    good, defects = as_some_finite(good_scores, name="good_scores"), as_some_finite(defect_scores, name="defect_scores")
    if folds < 2:
        raise ValueError(f"folds is {folds}; give at least 2")
    labels = [*_labels(good_groups, good.size, "good"), *_labels(defect_groups, defects.size, "defect")]
    names, group = np.unique(labels, return_inverse=True)
    fold = np.random.default_rng(seed).permutation(len(names))[group] % folds
    of_good, of_defect = np.split(fold, [good.size])
    parts = []
    for held_fold in np.unique(fold):
        kept_good, kept_defects = good[of_good != held_fold], defects[of_defect != held_fold]
        if not (kept_good.size and kept_defects.size):
            raise ValueError("all good or all defective parts are in one group; add parts from other groups")
        limit = limit_for_cost(kept_good, kept_defects, escape_cost=escape_cost)
        parts.append(
            count_parts(good[of_good == held_fold], defects[of_defect == held_fold], review=limit, reject=limit)
        )
    rejected, missed = sum(part.good_rejected for part in parts), sum(part.defects_missed for part in parts)
    all_good, all_defects = good.size + good_unscored.total, defects.size + defects_unscored.total
    counts = VerdictCounts(
        rejected, all_good, missed, all_defects, good_unscored=good_unscored, defects_unscored=defects_unscored
    )
    return CostLimit(limit_for_cost(good, defects, escape_cost=escape_cost), counts)


def _labels(groups: Sequence[str] | None, count: int, name: str) -> list[str]:
    if groups is None:
        return [f"{name} {position}" for position in range(count)]
    if len(groups) != count:
        raise ValueError(f"{name}_groups has {len(groups)} entries for {count} scores; give the group of every score")
    return [str(group) for group in groups]
