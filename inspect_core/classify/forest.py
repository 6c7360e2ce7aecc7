"""A random forest as plain arrays: grown by scikit-learn, evaluated here, stored without pickle."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from inspect_core.classify.polytopes import forest_kernel
from inspect_core.runtime.stored import Stored, floats, fractions, integers

_VISITS_AT_ONCE = 2_000_000
FEW = 64
"""Samples below which a forest is grown by one thread."""


@dataclass(frozen=True, eq=False)
class Forest(Stored):
    """Trees stored one after the other; `left` and `right` are indices into the same arrays, -1 at a leaf.

    feature, left, right: (nodes,) int32. threshold: (nodes,) float64. roots: (B,) int32, the first node of each tree.
    share: (nodes, C) float64, the share of each class among the training samples of a node.
    """

    feature: Annotated[np.ndarray, integers("nodes", -2)]
    threshold: Annotated[np.ndarray, floats("nodes")]
    left: Annotated[np.ndarray, integers("nodes", -1)]
    right: Annotated[np.ndarray, integers("nodes", -1)]
    roots: Annotated[np.ndarray, integers("trees")]
    share: Annotated[np.ndarray, fractions("nodes classes")]

    def codes(self, x: np.ndarray) -> np.ndarray:
        """The leaf each sample reaches in each tree: (n, d) -> (n, B) int32, counted from the tree's root.

        A sample goes left when its feature, rounded to float32, is at most the float64 threshold: scikit-learn's own
        rule, so the leaves are the ones scikit-learn's `apply` gives.
        """
        trees = len(self.roots)
        rows = max(1, _VISITS_AT_ONCE // trees)
        leaves = np.empty((len(x), trees), dtype=np.int32)
        for start in range(0, len(x), rows):
            leaves[start : start + rows] = self._leaves(x[start : start + rows])
        return leaves

    def proba(self, x: np.ndarray) -> np.ndarray:
        """The forest's own posterior, the mean over trees of the leaf's class shares: (n, d) -> (n, C)."""
        total = np.zeros((len(x), self.share.shape[1]))
        for leaf, root in zip(self.codes(x).T, self.roots, strict=True):
            total += self.share[root + leaf]
        return total / len(self.roots)

    def kernel(self, codes_a: np.ndarray, codes_b: np.ndarray) -> np.ndarray:
        """`forest_kernel` of (n_a, B) and (n_b, B) codes: (n_a, n_b)."""
        return forest_kernel(codes_a, codes_b)

    def require_width(self, width: int) -> None:
        """Raise ValueError unless it can be evaluated on (n, width) samples.

        A node with a feature that does not exist, or whose children are not two nodes after it, is refused: evaluating
        such a tree might never end.
        """
        nodes = len(self.feature)
        inner = (self.left >= 0) | (self.right >= 0)
        children = np.stack([self.left[inner], self.right[inner]])
        onward = (children > np.flatnonzero(inner)).all() and (children < nodes).all()
        tested = self.feature[inner]
        if not (onward and (tested >= 0).all() and (tested < width).all() and (self.roots < nodes).all()):
            raise ValueError("a tree leads outside itself or the features; the arrays are damaged, train again")

    def _leaves(self, x: np.ndarray) -> np.ndarray:
        trees = len(self.roots)
        with np.errstate(over="ignore"):
            x = x.astype(np.float32)
        node = np.tile(self.roots, len(x))
        walking = np.flatnonzero(self.left[node] >= 0)
        while walking.size:
            at = node[walking]
            goes_left = x[walking // trees, self.feature[at]] <= self.threshold[at]
            at = np.where(goes_left, self.left[at], self.right[at])
            node[walking] = at
            walking = walking[self.left[at] >= 0]
        return node.reshape(len(x), trees) - self.roots


def grow_forest(x: np.ndarray, y: np.ndarray, *, classes: int, trees: int, seed: int) -> Forest:
    """Grow `trees` fully grown trees on bootstrap samples (scikit-learn's defaults).

    x: (n, d). y: (n,) class numbers below `classes`; a class without a sample has share 0. seed: 0 to 2^32 - 1.
    """
    # Imported here only: a fitted forest is evaluated from its arrays and needs no scikit-learn.
    from sklearn.ensemble import RandomForestClassifier

    # The number of jobs changes the time only: every tree's seed is drawn before the first one grows. Trees of few
    # samples cost mostly Python, at which threads hinder each other.
    jobs = 1 if len(x) < FEW else -1
    model = RandomForestClassifier(n_estimators=trees, random_state=seed, n_jobs=jobs).fit(x.astype(np.float32), y)
    grown = [estimator.tree_ for estimator in model.estimators_]
    roots = np.cumsum([0, *(tree.node_count for tree in grown)])[:-1]

    def children(name: str) -> np.ndarray:
        node_arrays = [getattr(tree, name) for tree in grown]
        return np.concatenate([np.where(c >= 0, c + root, -1) for c, root in zip(node_arrays, roots, strict=True)])

    share = np.zeros((sum(tree.node_count for tree in grown), classes))
    share[:, model.classes_] = np.concatenate([tree.value[:, 0] for tree in grown])
    return Forest(
        feature=np.concatenate([tree.feature for tree in grown]).astype(np.int32),
        threshold=np.concatenate([tree.threshold for tree in grown]),
        left=children("children_left").astype(np.int32),
        right=children("children_right").astype(np.int32),
        roots=roots.astype(np.int32),
        share=share,
    )
