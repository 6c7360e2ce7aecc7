"""The verdict on one part: its score, its word, the map and the regions on it."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

import numpy as np

from inspect_core.images.areas import InspectionAreas
from inspect_core.images.photo_quality import PhotoQuality, QualityRange
from inspect_core.images.photo_setup import EMPTY, SHADED
from inspect_core.images.placement import AS_TAKEN, Placement
from inspect_core.runtime.json_record import FINITE
from inspect_core.scoring.anomaly_map import Region, image_score, regions, scale_region
from inspect_core.scoring.input_checks import as_finite_number
from inspect_core.scoring.limits import rescale_limit
from inspect_core.scoring.verdict_rule import NO_FLAGS, WORDS, Flags, rank

VerdictWord = Literal["accept", "review", "reject", "not located"]
NOT_LOCATED: Literal["not located"] = "not located"
"""The word of a part that was not found in its photo: never accepted, and without a score."""
NOT_JUDGED: Literal["not judged"] = "not judged"
"""The word of a photo that could not be read or inspected."""
VERDICT_PHRASES = {"accept": "accepted", "review": "to review", "reject": "rejected"}
VERDICT_PHRASES |= {NOT_LOCATED: NOT_LOCATED, NOT_JUDGED: NOT_JUDGED}
"""What can become of a photo, from the best, and how it is said of several."""
VERDICT_SYMBOLS = dict(zip(VERDICT_PHRASES, "✓?✕ø–", strict=True))
ALL_VERDICTS = tuple(VERDICT_PHRASES)
UNKNOWN_TYPE = "unknown defect type"
"""Shown in place of a type when none was likely enough."""
LARGEST_PLACE = 0.1
"""Share of the photo above which a region's box is no place."""


class Reason(StrEnum):
    """What decides about a photo. OTHER_PRODUCT: the product check stopped it. PARTLY_OUT, EMPTY, SHADED: no score
    accepts it, see `is_partly_out` and `SetupRange.reason_to_review`; STRICT_MODE: nor one that differs from those
    taught.
    """

    SCORE = "score"
    OTHER_PRODUCT = "other product"
    PARTLY_OUT = "partly out of view"
    EMPTY = EMPTY
    SHADED = SHADED
    STRICT_MODE = "strict mode"
    NOT_LOCATED = "not located"
    NOT_JUDGED = "not judged"

    def text(self, photo_deviation: str = "") -> str:
        """Why the verdict is not that of the score, "" where it is; photo_deviation: what the strict mode goes by."""
        if self is Reason.SCORE:
            return ""
        return photo_deviation if self is Reason.STRICT_MODE else self.value


@dataclass(frozen=True)
class Limits:
    """Two limits in the unit of the score; for a single limit review == reject, and no score then sends to review.

    Raises ValueError when a limit is not finite or review exceeds reject.

    >>> Limits(3.0, 4.5).decide(3.2)[0]
    'review'
    """

    review: Annotated[float, FINITE]
    reject: Annotated[float, FINITE]

    def __post_init__(self) -> None:
        for name in ("review", "reject"):
            object.__setattr__(self, name, as_finite_number(getattr(self, name), name=name))
        if self.review > self.reject:
            raise ValueError(f"review is {self.review}, above reject {self.reject}; lower review or raise reject")

    def carried(self, before: Self, after: Self, ceilings: tuple[float | None, float | None]) -> Self:
        """These limits, set by hand when `before` were suggested, as scores for which `after` are.

        See `scoring.limits.rescale_limit`.
        """
        if self == before:
            return after
        to_review, to_reject = (
            rescale_limit(limit, before=before.reject, after=after.reject, ceilings=ceilings)
            for limit in (self.review, self.reject)
        )
        return replace(self, review=to_review, reject=to_reject)

    def decide(
        self, score: float, *, stopped: bool = False, never_accepted: Reason | None = None
    ) -> tuple[VerdictWord, Reason]:
        """The verdict on a part by the whole rule, and what decides.

        stopped: whether the product check found another product; never_accepted: what other than the score speaks
        against the part. Raises ValueError when the score is not finite: a part without a score has no verdict.
        """
        score = as_finite_number(score, name="score")
        every_flag = Flags(stopped, never_accepted is not None)
        by_score, word = (WORDS[int(rank(score, self.review, self.reject, flags))] for flags in (NO_FLAGS, every_flag))
        if stopped:
            return word, Reason.OTHER_PRODUCT
        return word, never_accepted if never_accepted and by_score != word else Reason.SCORE


