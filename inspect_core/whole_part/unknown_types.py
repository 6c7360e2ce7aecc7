"""How far a classifier of defect types can be trusted: on a type it never saw, and away from its examples."""

from collections.abc import Hashable, Sequence

import numpy as np

from inspect_core.classify.kernel_density import KernelDensityClassifier
from inspect_core.runtime.progress import Report, tell
from inspect_core.whole_part.type_training import FOREST, fit


def leave_types_out(
    embeddings: np.ndarray,
    labels: Sequence[str],
    *,
    groups: Sequence[Hashable] | None = None,
    judged: Sequence[bool] | None = None,
    parent: str = FOREST,
    seed: int = 0,
    report: Report | None = None,
) -> np.ndarray:
    """Its confidence on types it never saw: each type in turn is left out and judged by a model of the others.

    The arguments are those of `training.fit`. Returns the largest posterior of every judged example, in order, (n,);
    empty with fewer than three types, since one type alone teaches nothing. Raises ValueError as `fit` does.
    """
    points, names = np.asarray(embeddings), np.asarray(labels, dtype=object)
    owners = np.arange(len(names)) if groups is None else np.asarray(groups, dtype=object)
    counted = np.ones(len(names), bool) if judged is None else np.asarray(judged, dtype=bool)
    defect_types = sorted(set(labels))
    if len(defect_types) < 3:
        return np.empty(0)
    sure = np.empty(len(names))
    for done, kind in enumerate(defect_types):
        tell(report, None, done / len(defect_types), f"asking about {kind} as if it had never been seen")
        rest = names != kind
        learned = fit(
            points[rest], names[rest].tolist(), groups=owners[rest].tolist(), judged=counted[rest],
            parent=parent, seed=seed,
        )  # fmt: skip
        sure[~rest] = learned.defect_types.classifier.predict_proba(points[~rest]).max(axis=1)
    return sure[counted]


def confidence_away(
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
