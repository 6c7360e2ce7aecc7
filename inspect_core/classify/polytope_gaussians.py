"""One diagonal Gaussian for each polytope that holds training samples, and how much of each class lies around it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inspect_core.classify.polytopes import number_polytopes

_ENTRIES_AT_ONCE = 4_000_000


class Parent(Protocol):
    """A model that cuts feature space into polytopes: a forest or a ReLU net, as arrays."""

    def codes(self, x: np.ndarray) -> np.ndarray: ...
    def proba(self, x: np.ndarray) -> np.ndarray: ...
    def kernel(self, codes_a: np.ndarray, codes_b: np.ndarray) -> np.ndarray: ...
    def arrays(self) -> dict[str, np.ndarray]: ...


@dataclass(frozen=True, eq=False)
class PolytopeGaussians:
    """mu, var: (R, d) float64. codes: (R, c), the parent's code of each polytope. In order of first appearance."""

    mu: np.ndarray
    var: np.ndarray
    codes: np.ndarray

    def log_density(self, parent: Parent, x: np.ndarray, *, euclidean: bool) -> tuple[np.ndarray, np.ndarray]:
        """The nearest polytope of each sample and the log density there: (n, d) -> (n,) intp, (n,) float64.

        Nearest is the largest kernel between the sample's code and the polytope's, the first of equals; with
        `euclidean`, or where every kernel is 0, it is the smallest distance to a mean. A density too small for
        float64 has the logarithm -inf.
        """
        nearest, log_normal = np.empty(len(x), dtype=np.intp), np.empty(len(x))
        rows = max(1, _ENTRIES_AT_ONCE // max(self.mu.shape))
        for start in range(0, len(x), rows):
            block = slice(start, start + rows)
            nearest[block] = self._nearest_mean(x[block]) if euclidean else self._nearest(parent, x[block])
            log_normal[block] = self._log_normal(x[block], nearest[block])
        return nearest, log_normal

    def _nearest(self, parent: Parent, x: np.ndarray) -> np.ndarray:
        kernel = parent.kernel(parent.codes(x), self.codes)
        nearest = kernel.argmax(axis=1)
        astray = np.take_along_axis(kernel, nearest[:, None], axis=1)[:, 0] == 0
        nearest[astray] = self._nearest_mean(x[astray])
        return nearest

    def _nearest_mean(self, x: np.ndarray) -> np.ndarray:
        # |x|^2 is the same for every polytope; leaving it out keeps far points from overflowing.
        return (np.square(self.mu).sum(axis=1) - 2 * (x @ self.mu.T)).argmin(axis=1)

    def _log_normal(self, x: np.ndarray, polytope: np.ndarray) -> np.ndarray:
        var = self.var[polytope]
        with np.errstate(over="ignore"):
            return -0.5 * (np.square(x - self.mu[polytope]) / var + np.log(2 * np.pi * var)).sum(axis=1)


def fit_gaussians(
    parent: Parent, x: np.ndarray, y: np.ndarray, *, classes: int, lam: float, lam_undivided: bool
) -> tuple[PolytopeGaussians, np.ndarray]:
    """Mean and variance of the samples of each polytope, and their number by class.

    x: (n, d), y: (n,) class numbers. The variance is (sum of squares + lam) / n_r as in the paper, or with
    `lam_undivided` sum of squares / n_r + lam as in the authors' code. Returns the Gaussians and counts (R, C).
    """
    codes = parent.codes(x)
    first, member = number_polytopes(codes)
    counts = np.zeros((len(first), classes))
    np.add.at(counts, (member, y), 1)
    size = counts.sum(axis=1, keepdims=True)
    mu = _sums(x, member, len(first)) / size
    scatter = _sums(np.square(x - mu[member]), member, len(first))
    var = scatter / size + lam if lam_undivided else (scatter + lam) / size
    return PolytopeGaussians(mu, var, codes[first]), counts


def log_class_ratios(parent: Parent, codes: np.ndarray, counts: np.ndarray, powers: Sequence[float]) -> np.ndarray:
    """log(n_ry / n_y): how much of class y lies around polytope r, (powers, R, C) float64, -inf where there is none.

    n_ry = sum over polytopes s of K(r, s)^power times the samples of class y in s; n_y is its sum over r.
    codes: (R, c), counts: (R, C). The kernel is built in blocks of rows and used for every power before it is dropped.
    """
    around = np.empty((len(powers), *counts.shape))
    rows = max(1, _ENTRIES_AT_ONCE // len(codes))
    with np.errstate(divide="ignore"):
        for start in range(0, len(codes), rows):
            block = slice(start, start + rows)
            log_kernel = np.log(parent.kernel(codes[block], codes))
            for i, power in enumerate(powers):
                around[i, block] = np.exp(power * log_kernel) @ counts
        return np.log(around) - np.log(around.sum(axis=1, keepdims=True))


def _sums(values: np.ndarray, member: np.ndarray, polytopes: int) -> np.ndarray:
    """(n, d) -> (polytopes, d), sums over each polytope's members."""
    order = np.argsort(member, kind="stable")
    starts = np.searchsorted(member[order], np.arange(polytopes))
    return np.add.reduceat(values[order], starts, axis=0)
