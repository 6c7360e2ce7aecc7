"""How well scores separate good from defective, whatever the limit: ROC measures.

Convention: scores are anomaly scores, higher is more anomalous; labels are True for a defect.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from inspect_core.scoring.input_checks import as_labels, as_scores, nan_with_warning, require_fraction


def auroc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Area under the ROC curve: the probability that a defect scores above a good part, a tie counting one half.

    scores, labels: any equal shape, so that stacks of maps and masks give the pixel AUROC. Equals the rank statistic
    with mid-ranks (Hanley and McNeil, 1982), in O(n log n) with one sort of the scores.
    NaN with a warning when one class is missing. Raises ValueError for NaN scores and labels that are not 0 or 1.
    """
    good, defects = _by_class(scores, labels)
    if not (good.size and defects.size):
        return nan_with_warning(f"AUROC {_needs(good, defects)}")
    good.sort()
    # Sorted needles keep the binary search in the cache: seconds, not minutes, over all pixels of a test set.
    defects.sort()
    below = int(np.searchsorted(good, defects, side="left").sum())
    below_or_equal = int(np.searchsorted(good, defects, side="right").sum())
    return (below + below_or_equal) / (2 * good.size * defects.size)


def fpr_at_tpr(scores: ArrayLike, labels: ArrayLike, *, tpr: float = 0.95) -> float:
    """The share of good parts at or above the highest threshold that catches the share `tpr` of defects.

    scores, labels: any equal shape. A part is caught when its score is at least the threshold, which is the score of
    a defect. tpr: 0 < tpr <= 1. NaN with a warning when one class is missing; raises ValueError as `auroc` does.
    """
    require_fraction(tpr, name="tpr", cure="give the share of defects to catch, such as 0.95")
    good, defects = _by_class(scores, labels)
    if not (good.size and defects.size):
        return nan_with_warning(f"the false-positive rate {_needs(good, defects)}")
    caught = math.ceil(tpr * defects.size - 1e-9)
    threshold = np.partition(defects, defects.size - caught)[defects.size - caught]
    return float((good >= threshold).mean())


def roc_curve(scores: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """(false-positive rate, true-positive rate), each (t + 1,), from (0, 0) on at each of the t distinct scores.

    A part is caught when its score is at least the threshold. Raises ValueError as `auroc`, and for a missing class.
    """
    good, defects = _by_class(scores, labels)
    if not (good.size and defects.size):
        raise ValueError(f"a ROC curve needs both classes; there are {good.size} good and {defects.size} defective")
    thresholds = np.unique(np.concatenate([good, defects]))[::-1]
    below = (np.searchsorted(np.sort(side), thresholds, side="left") / side.size for side in (good, defects))
    fpr, tpr = (np.concatenate([[0.0], 1 - fraction]) for fraction in below)
    return fpr, tpr


def fpr95_of_foreign(good_scores: ArrayLike, foreign_scores: ArrayLike) -> float:
    """FPR95 of the out-of-distribution literature: share of foreign images accepted when 95 % of the good are.

    good_scores (n,), foreign_scores (m,). The papers order scores the other way and take the good score at index
    floor(0.05 n), ascending; here that is the good score at that index counted from the most anomalous, and a foreign
    score is accepted when it is at most that one. NaN with a warning when either set is empty.
    """
    good = as_scores(good_scores, name="good_scores").ravel()
    foreign = as_scores(foreign_scores, name="foreign_scores").ravel()
    if not (good.size and foreign.size):
        return nan_with_warning(f"FPR95 needs good and foreign photos; there are {good.size} and {foreign.size}")
    limit = np.sort(good)[good.size - 1 - good.size // 20]
    return float((foreign <= limit).mean())


def _by_class(scores: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Copies of the scores of good and of defective samples, each one-dimensional."""
    scores = as_scores(scores, name="scores")
    labels = as_labels(labels, name="labels", shape=scores.shape)
    return scores[~labels], scores[labels]


def _needs(good: np.ndarray, defects: np.ndarray) -> str:
    return f"needs good and defective samples; there are {good.size} good and {defects.size} defective"
