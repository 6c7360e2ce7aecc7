"""Learning defect types from few examples: every example is judged once by a model that had not seen it or its group.

These judgements choose the kernel's power and the constant of the density, set the initial limit, and are the figures
shown. The published method holds out one random part (30 % in the paper) and takes the power of the least calibration
error on it: with a few tens of examples that is a handful, with photos of one part on both sides of the split. On
embeddings of 1,280 features, where every example has a polytope of its own, the power then comes out too high and the
classifier too sure.
"""

import warnings
from collections.abc import Callable, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

from inspect_core.classify.examples import as_classes, as_points
from inspect_core.classify.kernel_density import KernelDensityClassifier, fit_kdf, fit_kdn
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.whole_part.cross_validation import FOLDS, LAM, POWERS, CrossValidation, cross_validate
from inspect_core.whole_part.defect_types import DefectTypes, least_limit

FOREST, NETWORK = "forest", "network"
FITS: dict[str, Callable[..., KernelDensityClassifier]] = {
    FOREST: fit_kdf,
    # The hidden units alone hardly distinguish types on embeddings this wide.
    NETWORK: partial(fit_kdn, include_output=True),
}
KEPT_NAMES = 0.9
"""Fraction of the correctly named examples that are still named at the suggested limit."""


@dataclass(frozen=True, eq=False)
class TypeTraining:
    """Defect types learned from all examples, and how the examples were judged by models that had not seen them."""

    defect_types: DefectTypes
    unseen: CrossValidation


def fit(
    embeddings: np.ndarray,
    labels: Sequence[str],
    *,
    groups: Sequence[Hashable] | None = None,
    is_tested: Sequence[bool] | None = None,
    parent: str = FOREST,
    by_region: bool = False,
    seed: int = 0,
    report: Report = ignore_progress,
) -> TypeTraining:
    """Learn defect types from (n, d) embeddings, their labels and the groups (parts, lots) that must stay together.

    groups: None takes every example as a group of its own. is_tested: which examples are as inspection sees them; only
    these are used to choose and are counted, the others only help to learn; None: all.
    Raises ValueError for an unknown parent, fewer than two types, a type without examples of two groups, embeddings
    that are all alike or not finite, a type of which no example is judged, and lists of unequal length.
    """
    if parent not in FITS:
        raise ValueError(f"parent is {parent!r}; choose one of {', '.join(FITS)}")
    points, numbers, classes, group = _checked(embeddings, labels, groups)
    with _few_examples_are_known():
        unseen = cross_validate(points, numbers, classes, group, FITS[parent], seed=seed, report=report)
        unseen = unseen.only(_as_rows(is_tested, numbers, classes))
        report(FOLDS / (FOLDS + 1), "training on all examples")
        number, constant = unseen.choose(np.ones(len(unseen.y), bool))
        log_b = constant + np.log(np.log(len(points))) if np.isfinite(constant) else -np.inf
        chosen = {"power": POWERS[number], "lam": LAM, "log_b": log_b, "seed": seed}
        classifier = FITS[parent](points, classes[numbers].tolist(), **chosen)
    report(1.0, "done")
    limit = suggested_limit(unseen.kernel(), unseen.y, classifier.prior)
    return TypeTraining(DefectTypes(classifier, by_region, limit), unseen)


def leave_types_out(
    embeddings: np.ndarray,
    labels: Sequence[str],
    *,
    groups: Sequence[Hashable] | None = None,
    is_tested: Sequence[bool] | None = None,
    parent: str = FOREST,
    seed: int = 0,
    report: Report = ignore_progress,
) -> np.ndarray:
    """Its confidence on types it never saw: each type in turn is left out and judged by a model of the others.

    The arguments are those of `fit`. Returns the largest posterior of every judged example, in order, (n,);
    empty with fewer than three types, since one type alone teaches nothing. Raises ValueError as `fit` does.
    """
    points, names = np.asarray(embeddings), np.asarray(labels, dtype=object)
    owners = np.arange(len(names)) if groups is None else np.asarray(groups, dtype=object)
    counted = np.ones(len(names), bool) if is_tested is None else np.asarray(is_tested, dtype=bool)
    defect_types = sorted(set(labels))
    if len(defect_types) < 3:
        return np.empty(0)
    sure = np.empty(len(names))
    for done, name in enumerate(defect_types):
        report(done / len(defect_types), f"testing with {name} left out")
        rest = names != name
        arguments = {"groups": owners[rest].tolist(), "is_tested": counted[rest]}
        learned = fit(points[rest], names[rest].tolist(), **arguments, parent=parent, seed=seed)
        sure[~rest] = learned.defect_types.classifier.predict_proba(points[~rest]).max(axis=1)
    return sure[counted]


