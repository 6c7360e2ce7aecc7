"""Drift: has the process or the camera left the state in which the recipe was released?

A part's value becomes its place among the good parts of the release, and that a normal score. Four charts watch it: a
moving average for steps (Roberts 1959), cumulated sums for slow ramps (Page 1954), a moving average of squares for the
spread (MacGregor and Harris 1993), cumulated sums for the share of rejects (Reynolds and Stoumbos 1999). Their limits
come from their run lengths: with nothing changed, all charts of a signal together raise one alarm in as many parts as
wanted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtri

EVERY = 5000
"""Parts between two false alarms of a signal."""
STEP, RAMP, SPREAD, REJECTS = "step", "ramp", "spread", "rejects"
WEIGHT = 0.1
"""Of the latest part in the moving averages."""
SQUARES_WEIGHT = 0.05
"""Of its square."""
SLACK = 0.25
"""Standard deviations that the cumulated sums forgive each part."""
WORSE = 2.0
"""The cumulated sums of rejects look for this many times the share of rejects."""
CELLS = 400
LONGEST = 1e12
FEWEST = 20
"""Good parts of the release, at least: fewer say too little of where a part lies."""


@dataclass(frozen=True)
class Alarm:
    """A chart that left its limit at a part, by position; is_rising: whether the values rose, None for the spread."""

    chart: str
    position: int
    is_rising: bool | None


def normal_scores(values: ArrayLike, reference: ArrayLike) -> np.ndarray:
    """(n,) float64 normal scores of values by place among (m,) reference ones: 0 in the middle, finite beyond.

    Raises ValueError for fewer than FEWEST reference values.
    """
    known = np.sort(np.asarray(reference, np.float64))
    if len(known) < FEWEST:
        raise ValueError(f"{len(known)} good parts are too few to detect drift; release with at least {FEWEST}")
    below, upto = (np.searchsorted(known, values, side=side) for side in ("left", "right"))
    return ndtri(((below + upto) / 2 + 0.5) / (len(known) + 1))


class Monitor:
    """The charts for location and spread of one signal, part after part. limits: by chart; values: of the last part."""

    def __init__(self, reference: Sequence[float]):
        """reference: values of the good parts of the release. Raises ValueError as `normal_scores`."""
        normal_scores([], reference)
        self._known = np.sort(np.asarray(reference, np.float64))
        size = len(reference)
        self._squares = _variance(size)
        self.limits = {chart: limit(chart, size, every=3 * EVERY) for chart in (STEP, RAMP, SPREAD)}
        self._position = -1
        self._restart()

    def _restart(self) -> None:
        self._step = self._up = self._down = self._spread = 0.0

    def add(self, value: float) -> tuple[Alarm, ...]:
        """The charts that leave their limits with this part; they then begin anew."""
        score = float(normal_scores([value], self._known)[0])
        self._position += 1
        self._step = float(_next(STEP, self._step, score))
        self._up, self._down = float(_next(RAMP, self._up, score)), float(_next(RAMP, self._down, -score))
        self._spread = float(_next(SPREAD, self._spread, score**2 - self._squares))
        ramp = self._up if self._up >= self._down else -self._down
        self.values = {STEP: self._step, RAMP: ramp, SPREAD: self._spread}
        size = {chart: level if chart == SPREAD else abs(level) for chart, level in self.values.items()}
        alarms = [chart for chart, level in size.items() if level > self.limits[chart]]
        if alarms:
            self._restart()
        ups = {chart: None if chart == SPREAD else self.values[chart] > 0 for chart in alarms}
        return tuple(Alarm(chart, self._position, up) for chart, up in ups.items())


class RejectMonitor:
    """The chart for the share of rejects, part after part; as `Monitor`."""

    def __init__(self, share: float):
        """share: of rejects that is expected. Raises ValueError unless 0 < share <= .4."""
        self.limits = {REJECTS: limit(REJECTS, 0, every=EVERY, share=share)}
        self._steps = _evidence(share)
        self._now = 0.0
        self._position = -1

    def add(self, rejected: float) -> tuple[Alarm, ...]:
        """The alarm of this part, 1 for a reject and 0 for another, if it is one."""
        self._position += 1
        self._now = float(_next(REJECTS, self._now, self._steps[0 if rejected else 1]))
        self.values = {REJECTS: self._now}
        if self._now <= self.limits[REJECTS]:
            return ()
        self._now = 0.0
        return (Alarm(REJECTS, self._position, True),)


@lru_cache(maxsize=64)
def limit(chart: str, size: int, *, every: int, share: float = 0.0) -> float:
    """The limit of a chart that unchanged parts leave once in `every` parts on average.

    size: good parts of the release, among which a part's place is one of size + 1. So few do not say exactly where good
    parts lie: the limit holds where they are off by a standard error. share: of rejects, for their chart.
    """

    def beyond(most: float) -> float:
        return math.log(run_length(chart, size, most, share=share, off=1.0) / every)

    high = 0.5
    while beyond(high) < 0:
        high *= 2
    return float(brentq(beyond, high / 2, high, xtol=1e-5))


def run_length(chart: str, size: int, most: float, *, share: float = 0.0, off: float = 0.0) -> float:
    """Parts until a chart leaves this limit, on average, when nothing has changed: by a Markov chain over CELLS
    values of the chart (Brook and Evans 1972), a value between two of them being shared out by its distance from
    either.

    off: by how many standard errors the good parts of the release lie beside what they stand for.
    """
    steps, odds, low = _unchanged(chart, size, share, off)
    if chart != RAMP:
        return _lasts(chart, steps, odds, -most if chart == STEP else low, most)
    up, down = (_lasts(chart, sign * steps, odds, low, most) for sign in (1, -1))
    return 1 / (1 / up + 1 / down)


def _lasts(chart: str, steps: np.ndarray, odds: np.ndarray, low: float, most: float) -> float:
    cells, width = np.linspace(low, most, CELLS, retstep=True)
    place = (_next(chart, cells[:, None], steps) - low) / width
    in_range = (place >= 0) & (place <= CELLS - 1)
    first = np.clip(place.astype(int), 0, CELLS - 2)
    fraction = np.clip(place - first, 0, 1)
    row = np.arange(CELLS)[:, None] * CELLS
    stays = np.zeros(CELLS * CELLS)
    for cell, part in ((first, 1 - fraction), (first + 1, fraction)):
        stays += np.bincount((row + cell).ravel(), (in_range * part * odds).ravel(), minlength=len(stays))
    lengths = np.linalg.solve(np.eye(CELLS) - stays.reshape(CELLS, CELLS), np.ones(CELLS))
    length = float(np.interp(0, cells, lengths))
    return length if 0 < length < LONGEST else LONGEST  # beyond what a float can tell from never


def _unchanged(chart: str, size: int, share: float, off: float) -> tuple[np.ndarray, np.ndarray, float]:
    """(values of a part as good as those of the release, their probabilities, the lowest value of the chart)."""
    if chart == REJECTS:
        return np.array(_evidence(share)), np.array([share, 1 - share]), 0.0
    places = ndtri((np.arange(size + 1) + 0.5) / (size + 1))
    odds = np.full(size + 1, 1 / (size + 1))
    if chart == SPREAD:
        return (places * (1 + off / math.sqrt(2 * size))) ** 2 - _variance(size), odds, -_variance(size)
    return places + off / math.sqrt(size), odds, 0.0


def _next(chart: str, now: ArrayLike, step: ArrayLike) -> np.ndarray:
    """The value of a chart after one more part."""
    if chart in (STEP, SPREAD):
        weight = WEIGHT if chart == STEP else SQUARES_WEIGHT
        return (1 - weight) * np.asarray(now) + weight * np.asarray(step)
    return np.maximum(np.asarray(now) + np.asarray(step) - (SLACK if chart == RAMP else 0.0), 0)


def _variance(size: int) -> float:
    return float((ndtri((np.arange(size + 1) + 0.5) / (size + 1)) ** 2).mean())


def _evidence(share: float) -> tuple[float, float]:
    """What a reject and a part not rejected say for WORSE times the share against the share itself."""
    if not 0 < share <= 0.4:
        raise ValueError(f"the share of rejects is {share}; give one above 0 and at most .4")
    return math.log(WORSE), math.log((1 - WORSE * share) / (1 - share))