@dataclass(frozen=True)
class ProductCheckResult:
    """Result of the product check on one photo.

    is_foreign: whether it shows another product than the one taught; rejects: whether it is rejected for that, whatever
    its score; sentence: the finding in words; distance: from the photos taught, as the check scores it.
    """

    is_foreign: bool
    rejects: bool
    sentence: str
    distance: float | None = None


@dataclass(frozen=True)
class DriftInputs:
    """What of a photo besides its score may drift; None where it was not measured.

    brightness, sharpness, noise: as `PhotoQuality`; product_distance: of the product check; shift_x, shift_y: of the
    part, as shares of the photo; angle: in degrees.
    """

    brightness: float | None = None
    sharpness: float | None = None
    noise: float | None = None
    product_distance: float | None = None
    shift_x: float | None = None
    shift_y: float | None = None
    angle: float | None = None

    @classmethod
    def from_measurements(
        cls, quality: PhotoQuality | None, check: ProductCheckResult | None, placement: Placement
    ) -> "DriftInputs":
        measurements: dict[str, float] = {}
        if quality is not None:
            measurements = {name: getattr(quality, name) for name in ("brightness", "sharpness", "noise")}
        if check is not None and check.distance is not None:
            measurements["product_distance"] = check.distance
        if (located := placement.pose) is not None:
            x, y = located.shift
            measurements |= {"shift_x": float(x), "shift_y": float(y), "angle": located.angle}
        return cls(**measurements)


INPUTS = tuple(field.name for field in fields(DriftInputs))


@dataclass(frozen=True, eq=False)
class Verdict:
    """The finding on one image.

    score: the value that `area` pixels of the map reach, None for a part that was not located. verdict: the word.
    anomaly_map: (H, W) float32, over the reference when parts are aligned, 0 where the part was not inspected. regions:
    above the limit for review, highest peak first, in pixels of the original image. area: the smallest that counts, in
    pixels of the map. product_check: the sentence of the product check, None when it is off. defect_type: its name and
    probability, None when none was asked for or none was likely enough (then of_unknown_type is True). decided_by: the
    score, the product check, never_accepted where that alone sends it to review, or that the part was not located;
    reason: the same in words, "" for the score. never_accepted: what speaks against the part whatever its score.
    placement: where the part lies in the photo; uninspected: (H, W) bool, what was not inspected, None when all of it
    was. photo_deviation: how the photo differs from those taught, "noisier than taught"; "" where it does not; inputs:
    what of it may drift.

    >>> verdict = inspect("scratch.jpg", recipe)
    >>> verdict.score > recipe.limits.reject, verdict.anomaly_map.shape, len(verdict.regions) > 0
    (True, (256, 256), True)
    """

    score: float | None
    verdict: VerdictWord
    anomaly_map: np.ndarray
    regions: tuple[Region, ...] = ()
    area: int = 1
    product_check: str | None = None
    defect_type: tuple[str, float] | None = None
    of_unknown_type: bool = False
    decided_by: Reason = Reason.SCORE
    reason: str = ""
    never_accepted: Reason | None = None
    placement: Placement = AS_TAKEN
    uninspected: np.ndarray | None = None
    photo_deviation: str = ""
    inputs: DriftInputs = DriftInputs()

    @property
    def photo_map(self) -> np.ndarray:
        """(H, W) float32: the map as it lies over the photo as taken, drawn at the map's own size."""
        return self.placement.over_photo(self.anomaly_map)

    @property
    def region_place(self) -> tuple[float | None, float | None]:
        """Middle (x, y) of the most anomalous region, as shares of the photo; None where nothing stands out, or so much
        of the photo that it has no place.
        """
        height, width = self.placement.photo_size
        left, top, right, bottom = self.regions[0].box if self.regions else (0, 0, width, height)
        if (right - left) * (bottom - top) > LARGEST_PLACE * height * width:
            return None, None
        return round((left + right) / 2 / width, 3), round((top + bottom) / 2 / height, 3)

    @property
    def photo_uninspected(self) -> np.ndarray | None:
        """(H, W) bool: `uninspected` over the photo as taken."""
        return None if self.uninspected is None else self.placement.mask_over_photo(self.uninspected)


