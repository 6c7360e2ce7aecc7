"""Attribute agreement: do appraisers, Loupe among them, call parts of known truth what they are, every time?

As in AIAG, Measurement Systems Analysis, 4th edition, chapter III section C: parts of known truth, each appraised
several times by everyone.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from inspect_core.scoring.limits import clopper_pearson

ACCEPTABLE, MARGINAL, UNACCEPTABLE = "acceptable", "marginal", "not acceptable"
TOO_FEW = "too few parts to judge"
EFFECTIVENESS, MISSES, FALSE_ALARMS = (0.90, 0.80), (0.02, 0.05), (0.05, 0.10)
"""AIAG's bounds of what is acceptable, and of what is marginal."""
CONFIDENCE = 0.95


class Appraisal(NamedTuple):
    """One appraisal. defective: the truth; not_accepted: what the appraiser said; score: Loupe's, None for a person."""

    part: str
    defective: bool
    appraiser: str
    trial: int
    not_accepted: bool
    score: float | None = None


@dataclass(frozen=True)
class Proportion:
    """count of total, with the exact interval (Clopper and Pearson) at 95 %; of nothing, NaN within 0 to 1."""

    count: int
    total: int

    @property
    def value(self) -> float:
        return self.count / self.total if self.total else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        return clopper_pearson(self.count, self.total)


class Kappa(NamedTuple):
    """Agreement beyond chance, 1 for perfect, with its interval at 95 %; NaN where only one word was ever said."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class AppraiserResult:
    """What one appraiser's readings show.

    parts: called right in every trial; readings: right, the other convention of effectiveness; misses: defective parts
    accepted; false_alarms: good parts rejected; repeatable_parts: called the same in every trial, right or wrong;
    kappa_vs_truth, kappa_between_trials: kappa against the truth, and of the trials among themselves.
    """

    parts: Proportion
    readings: Proportion
    misses: Proportion
    false_alarms: Proportion
    repeatable_parts: Proportion
    kappa_vs_truth: Kappa
    kappa_between_trials: Kappa

    @property
    def bands(self) -> dict[str, str]:
        """AIAG's word for effectiveness (by parts), misses and false alarms; "" where there was nothing to count,
        TOO_FEW where not even a faultless appraiser could show at 95 % to be within the band.
        """
        right, misses, alarms = self.parts, self.misses, self.false_alarms
        return {
            "effectiveness": _band(1 - right.value, *(1 - bound for bound in EFFECTIVENESS), total=right.total),
            "misses": _band(misses.value, *MISSES, total=misses.total),
            "false alarms": _band(alarms.value, *FALSE_ALARMS, total=alarms.total),
        }


@dataclass(frozen=True)
class Agreement:
    """The study: each appraiser, every two of them, and all together.

    pairwise_kappas: kappa of two appraisers, trial by trial; together: parts that all called the same in every trial;
    all_correct: those that all called right.
    """

    appraisers: Mapping[str, AppraiserResult]
    pairwise_kappas: Mapping[tuple[str, str], Kappa]
    together: Proportion
    all_correct: Proportion


def agreement(readings: Iterable[Appraisal]) -> Agreement:
    """The attribute agreement of a complete study. Raises ValueError, naming it, for a reading that is missing,
    given twice or contradicts the truth of its part, and without two readings of any part.
    """
    calls_by_appraiser, truth = _table(list(readings))
    names = list(calls_by_appraiser)
    appraisers = {name: _appraised(calls, truth) for name, calls in calls_by_appraiser.items()}
    pairs = {
        (first, other): cohen(calls_by_appraiser[first].ravel(), calls_by_appraiser[other].ravel())
        for first, other in itertools.combinations(names, 2)
    }
    calls = np.concatenate(list(calls_by_appraiser.values()), axis=1)
    same = (calls == calls[:, :1]).all(axis=1)
    right = same & (calls[:, 0] == truth)
    return Agreement(
        appraisers, pairs, Proportion(int(same.sum()), len(truth)), Proportion(int(right.sum()), len(truth))
    )


def parts_to_prove(rate: float) -> int:
    """Defective parts that must all be caught to show, at 95 %, that at most the share `rate` of them is missed."""
    if not 0 < rate < 1:
        raise ValueError(f"rate is {rate}; give a share of parts between 0 and 1")
    return math.ceil(math.log(1 - CONFIDENCE) / math.log1p(-rate))


def cohen(first: np.ndarray, other: np.ndarray) -> Kappa:
    """Cohen's kappa of two (n,) bool calls, with the interval of its large-sample standard error."""
    n = len(first)
    agree = float((first == other).mean())
    a, b = float(first.mean()), float(other.mean())
    return _kappa(agree, a * b + (1 - a) * (1 - b), n)


