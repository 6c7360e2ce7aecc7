"""Polytopes of a forest or a ReLU net, and the kernels that measure how close two of them are.

Either model cuts feature space into convex polytopes on which it is simple: a forest is constant there, a ReLU net
linear. A point's code names its polytope: the leaf it reaches in each tree, or which hidden units are on. The kernel
of two points is the share of the model on which their codes agree, and 1 - kernel is the geodesic distance between
their polytopes: 0 within a polytope, 1 between polytopes that have nothing in common.

Source: Dey, Xu, De Silva and Vogelstein, "Simple Calibration via Geodesic Kernels", TMLR 2025, equations 11 and 12.
"""

from collections.abc import Sequence

import numpy as np

_TILE = 1 << 18
_TREES_PER_BYTE = 255


def number_polytopes(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Groups samples whose codes are equal in every column.

    codes: (n, c) integers or booleans. Returns `first` (R,), the sample that each polytope was first seen in, and
    `member` (n,), the polytope of each sample; polytopes are numbered by first appearance.
    """
    rows = np.packbits(codes, axis=1) if codes.dtype == bool else codes
    numbers: dict[bytes, int] = {}
    member = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows], dtype=np.intp)
    first = np.unique(member, return_index=True)[1]
    return first, member


def forest_kernel(leaves_a: np.ndarray, leaves_b: np.ndarray) -> np.ndarray:
    """The share of the trees in which two samples reach the same leaf (equation 11).

    leaves_a: (n_a, B), leaves_b: (n_b, B), integer leaf numbers, tree by tree. Returns (n_a, n_b) float64 in 0 to 1.
    The work is n_a n_b B byte comparisons, in tiles that stay in cache: with hundreds of leaves a tree, a product of
    one-hot codes would spend nearly all its time on zeros. Raises ValueError when the numbers of trees differ.
    """
    leaves_a, leaves_b = np.asarray(leaves_a), np.asarray(leaves_b)
    if leaves_a.ndim != 2 or leaves_b.ndim != 2 or leaves_a.shape[1] != leaves_b.shape[1] or not leaves_a.shape[1]:
        raise ValueError(
            f"leaves_a has shape {leaves_a.shape}, leaves_b {leaves_b.shape}; give (n, trees) twice, from one forest"
        )
    trees_a, trees_b = (
        np.ascontiguousarray(leaves.T, dtype=_leaf_type(leaves_a, leaves_b)) for leaves in (leaves_a, leaves_b)
    )
    trees = len(trees_a)
    agreeing = np.zeros((len(leaves_a), len(leaves_b)))
    rows = max(1, _TILE // max(1, len(leaves_b)))
    for start in range(0, len(leaves_a), rows):
        tile = slice(start, start + rows)
        for columns in (slice(first, first + _TREES_PER_BYTE) for first in range(0, trees, _TREES_PER_BYTE)):
            agreeing[tile] += _agreeing_trees(trees_a[columns, tile], trees_b[columns])
    agreeing /= trees
    return agreeing


def network_kernel(codes_a: Sequence[np.ndarray], codes_b: Sequence[np.ndarray]) -> np.ndarray:
    """The share of the paths through a ReLU net on which two samples agree (equation 12).

    A path takes one unit from every layer, and two samples agree on it when each of its units is on for both or off
    for both; so the share of paths is the product over layers of the share of agreeing units.

    codes_a, codes_b: one (n_a, N_l) and one (n_b, N_l) array of 0 and 1 for each layer l. Returns (n_a, n_b) float64
    in 0 to 1. The counts are matrix products of -1 and 1, exact in float32 for layers of up to 2^24 units.
    Raises ValueError when the layers do not match.
    """
    widths_a, widths_b = [layer.shape[1:] for layer in codes_a], [layer.shape[1:] for layer in codes_b]
    if widths_a != widths_b or not all(len(width) == 1 and width[0] for width in widths_a) or not widths_a:
        raise ValueError(
            f"codes_a has layers {widths_a}, codes_b {widths_b}; give one (n, units) array a layer, from one net"
        )
    agreeing = np.ones((len(codes_a[0]), len(codes_b[0])))
    # Whole counts are multiplied before the single division, so that equal shares of paths are exactly equal and tie.
    for layer_a, layer_b in zip(codes_a, codes_b, strict=True):
        width = np.float32(layer_a.shape[1])
        agreeing *= (_signs(layer_a) @ _signs(layer_b).T + width) / 2
    agreeing /= np.prod([float(width) for (width,) in widths_a])
    return agreeing


def _agreeing_trees(trees_a: np.ndarray, trees_b: np.ndarray) -> np.ndarray:
    """(B, n_a), (B, n_b) with B <= 255 -> (n_a, n_b) uint8 counts."""
    count = np.zeros((trees_a.shape[1], trees_b.shape[1]), dtype=np.uint8)
    same = np.empty(count.shape, dtype=bool)
    for leaf_a, leaf_b in zip(trees_a, trees_b, strict=True):
        np.equal(leaf_a[:, None], leaf_b, out=same)
        count += same.view(np.uint8)
    return count


def _leaf_type(leaves_a: np.ndarray, leaves_b: np.ndarray) -> type:
    """The narrowest type that keeps leaf numbers distinct: the comparison is limited by memory traffic."""
    low = min(leaves_a.min(initial=0), leaves_b.min(initial=0))
    high = max(leaves_a.max(initial=0), leaves_b.max(initial=0))
    return np.uint16 if low >= 0 and high < 1 << 16 else np.int64


def _signs(layer: np.ndarray) -> np.ndarray:
    signs = layer.astype(np.float32)
    signs *= 2
    signs -= 1
    return signs
