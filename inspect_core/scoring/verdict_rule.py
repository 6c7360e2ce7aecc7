"""The verdict rule: what becomes of parts by their scores, the limits, and what decides whatever the score.

Everything that judges or counts parts calls `rank`; `judging.js` has the same rule for a limit that is dragged.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from inspect_core.scoring.input_checks import as_finite, as_finite_number

RankWord = Literal["accept", "review", "reject"]
WORDS: tuple[RankWord, ...] = ("accept", "review", "reject")
"""The verdicts of parts that have a score, by rank."""
ACCEPTED, REVIEWED, REJECTED = range(3)


class Flags(NamedTuple):
    """What decides about parts besides their scores, (n,) bool each, or one value for all.

    stopped: the product check found another product; never_accepted: something other than the score speaks against the
    part, such as that it is partly out of view.
    """

    stopped: ArrayLike = False
    never_accepted: ArrayLike = False

    def select(self, chosen: np.ndarray) -> "Flags":
        """Those of some parts; chosen: (n,) bool."""
        return Flags(*(np.broadcast_to(np.asarray(flag, bool), chosen.shape)[chosen] for flag in self))


NO_FLAGS = Flags()


def rank(scores: ArrayLike, review: float, reject: float, flags: Flags = NO_FLAGS) -> np.ndarray:
    """(n,) int64 places in WORDS of parts with these scores, (n,); () of one part.

    Accepted is a score <= review, to review one <= reject, rejected one above. What is never accepted goes to review
    where its score would be accepted; what is stopped is rejected whatever its score. Compared in float64, whatever the
    type of the scores. Raises ValueError for a score or limit that is not finite and for review > reject.
    """
    review, reject = as_finite_number(review, name="review"), as_finite_number(reject, name="reject")
    if review > reject:
        raise ValueError(f"review is {review:g}, reject {reject:g}; the review limit may not exceed the reject limit")
    values = as_finite(scores, name="scores")
    by_score = (values > review).astype(np.int64) + (values > reject)
    at_least = np.maximum(by_score, np.asarray(flags.never_accepted, bool))
    return np.where(np.asarray(flags.stopped, bool), REJECTED, at_least)
