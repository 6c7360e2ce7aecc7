"""What Loupe says of one part: the score, the word, the map and where on it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from inspect_core.judge.anomaly_map import Region
from inspect_core.judge.checks import as_finite_number

__all__ = ["Limits", "Region", "Verdict", "Word"]

Word = Literal["accept", "review", "reject"]


@dataclass(frozen=True)
class Limits:
    """Two limits in the unit of the score; one limit is review == reject, and nothing is then sent to review.

    Raises ValueError when a limit is not finite or review exceeds reject.
    """

    review: float
    reject: float

    def __post_init__(self) -> None:
        for name in ("review", "reject"):
            object.__setattr__(self, name, as_finite_number(getattr(self, name), name=name))
        if self.review > self.reject:
            raise ValueError(f"review is {self.review}, above reject {self.reject}; lower review or raise reject")

    def verdict(self, score: float) -> Word:
        """ "accept" for score <= review, "review" for score <= reject, else "reject".

        Compared in float64, whatever the type of the score. Raises ValueError when the score is not finite: a part
        without a score has no verdict.
        """
        score = as_finite_number(score, name="score")
        if score <= self.review:
            return "accept"
        return "review" if score <= self.reject else "reject"


@dataclass(frozen=True, eq=False)
class Verdict:
    """The finding on one image.

    score: raw, in the detector's unit, the maximum of the map. verdict: the word. anomaly_map: (H, W) float32 at the
    network's input size. regions: above the limit for review, so that an accepted part has none and
    every other part has one; highest peak first, in pixels of the original image. guard: what the guard says of the
    image, None when it is off. kind: the kind of defect and its probability, None when no kinds were taught or the
    part is of no known kind.
    """

    score: float
    verdict: Word
    anomaly_map: np.ndarray
    regions: tuple[Region, ...] = ()
    guard: str | None = None
    kind: tuple[str, float] | None = None
