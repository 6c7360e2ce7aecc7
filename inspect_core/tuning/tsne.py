"""Where t-SNE puts the points of a scatter."""

import contextlib
import hashlib

import numpy as np
from sklearn.manifold import TSNE

from inspect_core.features.store import FeatureStore
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.tuning.scatter_points import ScatterPoints

LEAST_POINTS = 5
PERPLEXITY = 30.0
EXAGGERATION = 12.0
CHUNK = 250
CHUNKS = 4


def tsne(features: np.ndarray, *, seed: int = 0, report: Report = ignore_progress) -> np.ndarray:
    """(n, d) -> (n, 2) float32 by t-SNE (van der Maaten and Hinton 2008; Barnes-Hut of scikit-learn), PCA start.

    Neighbours stay neighbours; sizes of groups and distances between them mean nothing. Equal to the bit for one seed,
    machine and number of threads. Perplexity 30, or a third of the other points when they are few. The 1,000 steps run
    in four parts, each starting where the last one ended, so that `report` can show their progress and stop them.
    Raises ValueError for fewer than 5 points.
    """
    if len(features) < LEAST_POINTS:
        raise ValueError(f"there are {len(features)} points to arrange; t-SNE needs at least {LEAST_POINTS}")
    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    if not np.ptp(features, axis=0).any():
        return np.zeros((len(features), 2), np.float32)
    layout: np.ndarray | str = "pca"
    for chunk in range(CHUNKS):
        report(chunk / CHUNKS, f"arranging {len(features)} points, step {chunk + 1} of {CHUNKS}")
        early = EXAGGERATION if chunk == 0 else 1.0
        arranging = TSNE(
            perplexity=perplexity, init=layout, early_exaggeration=early, max_iter=CHUNK, random_state=seed
        )
        layout = arranging.fit_transform(features)
    return layout


def arrange(
    points: ScatterPoints, store: FeatureStore, *, seed: int = 0, report: Report = ignore_progress
) -> np.ndarray:
    """`tsne` of the points' features, kept in the store under a digest of those very features and the seed."""
    rows = np.ascontiguousarray(points.features, np.float32)
    key = f"tsne-{seed}-{rows.shape}-{hashlib.sha256(rows.tobytes()).hexdigest()}"
    stored = store.get(key, (len(rows), 2))
    if stored is None:
        stored = tsne(rows, seed=seed, report=report)
        with contextlib.suppress(OSError):  # with a full disk it is arranged again next time
            store.put(key, stored)
    return stored
