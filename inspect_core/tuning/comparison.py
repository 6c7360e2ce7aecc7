"""The result of a comparison: a row per detector, which of them tie, and the one to begin with on a new folder."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from inspect_core.methods.method import Workload
from inspect_core.methods.pooled import WIDEST
from inspect_core.methods.table import JOIN, METHODS, known_parameters, methods_of, title_of
from inspect_core.study.evaluation import Evaluation
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning.trial import is_better
from inspect_core.verdict import Limits

ALONE = "mahalanobis"
"""The detector taught without a comparison: for few photos, and for large photos in tiles."""
DEFAULT = f"{ALONE}{JOIN}quadrics"
CHEAP = (DEFAULT, ALONE, f"mahalanobis{JOIN}corp", f"mahalanobis{JOIN}nearest")
"""Candidates for a new folder, the preferred one first."""
ALL = (*CHEAP, f"mahalanobis{JOIN}kernel_pca", "corp", "cop", "kernel_pca", "quadrics", "nearest")
SLOWEST = 0.02
"""Seconds per photo that the methods of a candidate for a new folder may take, by their forecast: a verdict then takes
about 3.5 times the smallest backbone alone. A forecast, so that the same photos always choose the same detector.
"""
MARGIN = 0.05
"""Of quality, from 0 to 1: a smaller lead on made-up defects did not carry over to true ones (magnetic tile: +.02
there, -.02 in image AUROC)."""


def quick(grid: tuple[int, int], given: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """(candidates for a new folder, those left out as too slow), among those that have all the given parameters."""
    fitting = [name for name in CHEAP if known_parameters(name).issuperset(given)]
    fast = [name for name in fitting if name == DEFAULT or _seconds(name, grid) <= SLOWEST]
    return fast, [name for name in fitting if name not in fast]


def _seconds(detector: str, grid: tuple[int, int]) -> float:
    """Forecast of the seconds that the detector's methods take to score one more photo."""
    one, two = (Workload(0, shown, grid[0] * grid[1], WIDEST) for shown in (1, 2))
    rows = [METHODS[name] for name in methods_of(detector)]
    return sum(row.costs(two, row.defaults).seconds - row.costs(one, row.defaults).seconds for row in rows)


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval; NaN where the photos cannot give it."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @classmethod
    def of(cls, value: float, drawn: Sequence[float]) -> "Estimate":
        """A share from 0 to 1, and twice the spread of its values on resampled photos."""
        half = 1.96 * float(np.std(drawn))
        return cls(value, max(value - half, 0.0), min(value + half, 1.0))

    def ties(self, other: "Estimate") -> bool:
        """Whether either value lies in the other's interval."""
        return self.low <= other.value <= self.high or other.low <= self.value <= other.high


@dataclass(frozen=True, eq=False)
class Row:
    """One detector in a comparison.

    qualities: on the trial, photo by photo, 0 to 1; quality: their mean, synthetic and known that of either kind;
    image_auroc, aupro: on the judge photos; limits: the suggested ones, None without a good photo to set them;
    evaluation: of the judge photos under them, None when these were not scored; pro: (FPR, PRO) of its curve, or None;
    fit_seconds: of teaching without extraction; verdict_ms: from file to grid errors; arrays_mb: of the detector's
    arrays; scored: the photos at the values to begin with.
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

    @property
    def title(self) -> str:
        return title_of(self.detector)


@dataclass(frozen=True, eq=False)
class Comparison:
    """rows: one per detector, in the order requested; basis: of the trial, in words; known: whether the trial holds
    known defects too; notes: sentences on the fits.
    """

    rows: tuple[Row, ...]
    basis: str
    known: bool = False
    notes: tuple[str, ...] = ()

    def chosen(self) -> Row:
        """The first row, unless another is better beyond chance on the same photos (on made-up defects alone: also by
        MARGIN); then the best one.
        """
        first, margin, tried = self.rows[0], 0.0 if self.known else MARGIN, max(len(self.rows) - 1, 1)
        better = [
            row for row in self.rows[1:]
            if row.quality.value >= first.quality.value + margin
            and is_better(row.qualities, first.qualities, tried=tried)
        ]  # fmt: skip
        return max(better, key=lambda row: row.quality.value, default=first)

    def reason(self, left_out: Sequence[str] = ()) -> str:
        """Why the chosen one was chosen, in a sentence or two; left_out: detectors that were too slow to take part."""
        chosen, first = self.chosen(), self.rows[0]
        slow = ", ".join(map(title_of, left_out))
        words = f" Left out, at more than {1000 * SLOWEST:.0f} ms a photo: {slow}." if slow else ""
        if chosen is first:
            default = ", the default" if first.detector == DEFAULT else ""
            return f"{first.title}{default}: on {self.basis}, no other did clearly better.{words}"
        return (
            f"{chosen.title}: on {self.basis} it separates the defects best, {100 * chosen.quality.value:.0f} of 100 "
            f"against {100 * first.quality.value:.0f} for {first.title}.{words}"
        )

    def standing(self, figure: str) -> tuple[str, ...]:
        """For each row "best", "tie" for one within the interval of the best, or "", by a figure with an interval."""
        found: list[Estimate] = [getattr(row, figure) for row in self.rows]
        best = max((each for each in found if not math.isnan(each.value)), key=lambda each: each.value, default=None)
        if best is None:
            return ("",) * len(found)
        return tuple("best" if each is best else "tie" if each.ties(best) else "" for each in found)
