"""Isotonic and sigmoid calibration of a parent model, for comparison with KDF and KDN.

Both reshape the parent's posterior by a monotone curve for each class against the rest, and divide by the sum. They
calibrate where there are examples; far away they stay as confident as the parent.

Sources: Zadrozny and Elkan, "Transforming classifier scores into accurate multiclass probability estimates", KDD 2002
(isotonic); Platt, "Probabilistic outputs for support vector machines", 1999 (sigmoid).
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from inspect_core.classify.kernel_density import KernelDensityClassifier
from inspect_core.whole_part.cross_validation import CrossValidation

Method = Literal["isotonic", "sigmoid"]
Posteriors = dict[str, Callable[[np.ndarray], np.ndarray]]


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


def with_parents(model: KernelDensityClassifier, names: tuple[str, str], x: np.ndarray, y: np.ndarray) -> Posteriors:
    """The posteriors of a model, its parent, and the parent behind curves of (n, d) and (n,) held out of its fit.

    names: of the model and of its parent.
    """
    ways: Posteriors = {names[0]: model.predict_proba, names[1]: model.parent_proba}
    for method in ("isotonic", "sigmoid"):
        curves = calibrated(model.parent_proba(x), y, method=method)
        ways[f"{names[1]}, {method}"] = lambda z, c=curves: c.predict_proba(model.parent_proba(z))
    return ways


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