def fleiss(calls: np.ndarray) -> Kappa:
    """Fleiss' kappa of (parts, trials) bool calls."""
    n, trials = calls.shape
    stopped = calls.sum(axis=1)
    agreements = (stopped * (stopped - 1) + (trials - stopped) * (trials - stopped - 1)) / (trials * (trials - 1))
    share = float(calls.mean())
    return _kappa(float(agreements.mean()), share**2 + (1 - share) ** 2, n)


def _kappa(agree: float, by_chance: float, n: int) -> Kappa:
    if by_chance == 1:
        return Kappa(math.nan, math.nan, math.nan)
    value = (agree - by_chance) / (1 - by_chance)
    if agree in (0.0, 1.0):  # the large-sample error is 0 there, which is no interval
        low, high = ((share - by_chance) / (1 - by_chance) for share in clopper_pearson(round(agree * n), n))
        return Kappa(value, max(low, -1.0), min(high, 1.0))
    error = math.sqrt(agree * (1 - agree) / n) / (1 - by_chance)
    reach = float(ndtri((1 + CONFIDENCE) / 2)) * error
    return Kappa(value, max(value - reach, -1.0), min(value + reach, 1.0))


def _appraised(calls: np.ndarray, truth: np.ndarray) -> AppraiserResult:
    right = calls == truth[:, None]
    known = np.broadcast_to(truth[:, None], calls.shape)
    same = (calls == calls[:, :1]).all(axis=1)
    return AppraiserResult(
        Proportion(int(right.all(axis=1).sum()), len(truth)),
        Proportion(int(right.sum()), right.size),
        Proportion(int((~calls[truth]).sum()), calls[truth].size),
        Proportion(int(calls[~truth].sum()), calls[~truth].size),
        Proportion(int(same.sum()), len(truth)),
        cohen(calls.ravel(), known.ravel()),
        fleiss(calls),
    )


def _band(value: float, good: float, fair: float, *, total: int) -> str:
    if math.isnan(value):
        return ""
    if value > fair + 1e-12:
        return UNACCEPTABLE
    for bound, word in ((good, ACCEPTABLE), (fair, MARGINAL)):
        if value <= bound + 1e-12 and total >= parts_to_prove(bound):
            return word
    return TOO_FEW


def _table(readings: Sequence[Appraisal]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """((parts, trials) bool calls by appraiser, (parts,) bool truth), in order of appearance."""
    parts, trials = (list(dict.fromkeys(getattr(reading, name) for reading in readings)) for name in ("part", "trial"))
    if len(trials) < 2:
        raise ValueError("every part is appraised at least twice; add a second trial")
    truth = {reading.part: reading.defective for reading in readings}
    calls: dict[tuple[str, str, int], bool] = {}
    for reading in readings:
        key = reading.appraiser, reading.part, reading.trial
        if key in calls:
            raise ValueError(
                f"{reading.appraiser} appraised part {reading.part} twice in trial {reading.trial}; keep one"
            )
        if truth[reading.part] != reading.defective:
            raise ValueError(f"part {reading.part} is once good and once defective; give one truth")
        calls[key] = reading.not_accepted
    tables = {}
    for name in dict.fromkeys(reading.appraiser for reading in readings):
        missing = next((key for key in itertools.product([name], parts, trials) if key not in calls), None)
        if missing is not None:
            raise ValueError(f"{name} has not appraised part {missing[1]} in trial {missing[2]}; complete the study")
        tables[name] = np.array([[calls[name, part, trial] for trial in trials] for part in parts], bool)
    return tables, np.array([truth[part] for part in parts], bool)
