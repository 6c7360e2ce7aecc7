"""The result of a comparison: a row per detector, which of them tie, and the one to begin with on a new folder."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from inspect_core.methods.registry import title_of
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.verdict_rule import ACCEPTED
from inspect_core.study.evaluation import Evaluation
from inspect_core.study.photo_evidence import evidence_of
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import FittedStudy
from inspect_core.tuning import place
from inspect_core.tuning.synthetic_trial import is_better
from inspect_core.verdict import Limits

MARGIN = 0.05
"""Of quality, from 0 to 1: a smaller lead on made-up defects did not carry over to true ones (magnetic tile: +.02
there, -.02 in image AUROC)."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval; NaN where the photos cannot give it."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @classmethod
    def from_draws(cls, value: float, drawn: Sequence[float]) -> "Estimate":
        """A share from 0 to 1, and twice the spread of its values on resampled photos."""
        half = 1.96 * float(np.std(drawn))
        return cls(value, max(value - half, 0.0), min(value + half, 1.0))

    def ties(self, other: "Estimate") -> bool:
        """Whether either value lies in the other's interval."""
        return self.low <= other.value <= self.high or other.low <= self.value <= other.high


@dataclass(frozen=True, eq=False)
class ComparisonRow:
    """One detector in a comparison.

    qualities: on the trial, photo by photo, 0 to 1; quality: their mean, synthetic and known that of either kind;
    image_auroc, aupro: on the test photos; limits: the suggested ones, None without a good photo to set them;
    evaluation: of the test photos under them, None when these were not scored; pro: (FPR, PRO) of its curve, or None;
    fit_seconds: forecast of the fit without extraction; verdict_ms: from file to grid errors; arrays_mb: of the
    detector's arrays; scored: the photos at the values to begin with; study: the one in which its methods were fitted,
    one by one.
    """

    detector: str
    qualities: np.ndarray
    quality: Estimate
    synthetic: Estimate
    known: Estimate
    image_auroc: Estimate
    aupro: Estimate
    limits: Limits | None
    evaluation: Evaluation | None
    pro: tuple[np.ndarray, np.ndarray] | None
    fit_seconds: float
    verdict_ms: float
    arrays_mb: float
    scored: ScoredPhotos
    study: FittedStudy

    @property
    def as_published(self) -> bool:
        """Whether its method is as its paper has it; else it is as Loupe has it by default."""
        return self.study.order.as_published

    @property
    def title(self) -> str:
        return title_of(self.detector, as_published=self.as_published)

    @property
    def evidence(self) -> Evidence:
        """That of the photos, without a product check."""
        return evidence_of(self.scored, differ=self.study.differ(photo.name for photo in self.scored.photos))

    @cached_property
    def worst_missed(self) -> int | None:
        """Position of the accepted defect among the test photos whose score is furthest below the review limit; None
        where no defect is accepted.
        """
        if self.limits is None:
            return None
        missed = self.scored.of_subset("test") & self.scored.good_and_defect()[1]
        missed &= self.evidence.ranks(self.limits) == ACCEPTED
        return int(np.flatnonzero(missed)[self.scored.scores()[missed].argmin()]) if missed.any() else None


@dataclass(frozen=True, eq=False)
class Comparison:
    """rows: one per detector, in the order requested; basis: of the trial, in words; known: whether the trial holds
    known defects too; location_variance_share: the share of the variance of patch features that the mean of their place
    explains, None where it was not learned; notes: sentences on the fits; candidates: the detectors that teaching these
    photos compares, of which one is recommended; all if none is a row. Those as published are never recommended.
    """

    rows: tuple[ComparisonRow, ...]
    basis: str
    known: bool
    location_variance_share: float | None
    notes: tuple[str, ...] = ()
    candidates: Collection[str] = ()

    def _eligible(self) -> Sequence[ComparisonRow]:
        usual = [row for row in self.rows if not row.as_published]
        return [row for row in usual if row.detector in self.candidates] or usual

    def told_apart(self) -> list[list[ComparisonRow]]:
        """The rows in groups: in each, first the one that stands for it, then those that the trial cannot tell from it.

        The group of the chosen row comes first; each other begins with the row that separates best among the rest.
        """
        chosen = self.chosen()
        rest = sorted(self.rows, key=lambda row: (row is not chosen, -row.quality.value))
        groups = []
        while rest:
            alike = [row for row in rest if not self._differ(row, rest[0])]
            groups.append(alike)
            rest = [row for row in rest if row not in alike]
        return groups

    def _differ(self, row: ComparisonRow, other: ComparisonRow) -> bool:
        tried = max(len(self.rows) - 1, 1)
        pairs = (row.qualities, other.qualities), (other.qualities, row.qualities)
        return any(is_better(better, than, tried=tried) for better, than in pairs)

    def preferred(self) -> ComparisonRow:
        """The row to begin with before any trial, as `place.preferred`."""
        named = {row.detector: row for row in self._eligible()}
        return named[place.preferred(self.location_variance_share, named)]

    def chosen(self) -> ComparisonRow:
        """The preferred row unless another is better beyond chance (on made-up defects also by MARGIN)."""
        rows = self._eligible()
        first = self.preferred()
        margin = 0.0 if self.known else MARGIN
        tried = max(len(rows) - 1, 1)
        better = [
            row
            for row in rows
            if row is not first
            and row.quality.value >= first.quality.value + margin
            and is_better(row.qualities, first.qualities, tried=tried)
        ]
        return max(better, key=lambda row: row.quality.value, default=first)

    def reason(self) -> str:
        """The chosen one in the first line, why it was chosen in the second."""
        chosen = self.chosen()
        first = self.preferred()
        if chosen is not first:
            return (
                f"Detector: {chosen.title}. It was clearly better than {first.title}.\nOn {self.basis} it separates "
                f"defects best, {100 * chosen.quality.value:.0f}% against {100 * first.quality.value:.0f}%."
            )
        lies = place.in_words(self.location_variance_share)
        return f"Detector: {first.title}. No other was clearly better.\n{lies}Compared on {self.basis}."

    def tie_marks(self, figure: str) -> tuple[str, ...]:
        """For each row, "best", "tie" within the best one's interval, or "", by a figure with an interval."""
        estimates: list[Estimate] = [getattr(row, figure) for row in self.rows]
        best = max(
            (estimate for estimate in estimates if not math.isnan(estimate.value)),
            key=lambda item: item.value,
            default=None,
        )
        if best is None:
            return ("",) * len(estimates)
        return tuple("best" if estimate is best else "tie" if estimate.ties(best) else "" for estimate in estimates)
