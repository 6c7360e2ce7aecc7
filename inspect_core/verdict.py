"""What Loupe says of one part: the score, the word, the map and where on it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from inspect_core.judge.anomaly_map import Region, area_above, image_score, regions, scale_region
from inspect_core.judge.checks import as_finite_number

__all__ = ["OTHER_PRODUCT", "UNKNOWN_TYPE", "Limits", "ProductCheck", "Region", "Verdict", "Word", "assemble"]

Word = Literal["accept", "review", "reject"]
UNKNOWN_TYPE = "unknown defect type"
OTHER_PRODUCT = "other product"
"""The reason of a photo that the product check stopped."""
UNKNOWN_TYPE = "unknown defect type"
"""What is said in place of a type when none was likely enough."""


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


@dataclass(frozen=True)
class ProductCheck:
    """What the product check says of one photo.

    foreign: whether it shows another product than the one taught; stops: whether it is rejected for that, whatever its
    score; sentence: the finding in words.
    """

    foreign: bool
    stops: bool
    sentence: str


@dataclass(frozen=True, eq=False)
class Verdict:
    """The finding on one image.

    score: what `area` pixels of the map reach. verdict: the word. anomaly_map: (H, W) float32 at the network's input
    size. regions: above the limit for review, so that an accepted part has none and every other part of the
    product has one; highest peak first, in pixels of the original image. area: the smallest that counts, and above: how
    many lie above the limit for review, both in pixels of the map. guard: what the
    product check says of the image, None when it is off. kind: the defect type and its probability, None when none
    was asked for or none was likely enough, which of_unknown_type tells apart. reason: OTHER_PRODUCT when the product
    check stopped the photo.
    """

    score: float
    verdict: Word
    anomaly_map: np.ndarray
    regions: tuple[Region, ...] = ()
    area: int = 1
    above: int = 0
    guard: str | None = None
    kind: tuple[str, float] | None = None
    of_unknown_type: bool = False
    reason: str | None = None


def assemble(
    anomaly_map: np.ndarray,
    limits: Limits,
    size: tuple[int, int],
    *,
    area: int = 1,
    check: ProductCheck | None = None,
    name_type: Callable[[tuple[Region, ...]], tuple[str, float] | None] | None = None,
) -> Verdict:
    """The one place where a verdict is made of its findings, for the page, the command line and the recipe.

    anomaly_map: (H, W) float32; size: (H, W) of the original image; area: the smallest that counts, in pixels of the
    map. name_type gives (type, probability) or None for the regions found; it is asked only for a part that is neither
    accepted nor stopped. Raises ValueError when the score is not finite.
    """
    score = float(image_score(anomaly_map, area=area))
    word = limits.verdict(score)
    found = tuple(
        scale_region(region, anomaly_map.shape, size) for region in regions(anomaly_map, limits.review, area=area)
    )
    verdict = Verdict(
        score, word, anomaly_map, found, area, area_above(anomaly_map, limits.review),
        guard=check.sentence if check is not None else None,
    )  # fmt: skip
    if check is not None and check.stops:
        return replace(verdict, verdict="reject", reason=OTHER_PRODUCT)
    if name_type is None or word == "accept":
        return verdict
    kind = name_type(found)
    return replace(verdict, kind=kind, of_unknown_type=kind is None)
