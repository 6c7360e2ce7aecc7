"""How often a gallery names the right identity at a given rate of false matches.

The rates of Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (2022),
with the infimum for the threshold: the false-positive rate falls as it rises.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from inspect_core.scoring.input_checks import as_scores, nan_with_warning, require_shape


def identification_rate(
    similarity: ArrayLike, identity: ArrayLike, *, fpr: float, distractors: ArrayLike | None = None
) -> float:
    """The share of pairs of one identity found when at most the share `fpr` of other pairs is matched.

    similarity: (n, n), higher is more alike, -inf allowed for "never similar"; the diagonal is not used. identity: (n,)
    labels. fpr: 0 <= fpr <= 1. Pairs are all ordered (i, j), i != j; a pair is found when its similarity is at least
    the smallest threshold that so few pairs of different identities reach. distractors: (n, D), similarities of the n
    to D strangers; given, this is the full identification rate: i and j must also be more alike, strictly, than either
    is to any stranger.
    NaN with a warning when no two share an identity or no two differ. Raises ValueError for NaN, shapes that do not
    fit and fpr outside [0, 1].
    """
    if not 0 <= fpr <= 1:
        raise ValueError(f"fpr is {fpr}, outside [0, 1]; give the share of different pairs that may be matched")
    similarity = as_scores(similarity, name="similarity").astype(np.float64)
    identity = np.asarray(identity)
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1]:
        raise ValueError(f"similarity has shape {similarity.shape}; give (n, n)")
    require_shape(identity, similarity.shape[:1], name="identity")
    same = identity[:, None] == identity
    positive = same & ~np.eye(len(identity), dtype=bool)
    negative = ~same
    if not (positive.any() and negative.any()):
        subject = "identification needs pairs of one identity and pairs of different ones"
        return nan_with_warning(f"{subject}; there are {positive.sum()} and {negative.sum()}")
    matched = similarity >= _threshold(similarity[negative], fpr)
    if distractors is not None:
        strangers = as_scores(distractors, name="distractors")
        if strangers.ndim != 2 or len(strangers) != len(similarity):
            raise ValueError(f"distractors has shape {strangers.shape}; give ({len(similarity)}, D)")
        nearest = strangers.max(axis=1, initial=-np.inf)
        matched &= similarity > np.maximum(nearest[:, None], nearest)
    return float(matched[positive].mean())


def _threshold(negatives: np.ndarray, fpr: float) -> float:
    """The smallest float64 a that at most the share `fpr` of negatives, (m,), reaches; -inf when all may."""
    # 0.29 * 100 is 28.999999999999996 in binary: the user meant 29.
    allowed = int(fpr * negatives.size + 1e-9)
    if allowed >= negatives.size:
        return -math.inf
    position = negatives.size - 1 - allowed
    return float(np.nextafter(np.partition(negatives, position)[position], np.inf))
