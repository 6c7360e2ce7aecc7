"""The sets in the plane of Hoffmann, "Kernel PCA for novelty detection" (2007).

They are (points (n, 2), inside): the training points and a function that says which of (m, 2) points lie in the
true area. Where the paper leaves a position open, it is chosen here.
"""

from collections.abc import Callable

import numpy as np

Inside = Callable[[np.ndarray], np.ndarray]


def square(n: int, seed: int) -> tuple[np.ndarray, Inside]:
    """A frame of four bars 2.2 x 0.2 in the middle of [0, 3]²: outer side 2.2, inner side 1.8."""
    return _uniform_in(_in_square((1.5, 1.5)), n, (0.0, 0.0), (3.0, 3.0), seed), _in_square((1.5, 1.5))


def square_noise(n: int, noise: int, seed: int) -> tuple[np.ndarray, Inside]:
    """The square with `noise` further points uniform on [0, 3]², which come last."""
    points, contains = square(n, seed)
    return np.concatenate([points, np.random.default_rng((seed, 1)).uniform(0.0, 3.0, (noise, 2))]), contains


def ring_line_square(n: int, seed: int) -> tuple[np.ndarray, Inside]:
    """A ring of diameters 1 and 2, a line 1.6 x 0.2 and the square, side by side, uniform in area."""

    def contains(p: np.ndarray) -> np.ndarray:
        radius = np.hypot(p[:, 0] + 1.0, p[:, 1] - 1.5)
        ring = (radius >= 0.5) & (radius <= 1.0)
        line = (p[:, 0] >= 0.0) & (p[:, 0] <= 1.6) & (np.abs(p[:, 1] - 1.5) <= 0.1)
        return ring | line | _in_square((2.7, 1.5))(p)

    return _uniform_in(contains, n, (-2.0, 0.0), (4.0, 3.0), seed), contains


def spiral(n: int, seed: int) -> tuple[np.ndarray, Inside]:
    """(0.07 φ + a)(cos φ, sin φ), a in [0, 0.1], φ in [0, 6π], uniform in area."""

    def contains(p: np.ndarray) -> np.ndarray:
        radius = np.hypot(p[:, 0], p[:, 1])
        angle = np.arctan2(p[:, 1], p[:, 0]) % (2.0 * np.pi)
        a = radius[:, None] - 0.07 * (angle[:, None] + 2.0 * np.pi * np.arange(3))
        return ((a >= 0.0) & (a <= 0.1)).any(axis=1)

    return _uniform_in(contains, n, (-1.5, -1.5), (1.5, 1.5), seed), contains


def sine_noise(n: int, noise: int, seed: int) -> np.ndarray:
    """n points on y = 0.8 sin 2x for x in [0, 2π], then `noise` points uniform on [0, 2π] x [-1.5, 1.5]."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 2.0 * np.pi, n)
    curve = np.stack([x, 0.8 * np.sin(2.0 * x)], axis=1)
    return np.concatenate([curve, rng.uniform((0.0, -1.5), (2.0 * np.pi, 1.5), (noise, 2))])


def _in_square(centre: tuple[float, float]) -> Inside:
    def contains(p: np.ndarray) -> np.ndarray:
        reach = np.abs(p - np.array(centre)).max(axis=1)
        return (reach >= 0.9) & (reach <= 1.1)

    return contains


def _uniform_in(contains: Inside, n: int, low: tuple[float, float], high: tuple[float, float], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    points = np.empty((0, 2))
    while len(points) < n:
        candidates = rng.uniform(low, high, (4 * n, 2))
        points = np.concatenate([points, candidates[contains(candidates)]])
    return points[:n]
