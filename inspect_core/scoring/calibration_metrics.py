"""Whether a stated probability is right: calibration on known types, fall-back to the prior on unknown ones.

The measures of Dey et al., "Simple calibration via geodesic kernels" (2025).

Convention: proba is (n, K), a row of probabilities for each sample; y is (n,), the index of the true column. Equal
largest probabilities count as the first of them.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inspect_core.scoring.input_checks import nan_with_warning, require_shape

_EMPTY = "there is no sample to measure on"


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Accuracy against stated confidence in equal bins of the largest probability, each with its upper edge.

    count: (bins,) samples. confidence, accuracy: (bins,) means over the bin, NaN where it is empty.
    """

    count: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray


def accuracy(proba: ArrayLike, y: ArrayLike) -> float:
    """The share of samples with the largest probability in the true column. NaN with a warning for none."""
    proba, y = _as_arrays(proba, y)
    if not len(y):
        return nan_with_warning(_EMPTY)
    return float((proba.argmax(axis=1) == y).mean())


def reliability_curve(proba: ArrayLike, y: ArrayLike, *, bins: int = 20) -> ReliabilityCurve:
    """The reliability diagram's bins; with no samples every bin is empty.

    Raises ValueError for rows that are not probabilities, labels that are not column indices, and bins < 1.
    """
    if bins != int(bins) or bins < 1:
        raise ValueError(f"bins is {bins}; give a whole number of at least 1")
    proba, y = _as_arrays(proba, y)
    edges = np.arange(bins + 1) / bins
    largest = proba.max(axis=1)
    # A probability may exceed 1 by its rounding; it belongs to the last bin.
    index = np.clip(np.searchsorted(edges, largest, side="left") - 1, 0, bins - 1)
    count = np.bincount(index, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(index, weights=largest, minlength=bins) / count
        accuracy_per_bin = np.bincount(index, weights=proba.argmax(axis=1) == y, minlength=bins) / count
    return ReliabilityCurve(count=count, confidence=confidence, accuracy=accuracy_per_bin)


def expected_calibration_error(proba: ArrayLike, y: ArrayLike, *, bins: int = 20) -> float:
    """ECE: the mean over samples of |accuracy - confidence| of their bin; 0 is calibrated.

    Guo et al., "On calibration of modern neural networks" (2017), eq. 3, with bins (lo, hi] of the largest
    probability. NaN with a warning when there is no sample; errors as in `reliability_curve`.
    """
    curve = reliability_curve(proba, y, bins=bins)
    total = curve.count.sum()
    if total == 0:
        return nan_with_warning(_EMPTY)
    gaps = np.abs(curve.accuracy - curve.confidence)
    return float(np.nansum(curve.count * gaps) / total)


def ood_calibration_error(proba: ArrayLike, prior: ArrayLike) -> float:
    """OCE: mean |max_k proba - max_k prior| over out-of-distribution samples; 0 when all fall back to the prior.

    proba: (n, K). prior: (K,), the true class shares. NaN with a warning when there is no sample.
    """
    proba = _probabilities(proba, name="proba")
    prior = np.asarray(prior, dtype=np.float64)
    require_shape(prior, proba.shape[1:], name="prior")
    prior = _probabilities(prior[None], name="prior")[0]
    if not len(proba):
        return nan_with_warning(_EMPTY)
    return float(np.abs(proba.max(axis=1) - prior.max()).mean())


def mean_max_confidence(proba: ArrayLike) -> float:
    """MMC: mean over samples of the largest probability, 1 / K to 1. NaN with a warning when there is no sample."""
    proba = _probabilities(proba, name="proba")
    if not len(proba):
        return nan_with_warning(_EMPTY)
    return float(proba.max(axis=1).mean())


def hellinger(p: ArrayLike, q: ArrayLike) -> float:
    """Mean over samples of the Hellinger distance ||sqrt p - sqrt q|| / sqrt 2: 0 equal, 1 disjoint.

    p, q: both (n, K), or both (K,) for one sample. NaN with a warning when there is no sample.
    """
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    require_shape(q, p.shape, name="q")
    p, q = (_probabilities(np.atleast_2d(rows), name=name) for name, rows in (("p", p), ("q", q)))
    if not len(p):
        return nan_with_warning(_EMPTY)
    return float((np.linalg.norm(np.sqrt(p) - np.sqrt(q), axis=1) / math.sqrt(2)).mean())


def _probabilities(values: ArrayLike, *, name: str) -> np.ndarray:
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(f"{name} has shape {rows.shape}; give (n, K), a probability for each class")
    # Float32 sums of some hundred classes differ from 1 by less than this; a forgotten softmax by more.
    wrong = ~((rows >= 0).all(axis=1) & (np.abs(rows.sum(axis=1) - 1) <= 1e-4))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"{name} is not a probability in row {row}: {rows[row]}; rows are at least 0 and sum to 1")
    return rows


def _as_arrays(proba: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays. Raises ValueError unless proba has probabilities and y a column of them per row."""
    proba, y = _probabilities(proba, name="proba"), np.asarray(y)
    require_shape(y, proba.shape[:1], name="y")
    if y.size and (y.dtype.kind not in "iub" or y.min() < 0 or y.max() >= proba.shape[1]):
        raise ValueError(f"y holds {np.unique(y)[:5]}; give the index of the true column, 0 to {proba.shape[1] - 1}")
    return proba, y
