"""Why a known defect was accepted, and what would find it: each way measured on the photos at hand."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from inspect_core.images.areas import STRICTEST, InspectionArea, InspectionAreas, Outline
from inspect_core.scoring.anomaly_map import AREA, area_stops
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.verdict_rule import ACCEPTED
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.verdict import Limits
from inspect_core.workbench import transitions
from inspect_core.workbench.taught_product import TaughtProduct

SHARES = (0.0005, 0.002, 0.01, 0.05)
"""Of the map, tried as the minimum area."""
MARGIN = 0.02
"""Share of the map's sides by which a stricter area is wider than the defect on each side."""
CLEAR = 1.02
"""How far above the limit a stricter area brings the defect."""


@dataclass(frozen=True)
class Remedy:
    """words: what is changed; detected, stopped: known defects that are no longer accepted, and good parts that no
    longer are, less those that then are; apply: changes the product.
    """

    words: str
    detected: int
    stopped: int
    apply: Callable[[TaughtProduct], TaughtProduct]


@dataclass(frozen=True)
class Standing:
    """Where an escape stands. above: good photos that set the limits which score less, of so many; nearest: the title
    of the view whose map alone ranks it highest, and above how many of them; None for a single view.
    """

    above: int
    good: int
    nearest: tuple[str, int] | None


def standing(product: TaughtProduct, position: int, scores: np.ndarray) -> Standing:
    """That of the photo at this position of the bench; scores: of all photos, in force."""
    scored, live = product.scored, product.live
    setters = np.flatnonzero(scored.setters())
    nearest = None
    if len(scored.views) > 1 and len(setters):
        ranks = []
        for number, view in enumerate(scored.views):
            highest = _scores_of_view(scored, [position, *setters.tolist()], number, live)
            ranks.append((int((highest[1:] < highest[0]).sum()), -number, view.definition.title))
        above, _, title = max(ranks)
        nearest = title, above
    return Standing(int((scores[setters] < scores[position]).sum()), len(setters), nearest)


def remedies(product: TaughtProduct, position: int, evidence: Evidence, limits: Limits) -> list[Remedy]:
    """The ways in which this photo would not be accepted, those that cost the fewest good parts first.

    evidence: of the photos at the values in force; limits: in force.
    """
    scored, live = product.scored, product.live
    scores = evidence.scores[: len(scored.photos)]
    before = _accepted(evidence, limits)

    def measured(
        words: str, changed: Evidence, with_limits: Limits, apply: Callable[[TaughtProduct], TaughtProduct]
    ) -> list[Remedy]:
        after = _accepted(changed, with_limits)
        if after[position]:
            return []
        newly = before & ~after
        no_longer = after & ~before
        more = [int((newly & kind).sum()) - int((no_longer & kind).sum()) for kind in (evidence.defect, evidence.good)]
        return [Remedy(words, *more, apply)]

    lower = float(np.nextafter(scores[position], -np.inf))
    lowered = Limits(lower, max(lower, limits.reject))
    ways = measured(
        f"Lower the review limit to {lower:.4g}", evidence, lowered, partial(transitions.limited, limits=lowered)
    )
    for area in sorted({_area(scored, share) for share in SHARES} - {live[AREA]}):
        values = {AREA: area}
        other = transitions.moved(product, values)
        changed = evidence.with_scores(_with_others(evidence, scored.scores(**(live | values))))
        if other.limits is not None:
            words = f"Judge by the worst {area / np.prod(scored.size):.2%} of the map ({area} px)"
            ways += measured(words, changed, other.limits, partial(transitions.moved, values=values))
    if (areas := _stricter(product, position, float(scores[position]), limits)) is not None:
        changed = evidence.with_scores(_with_others(evidence, scored.with_areas(areas).scores(**live)))
        strictness = areas.areas[-1].strictness
        words = f"Draw a stricter area around it, with {100 / strictness:.0f}% of the limit"
        ways += measured(words, changed, limits, lambda latest: latest.with_areas(areas))
    return sorted(ways, key=lambda way: (way.stopped, -way.detected))


def _accepted(evidence: Evidence, limits: Limits) -> np.ndarray:
    return evidence.ranks(limits) == ACCEPTED


def _with_others(evidence: Evidence, scores: np.ndarray) -> np.ndarray:
    """The scores of all parts of the evidence, given those of the photos at hand, which come first."""
    return np.concatenate([scores, evidence.scores[len(scores) :]])


def _area(scored: ScoredPhotos, share: float) -> int:
    """The stop of the smallest area that is nearest to a share of the map: maps are ranked at stops."""
    return min(area_stops(scored.size), key=lambda area: abs(area - share * scored.size[0] * scored.size[1]))


def _scores_of_view(scored: ScoredPhotos, positions: list[int], view: int, live: dict[str, int]) -> np.ndarray:
    """Scores of photos by the map of one view alone, at the area in force."""
    maps = scored.maps(positions, view=view, **live).reshape(len(positions), -1)
    return np.partition(maps, maps.shape[1] - live[AREA], axis=1)[:, maps.shape[1] - live[AREA]]


def _stricter(product: TaughtProduct, position: int, score: float, limits: Limits) -> InspectionAreas | None:
    """The areas in force and a stricter one around the defect, where that can bring its score above the limit."""
    scored, live = product.scored, product.live
    needed = CLEAR * limits.review / score if score > 0 else np.inf
    if not 1 < needed <= STRICTEST:
        return None
    area = InspectionArea("stricter", _box(scored, position, live), float(needed))
    known = scored.areas
    alignment = product.extractor.alignment
    return InspectionAreas((*(known.areas if known else ()), area), alignment.digest if alignment else "")


def _box(scored: ScoredPhotos, position: int, live: dict[str, int]) -> Outline:
    """The box around a defect's mask, else around the highest values of its map, a little wider, in shares."""
    mask = scored.photos[position].known_mask(scored.size)
    if mask is None or not mask.any():
        anomaly_map = scored.map(position, **live)
        mask = anomaly_map >= np.partition(anomaly_map.ravel(), -live[AREA])[-live[AREA]]
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    height, width = scored.size
    top, bottom = max(rows[0] / height - MARGIN, 0.0), min((rows[-1] + 1) / height + MARGIN, 1.0)
    left, right = max(columns[0] / width - MARGIN, 0.0), min((columns[-1] + 1) / width + MARGIN, 1.0)
    return tuple((float(x), float(y)) for x, y in ((left, top), (right, top), (right, bottom), (left, bottom)))


@dataclass(frozen=True)
class Settings:
    """What a remedy changes of a product, to be set back."""

    moved: dict[str, int]
    limits_by_hand: Limits | None
    areas: InspectionAreas | None

    @classmethod
    def of_product(cls, product: TaughtProduct) -> "Settings":
        """Those in force."""
        return cls(dict(product.moved), product.limits_by_hand, product.scored.areas)

    def put_back(self, product: TaughtProduct) -> TaughtProduct:
        """The product at these settings; what was added, labelled and drawn since stays."""
        other = replace(product, moved=self.moved, limits_by_hand=self.limits_by_hand)
        return other.with_areas(self.areas)


@dataclass(frozen=True)
class AppliedRemedy:
    """The remedy that was applied last, in words, with the settings before and after it: where others are in force by
    now, it is not what would be undone.
    """

    words: str
    before: Settings
    after: Settings
