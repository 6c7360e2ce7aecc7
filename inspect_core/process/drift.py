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
from scipy.optimize import brentq
from scipy.signal import lfilter
from scipy.special import ndtri

EVERY = 5000
"""Parts between two false alarms of a signal."""
STEP, RAMP, SPREAD, REJECTS = "step", "ramp", "spread", "rejects"
WEIGHT, SQUARES_WEIGHT, SLACK = 0.1, 0.05, 0.25
"""Of the latest part in the moving averages; in standard deviations, what the cumulated sums forgive each part."""
WORSE = 2.0
"""The cumulated sums of rejects look for this many times the share of rejects."""
CELLS, LONGEST = 400, 1e12
FEWEST = 20
"""Good parts of the release, at least: fewer say too little of where a part lies."""


@dataclass(frozen=True)
class Alarm:
    """A chart that left its limit at a part, by position; up: whether the values rose, None for the spread."""

    chart: str
    position: int
    up: bool | None


@dataclass(frozen=True, eq=False)
class Charts:
    """The charts of one signal over its parts; limits: by chart, the most that the value of the chart may be.

    values: by chart, (n,) float64, with the sign of the way it went for `step` and `ramp`; alarms: in order, each the
    part at which a chart leaves its limit. After an alarm the charts begin anew.
    """

    values: dict[str, np.ndarray]
    limits: dict[str, float]
    alarms: tuple[Alarm, ...]


def normal_scores(values: Sequence[float], reference: Sequence[float]) -> np.ndarray:
    """(n,) float64 normal scores of values by their places among (m,) reference values: 0 in the middle, finite beyond.

    Raises ValueError for fewer than FEWEST reference values.
    """
    known = np.sort(np.asarray(reference, np.float64))
    if len(known) < FEWEST:
        raise ValueError(f"{len(known)} good parts are too few to see drift by; release with at least {FEWEST}")
    below, upto = (np.searchsorted(known, values, side=side) for side in ("left", "right"))
    return ndtri(((below + upto) / 2 + 0.5) / (len(known) + 1))


def watch(values: Sequence[float], reference: Sequence[float], *, every: int = EVERY) -> Charts:
    """The charts for location and spread of one signal, part after part. Raises as `normal_scores`."""
    scores = normal_scores(values, reference)
    size, squares = len(reference), _variance(len(reference))
    limits = {chart: limit(chart, size, every=3 * every) for chart in (STEP, RAMP, SPREAD)}
    found = {chart: np.zeros(len(scores)) for chart in limits}
    alarms, first = [], 0
    while first < len(scores):
        run = scores[first:]
        parts = {STEP: _average(run, WEIGHT), RAMP: _two_sided(run), SPREAD: _average(run**2 - squares, SQUARES_WEIGHT)}
        over = {chart: np.abs(own) if chart != SPREAD else own for chart, own in parts.items()}
        left = {chart: np.flatnonzero(over[chart] > limits[chart]) for chart in limits}
        ends = {chart: int(at[0]) for chart, at in left.items() if len(at)}
        last = min(ends.values(), default=len(run) - 1)
        for chart, own in parts.items():
            found[chart][first : first + last + 1] = own[: last + 1]
        for chart, end in ends.items():
            if end == last:
                alarms.append(Alarm(chart, first + end, None if chart == SPREAD else bool(parts[chart][end] > 0)))
        first += last + 1
    return Charts(found, limits, tuple(alarms))


def watch_rejects(rejected: Sequence[bool], share: float, *, every: int = EVERY) -> Charts:
    """The chart for the share of rejects, of which `share` is expected. Raises ValueError unless 0 < share <= .4."""
    most = limit(REJECTS, 0, every=every, share=share)
    up, down = _evidence(share)
    steps = np.where(np.asarray(rejected, bool), up, down)
    found, alarms, first = np.zeros(len(steps)), [], 0
    while first < len(steps):
        run = _sum(steps[first:])
        left = np.flatnonzero(run > most)
        last = int(left[0]) if len(left) else len(run) - 1
        found[first : first + last + 1] = run[: last + 1]
        if len(left):
            alarms.append(Alarm(REJECTS, first + last, True))
        first += last + 1
    return Charts({REJECTS: found}, {REJECTS: most}, tuple(alarms))


