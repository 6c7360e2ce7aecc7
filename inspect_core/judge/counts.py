"""The effect of limits in numbers of parts, and which parts are counted, for the page and the command line alike.

Counts come before percentages, and a percentage comes with a bound, because 0 of 20 and 0 of 2,000 are different
findings.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inspect_core.judge.checks import as_finite, as_finite_number
from inspect_core.judge.limits import most_in_percent


def counted_parts(good: np.ndarray, defect: np.ndarray, subsets: Sequence[str]) -> tuple[np.ndarray, np.ndarray, bool]:
    """(good parts, defects, whether the limit was set on these good parts), the first two (n,) bool.

    good, defect: (n,) bool; a part whose truth is unknown is neither. subsets: (n,) "calibrate", "choose", "judge" or
    "added". Good parts are those of `judge`; when there are none, those of `calibrate`. Defects used to choose settings
    do not count.
    """
    own = np.array(subsets, dtype=str)
    judge, calibrate = good & (own == "judge"), good & (own == "calibrate")
    shown = judge if judge.any() else calibrate
    return shown, defect & (own != "choose"), not (judge.any() and calibrate.any())


@dataclass(frozen=True)
class Counts:
    """What limits do to parts whose truth is known.

    good_rejected: overkill; defects_missed: escapes, that is defects accepted. The reviewed are neither; with one limit
    (`two_limits` False) there are none.
    """

    good_rejected: int
    good_total: int
    defects_missed: int
    defects_total: int
    good_reviewed: int = 0
    defects_reviewed: int = 0
    two_limits: bool = False


def count_parts(good_scores: ArrayLike, defect_scores: ArrayLike, *, review: float, reject: float) -> Counts:
    """Counts of accepted (score <= review), reviewed (<= reject) and rejected parts; one limit: review == reject.

    good_scores: (n,), defect_scores: (m,), either may be empty. Compares in float64, as a single verdict does.
    Raises ValueError for a score or limit that is not finite and for review > reject.
    """
    review, reject = as_finite_number(review, name="review"), as_finite_number(reject, name="reject")
    if review > reject:
        raise ValueError(f"review is {review:g}, reject {reject:g}; the review limit may not exceed the reject limit")
    good = as_finite(good_scores, name="good_scores")
    defects = as_finite(defect_scores, name="defect_scores")
    return Counts(
        good_rejected=int((good > reject).sum()),
        good_total=good.size,
        defects_missed=int((defects <= review).sum()),
        defects_total=defects.size,
        good_reviewed=int(((good > review) & (good <= reject)).sum()),
        defects_reviewed=int(((defects > review) & (defects <= reject)).sum()),
        two_limits=review < reject,
    )


def in_parts(counts: Counts, *, limit_set_on_these: bool = False) -> str:
    """The sentence in parts, word for word as the bench says it while a limit is dragged.

    >>> in_parts(Counts(good_rejected=3, good_total=120, defects_missed=1, defects_total=18))
    'Rejects 3 of 120 good (at most 6.3 % at 95 %), misses 1 of 18 defects.'

    A set without parts is left out. With two limits the sentence ends ", sends 4 to review." `limit_set_on_these` marks
    a rate measured on the very parts that set the limit, which flatters it.
    """
    clauses = []
    if counts.good_total:
        most = most_in_percent(counts.good_rejected, counts.good_total)
        clauses.append(f"rejects {counts.good_rejected} of {counts.good_total} good (at most {most} % at 95 %)")
    if counts.defects_total:
        noun = "defect" if counts.defects_total == 1 else "defects"
        clauses.append(f"misses {counts.defects_missed} of {counts.defects_total} {noun}")
    if not clauses:
        return "No parts to count."
    if counts.two_limits:
        clauses.append(f"sends {counts.good_reviewed + counts.defects_reviewed} to review")
    sentence = ", ".join(clauses)
    note = " The limit was set on these parts." if limit_set_on_these else ""
    return f"{sentence[0].upper()}{sentence[1:]}.{note}"