def mask_uninspected(anomaly_map: np.ndarray, left_out: np.ndarray, areas: InspectionAreas | None) -> np.ndarray:
    """A map, (H, W) float32, weighted by its areas, and 0 where `left_out`, (H, W) bool, is True."""
    weighted = anomaly_map if areas is None else anomaly_map * areas.weights(anomaly_map.shape)
    return np.where(left_out, np.float32(0), weighted)


@dataclass(frozen=True, eq=False)
class Visibility:
    """Which pixels of a part are judged on one photo.

    uninspected: (H, W) bool, pixels of the map; missing_pixels: number of pixels that would be inspected if the photo
    showed them; inspected_pixels: their number.
    """

    uninspected: np.ndarray
    missing_pixels: int
    inspected_pixels: int

    @classmethod
    def from_placement(cls, placement: Placement, size: tuple[int, int], areas: InspectionAreas | None) -> Self:
        """Create it for a photo so placed, whose map of `size` is judged by areas."""
        outside = placement.outside_mask(size)
        known = placement.known(size)
        if areas is not None:
            known = known & (areas.weights(size) > 0)
        uninspected = outside | ~known
        return cls(uninspected, int(np.count_nonzero(outside & known)), int(np.count_nonzero(~uninspected)))


def is_partly_out(missing: Any, inspected: Any, area: int) -> Any:
    """Whether parts are partly out of view: `area` pixels or more missing, or fewer than `area` inspected.

    missing, inspected: pixels of one part or as arrays of several.
    """
    return (missing >= area) | (inspected < area)


def assemble(
    anomaly_map: np.ndarray,
    limits: Limits,
    placement: Placement,
    *,
    view: Visibility,
    area: int = 1,
    check: ProductCheckResult | None = None,
    quality: PhotoQuality | None = None,
    quality_range: QualityRange | None = None,
    name_type: Callable[[tuple[Region, ...]], tuple[str, float] | None] | None = None,
) -> Verdict:
    """The one place where findings become a verdict, for the page, the command line and the recipe.

    anomaly_map: (H, W) float32, of the photo as placed, returned by `inspected`; view: which of its pixels are judged;
    area: the smallest that counts, in pixels of the map; quality: of the picture as the network sees it; quality_range:
    of the good photos. name_type: from the regions found, in pixels of the picture, to (type, probability) or None;
    called only for a part that is neither accepted nor stopped. Raises ValueError when the score is not finite.
    """
    size = anomaly_map.shape
    score = float(image_score(anomaly_map, area=area))
    never_accepted = None
    if is_partly_out(view.missing_pixels, view.inspected_pixels, area):
        never_accepted = Reason.PARTLY_OUT
    elif quality is not None and quality_range is not None and (words := quality_range.reason_to_review(quality)):
        never_accepted = Reason(words)
    stopped = check is not None and check.rejects
    word, decided_by = limits.decide(score, stopped=stopped, never_accepted=never_accepted)
    found_regions = regions(anomaly_map, limits.review, area=area)
    regions_found = tuple(_in_photo(region, placement, size) for region in found_regions)
    verdict = Verdict(
        score,
        word,
        anomaly_map,
        regions_found,
        area,
        product_check=check.sentence if check is not None else None,
        decided_by=decided_by,
        reason=decided_by.text(),
        never_accepted=never_accepted,
        placement=placement,
        uninspected=view.uninspected if view.inspected_pixels < view.uninspected.size else None,
        photo_deviation="" if quality is None or quality_range is None else quality_range.describe_deviation(quality),
        inputs=DriftInputs.from_measurements(quality, check, placement),
    )
    if stopped or name_type is None or not found_regions:
        return verdict
    named = name_type(tuple(scale_region(region, size, placement.size) for region in found_regions))
    return replace(verdict, defect_type=named, of_unknown_type=named is None)


def not_located(reason: str, size: tuple[int, int], *, area: int = 1) -> Verdict:
    """The verdict on a photo in which the part was not found, with an empty map of `size`."""
    nothing = np.zeros(size, np.float32)
    everything = np.ones(size, bool)
    verdict = Verdict(None, NOT_LOCATED, nothing, area=area, uninspected=everything)
    return replace(verdict, decided_by=Reason.NOT_LOCATED, reason=reason)


def _in_photo(region: Region, placement: Placement, size: tuple[int, int]) -> Region:
    located = placement.pose
    if located is None:
        return scale_region(region, size, placement.size)
    return replace(region, box=located.box_in_photo(region.box, size), area=located.area_in_photo(region.area, size))
