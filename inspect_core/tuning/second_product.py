"""Whether photos that are to show one product fall into two groups: a second product among them would be learned."""

import numpy as np

APART = 0.65
"""Least silhouette of two groups that show two products. Of fifteen sets of one product the highest is .59; of 72 pairs
of sets, 30 and 20 photos, 62 reach it, and all but those with cuts of four circuit boards.
"""
FEWEST_ALIKE = 3
"""Photos of a group; fewer are outliers."""


def second_product(embeddings: np.ndarray) -> np.ndarray:
    """(n,) bool: the smaller of the two groups that photos fall into; none of them where they are one group.

    embeddings: (n, d) of whole photos. Two-means of their directions; there are two groups where the mean silhouette
    (Rousseeuw 1987) is APART or more, and each has FEWEST_ALIKE photos.
    """
    from sklearn.cluster import KMeans  # scikit-learn takes a second to load
    from sklearn.metrics import silhouette_score

    directions = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    none = np.zeros(len(embeddings), bool)
    if len(np.unique(directions, axis=0)) < 2 * FEWEST_ALIKE:
        return none
    group = KMeans(2, n_init=10, random_state=0).fit_predict(directions)
    sizes = np.bincount(group)
    if sizes.min() < FEWEST_ALIKE or silhouette_score(directions, group, metric="cosine") < APART:
        return none
    return group == sizes.argmin()


def two_products_sentence(count: int, second: int) -> str:
    """What to say of `count` photos of which so many look like a second product."""
    sizes = f"{count - second} and {second}"
    return f"These look like two products, or one photographed in two ways: {sizes} of {count} good photos."
