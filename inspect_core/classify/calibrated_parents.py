"""Isotonic and sigmoid calibration of a parent model, for comparison with KDF and KDN.

Both reshape the parent's posterior by a monotone curve for each class against the rest, and divide by the sum. They
calibrate where there are examples; far away they stay as confident as the parent.

Sources: Zadrozny and Elkan, "Transforming classifier scores into accurate multiclass probability estimates", KDD 2002
(isotonic); Platt, "Probabilistic outputs for support vector machines", 1999 (sigmoid).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from inspect_core.classify.examples import as_known_classes, as_points
from inspect_core.classify.kernel_density import KernelDensityClassifier


@dataclass(frozen=True, eq=False)
class CalibratedParent:
    """The parent of a kernel density classifier with calibration curves; columns in the order of its classes."""

    classifier: KernelDensityClassifier
    curves: CalibratedClassifierCV

    @property
    def classes(self) -> np.ndarray:
        """(C,) sorted labels."""
        return self.classifier.classes

    def predict_proba(self, x: ArrayLike) -> np.ndarray:
        """Calibrated posterior: (n, d) -> (n, C) float64, rows summing to 1. Raises as the classifier does."""
        return self.curves.predict_proba(self.classifier.parent_proba(x))

    def predict(self, x: ArrayLike) -> np.ndarray:
        """The likeliest label, the first of equals: (n, d) -> (n,)."""
        return self.classes[self.predict_proba(x).argmax(axis=1)]


def calibrate_isotonic(classifier: KernelDensityClassifier, x: ArrayLike, y: Iterable) -> CalibratedParent:
    """The classifier's parent with non-decreasing step curves, fitted on examples that were held out of its fit.

    x: (n, d), y: n labels, of at least two classes. Raises ValueError when a class of the classifier has no example.
    """
    return _calibrate(classifier, x, y, method="isotonic")


def calibrate_sigmoid(classifier: KernelDensityClassifier, x: ArrayLike, y: Iterable) -> CalibratedParent:
    """The classifier's parent with logistic curves; everything else as in `calibrate_isotonic`."""
    return _calibrate(classifier, x, y, method="sigmoid")


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


def _calibrate(classifier: KernelDensityClassifier, x: ArrayLike, y: Iterable, *, method: str) -> CalibratedParent:
    points = as_points(x)
    numbers = as_known_classes(y, classifier.classes, count=len(points), name="y")
    absent = np.setdiff1d(np.arange(len(classifier.classes)), numbers)
    if absent.size:
        raise ValueError(
            f"y has no example of {classifier.classes.tolist()[absent[0]]!r}; hold out at least one of each kind"
        )
    if len(classifier.classes) == 1:
        raise ValueError("the classifier knows one kind only, which leaves nothing to calibrate; label a second kind")
    every = np.arange(len(points))
    # The parent is not fitted again, so every example can calibrate it: one fold that is its own test set.
    curves = CalibratedClassifierCV(
        FrozenEstimator(_GivenPosterior(np.arange(len(classifier.classes)))),
        method=method,
        cv=[(every, every)],
        ensemble=False,
    )
    return CalibratedParent(classifier, curves.fit(classifier.parent_proba(points), numbers))