def confidence_by_distance(
    classifier: KernelDensityClassifier, embeddings: np.ndarray, factors: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Mean largest posterior of KDF or KDN, and of its parent, with the examples moved outward from their mean.

    embeddings: (n, d); factors: multiples of each example's own distance from the mean, 1 leaves it where it is.
    Returns two (len(factors),) arrays.
    """
    middle = embeddings.mean(axis=0)
    moved = [middle + factor * (embeddings - middle) for factor in factors]
    kernel = [classifier.predict_proba(points).max(axis=1).mean() for points in moved]
    parent = [classifier.parent_proba(points).max(axis=1).mean() for points in moved]
    return np.array(kernel), np.array(parent)


def suggested_limit(posterior: np.ndarray, y: np.ndarray, prior: np.ndarray) -> float:
    """The probability that `KEPT_NAMES` of the correctly named examples reach, but no less than `least_limit`.

    posterior: (n, C) by models that had not seen the example; y: (n,) true columns; prior: (C,).
    """
    right = posterior.argmax(axis=1) == y
    reached = float(np.quantile(posterior[right].max(axis=1), 1 - KEPT_NAMES)) if right.any() else 0.0
    return float(np.clip(reached, least_limit(prior), 1.0))


def _checked(embeddings: np.ndarray, labels: Sequence[str], groups: Sequence[Hashable] | None) -> tuple:
    points = as_points(embeddings, name="embeddings")
    with _few_examples_are_known():
        classes, numbers = as_classes(labels, count=len(points))
    owners = list(range(len(points))) if groups is None else list(groups)
    if len(owners) != len(points):
        raise ValueError(f"groups has {len(owners)} entries for {len(points)} examples; give one for each, or None")
    if len(classes) < 2:
        raise ValueError(f"labels hold the one defect type {str(classes[0])!r}; label examples of a second one")
    order = {owner: number for number, owner in enumerate(dict.fromkeys(owners))}
    group = np.array([order[owner] for owner in owners])
    rare_types = [str(name) for i, name in enumerate(classes) if len(np.unique(group[numbers == i])) < 2]
    if rare_types:
        raise ValueError(
            f"{', '.join(map(repr, rare_types))} is labelled on one part only, so it cannot be tested; label another "
            "part with it, or leave it out"
        )
    if (points == points[0]).all():
        raise ValueError("embeddings are all alike, so no defect type can be told from another; label different photos")
    return points, numbers, classes, group


def _as_rows(is_tested: Sequence[bool] | None, numbers: np.ndarray, classes: np.ndarray) -> np.ndarray:
    rows = np.ones(len(numbers), bool) if is_tested is None else np.asarray(is_tested, dtype=bool)
    if rows.shape != numbers.shape:
        raise ValueError(f"judged has {len(rows)} entries for {len(numbers)} examples; give one for each, or None")
    absent = np.setdiff1d(np.arange(len(classes)), numbers[rows])
    if absent.size:
        raise ValueError(f"judged leaves out every example of {str(classes[absent[0]])!r}; have at least one judged")
    return rows


@contextmanager
def _few_examples_are_known():
    """Silences the classifiers' warning of few examples at every fit: the page shows it once. One type is an error."""
    with warnings.catch_warnings():
        for message in ("classes with fewer than", "all .* examples belong to one class"):
            warnings.filterwarnings("ignore", message=message, category=UserWarning)
        yield
