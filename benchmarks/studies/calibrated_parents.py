"""Isotonic and sigmoid calibration of a parent model, for comparison with KDF and KDN.

Both reshape the parent's posterior by a monotone curve for each class against the rest, and divide by the sum. They
calibrate where there are examples; far away they stay as confident as the parent.

Sources: Zadrozny and Elkan, "Transforming classifier scores into accurate multiclass probability estimates", KDD 2002
(isotonic); Platt, "Probabilistic outputs for support vector machines", 1999 (sigmoid).
"""

from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from inspect_core.whole_part.cross_validation import CrossValidation

Method = Literal["isotonic", "sigmoid"]


def calibrated(posterior: np.ndarray, numbers: np.ndarray, *, method: Method) -> CalibratedClassifierCV:
    """Curves, non-decreasing steps or logistic, whose `predict_proba` maps posteriors (m, C) to calibrated (m, C).

    posterior: (n, C) of the parent on examples held out of its fit; numbers: (n,) their classes, 0 to C - 1.
    Raises ValueError when a class has no example.
    """
    classes = np.arange(posterior.shape[1])
    absent = np.setdiff1d(classes, numbers)
    if absent.size:
        raise ValueError(f"class {absent[0]} has no example; hold out at least one of each kind")
    every = np.arange(len(posterior))
    # The parent is not fitted again, so every example can calibrate it: one fold that is its own test set.
    curves = CalibratedClassifierCV(
        FrozenEstimator(_GivenPosterior(classes)), method=method, cv=[(every, every)], ensemble=False
    )
    return curves.fit(posterior, numbers)


def of_unseen(unseen: CrossValidation, method: Method) -> np.ndarray:
    """(n, C) posteriors of the parent of judged examples, each behind the curves of the other folds."""
    probabilities = np.empty_like(unseen.parent)
    for in_fold in unseen.fold == np.unique(unseen.fold)[:, None]:
        curves = calibrated(unseen.parent[~in_fold], unseen.y[~in_fold], method=method)
        probabilities[in_fold] = curves.predict_proba(unseen.parent[in_fold])
    return probabilities


class _GivenPosterior(ClassifierMixin, BaseEstimator):
    """The interface of a fitted model for scikit-learn, when its known posterior is passed as the features."""

    def __init__(self, classes_: np.ndarray):
        self.classes_ = classes_

    def fit(self, posterior: np.ndarray, numbers: np.ndarray) -> "_GivenPosterior":
        return self

    def predict_proba(self, posterior: np.ndarray) -> np.ndarray:
        return posterior

    def predict(self, posterior: np.ndarray) -> np.ndarray:
        return posterior.argmax(axis=1)
