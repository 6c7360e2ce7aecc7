"""Do numbers come in bursts, and up to what gap does a burst go on?

Gaps within bursts and gaps between bursts form two clusters on a logarithmic scale; numbers drawn at random, or counted
with some left out, form one. Two clusters are fitted as a mixture of two normal densities by expectation-maximisation
(Dempster, Laird and Rubin, J. R. Stat. Soc. B 39, 1977) and kept only if they explain the gaps better than independent
arrivals do, by the Bayesian information criterion (Schwarz, Ann. Stat. 6, 1978).
"""

from collections.abc import Sequence

import numpy as np

FEWEST_GAPS = 5
LEAST_CONTRAST = 10.0  # typical gap between bursts over typical gap within
_NARROWEST = 0.1  # standard deviation of a cluster of log gaps: equal gaps would make it 0
_ROUNDS = 200


def burst_gap(gaps: Sequence[int]) -> int | None:
    """Return the largest gap that still continues a burst, or None when there are no bursts.

    gaps: differences of successive sorted numbers, >= 0. The result is where the two clusters are equally likely,
    rounded to 1, 2 or 5 times a power of ten: the gaps do not determine it better, and a person can check it.
    """
    if len(gaps) < FEWEST_GAPS:
        return None
    log_gaps = np.log(np.maximum(gaps, 1))
    weight, mean, sd = _two_heaps(log_gaps)
    # Rate of independent arrivals: exponential gaps of the same mean, as a density over log gaps.
    scale = np.exp(log_gaps).mean()
    arrivals = (log_gaps - np.exp(log_gaps) / scale - np.log(scale)).sum()
    heaps = np.logaddexp.reduce(_log_densities(log_gaps, weight, mean, sd), axis=1).sum()
    more_parameters = 4
    if heaps - arrivals <= more_parameters / 2 * np.log(len(gaps)) or mean[1] - mean[0] < np.log(LEAST_CONTRAST):
        return None
    between = np.linspace(*mean, 2001)
    within_likelier = np.diff(_log_densities(between, weight, mean, sd), axis=1)[:, 0] < 0
    return _round(np.exp(between[within_likelier].max(initial=mean[0])))


def _two_heaps(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weight, mean and standard deviation `(2,)` of two normal densities fitted to `x`, the lower one first."""
    lower = x <= np.median(x)
    if lower.all():
        lower = x < x.max()
    mean = np.array([x[lower].mean() if lower.any() else x[0], x[~lower].mean() if (~lower).any() else x[0]])
    weight, sd = np.full(2, 0.5), np.full(2, max(x.std(), _NARROWEST))
    for _ in range(_ROUNDS):
        log_density = _log_densities(x, weight, mean, sd)
        fraction = np.exp(log_density - np.logaddexp.reduce(log_density, axis=1, keepdims=True))
        total = np.maximum(fraction.sum(axis=0), 1e-12)
        weight, mean = total / len(x), fraction.T @ x / total
        variance = (fraction * (x[:, None] - mean) ** 2).sum(axis=0) / total
        sd = np.maximum(np.sqrt(variance), _NARROWEST)
    order = np.argsort(mean)
    return weight[order], mean[order], sd[order]


def _log_densities(x: np.ndarray, weight: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Return the weighted log densities `(n, 2)` of both clusters."""
    return np.log(weight) - np.log(sd) - np.log(2 * np.pi) / 2 - ((x[:, None] - mean) / sd) ** 2 / 2


def _round(value: float) -> int:
    """Return the nearest of 1, 2, 5, 10, 20, 50, ... on a logarithmic scale."""
    steps = np.outer(10.0 ** np.arange(18), (1, 2, 5)).ravel()
    return int(steps[np.abs(np.log(steps / value)).argmin()])