@lru_cache(maxsize=64)
def limit(chart: str, size: int, *, every: int = EVERY, share: float = 0.0) -> float:
    """The limit of a chart that unchanged parts leave once in `every` parts on average.

    size: good parts of the release, among which a part's place is one of size + 1; share: of rejects, for their chart.
    """

    def beyond(most: float) -> float:
        return math.log(run_length(chart, size, most, share=share) / every)

    high = 0.5
    while beyond(high) < 0:
        high *= 2
    return float(brentq(beyond, high / 2, high, xtol=1e-5))


def run_length(chart: str, size: int, most: float, *, share: float = 0.0) -> float:
    """Parts until a chart leaves this limit, on average, when nothing has changed: by a Markov chain over CELLS values
    of the chart (Brook and Evans 1972), a value between two of them being shared out by its distance from either.
    """
    steps, odds, low = _unchanged(chart, size, share)
    low = -most if chart == STEP else low
    cells, width = np.linspace(low, most, CELLS, retstep=True)
    place = (_next(chart, cells[:, None], steps) - low) / width
    inside = (place >= 0) & (place <= CELLS - 1)
    first = np.clip(place.astype(int), 0, CELLS - 2)
    over, row = np.clip(place - first, 0, 1), np.arange(CELLS)[:, None] * CELLS
    stays = np.zeros(CELLS * CELLS)
    for cell, part in ((first, 1 - over), (first + 1, over)):
        stays += np.bincount((row + cell).ravel(), (inside * part * odds).ravel(), minlength=len(stays))
    lengths = np.linalg.solve(np.eye(CELLS) - stays.reshape(CELLS, CELLS), np.ones(CELLS))
    length = float(np.interp(0, cells, lengths))
    if not 0 < length < LONGEST:  # beyond what a float can tell from never
        return LONGEST
    return length / 2 if chart == RAMP else length  # upwards or downwards, whichever is first


def simulated_run_length(chart: str, size: int, most: float, *, share: float = 0.0, runs: int, seed: int) -> float:
    """The same from simulated runs, each until its chart leaves the limit, side by side."""
    steps, odds, _ = _unchanged(chart, size, share)
    rng, total, number = np.random.default_rng(seed), 0, runs
    up = down = np.zeros(runs)
    while number:
        drawn = rng.choice(steps, number, p=odds)
        up = _next(chart, up, drawn)
        down = _next(chart, down, -drawn) if chart == RAMP else down
        total += number
        stay = (np.abs(up) if chart == STEP else np.maximum(up, down)) <= most
        up, down = up[stay], down[stay]
        number = len(up)
    return total / runs


def _unchanged(chart: str, size: int, share: float) -> tuple[np.ndarray, np.ndarray, float]:
    """(values of a part as good as those of the release, their probabilities, the lowest value of the chart)."""
    if chart == REJECTS:
        return np.array(_evidence(share)), np.array([share, 1 - share]), 0.0
    places = ndtri((np.arange(size + 1) + 0.5) / (size + 1))
    odds = np.full(size + 1, 1 / (size + 1))
    return (places**2 - _variance(size), odds, -_variance(size)) if chart == SPREAD else (places, odds, 0.0)


def _next(chart: str, now: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The value of a chart after one more part."""
    if chart in (STEP, SPREAD):
        weight = WEIGHT if chart == STEP else SQUARES_WEIGHT
        return (1 - weight) * now + weight * step
    return np.maximum(now + step - (SLACK if chart == RAMP else 0.0), 0)


def _variance(size: int) -> float:
    return float((ndtri((np.arange(size + 1) + 0.5) / (size + 1)) ** 2).mean())


def _average(values: np.ndarray, weight: float) -> np.ndarray:
    """Exponentially weighted moving average from 0."""
    return lfilter([weight], [1, weight - 1], values)


def _sum(values: np.ndarray) -> np.ndarray:
    """Sums that never fall below 0: S(t) = max(S(t - 1) + x(t), 0)."""
    total = np.cumsum(values)
    return total - np.minimum(np.minimum.accumulate(total), 0)


def _two_sided(scores: np.ndarray) -> np.ndarray:
    """The larger of the cumulated sums upwards and downwards, negative where it is the latter."""
    up, down = _sum(scores - SLACK), _sum(-scores - SLACK)
    return np.where(up >= down, up, -down)


def _evidence(share: float) -> tuple[float, float]:
    """What a reject and a part not rejected say for WORSE times the share against the share itself."""
    if not 0 < share <= 0.4:
        raise ValueError(f"the share of rejects is {share}; give one above 0 and at most .4")
    return math.log(WORSE), math.log((1 - WORSE * share) / (1 - share))
