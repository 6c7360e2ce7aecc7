"""The two-class simulations of Dey et al., "Simple Calibration via Geodesic Kernels" (TMLR 2025).

Every function takes a number of points and a generator and returns points (n, d) float64 and classes (n,), half of them
1. Where the printed definition cannot be meant, the reading is stated in the function.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import expit
from scipy.stats import norm

Draw = Callable[[np.ndarray], np.ndarray]
XOR_SD = 0.25


def spiral(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two arms of two turns, noise .3 on the angle, the second minus the first (as printed, they coincide)."""
    classes = _halves(n)
    points = np.empty((n, 2))
    for arm, sign in ((0, 1), (1, -1)):
        count = (classes == arm).sum()
        radius = np.sort(rng.uniform(0, 1, count))
        angle = np.linspace(0, 4 * np.pi, count) + 0.3 * rng.standard_normal(count)
        points[classes == arm] = sign * radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return _shuffled(points, classes, rng)


def circle(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Circles of radius .75 and 1, at uniform angles, with noise of variance .01 on the radius."""

    def draw(classes: np.ndarray) -> np.ndarray:
        radius = np.where(classes == 1, 1.0, 0.75) + 0.1 * rng.standard_normal(len(classes))
        angle = rng.uniform(0, 2 * np.pi, len(classes))
        return radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)

    return _in_box(draw, n, rng)


def sinewave(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """y = cos(pi x) and sin(pi x) with noise of .1."""
    return _in_box(_curves(lambda t: np.cos(np.pi * t), lambda t: np.sin(np.pi * t), rng), n, rng)


def gaussian_xor(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Class 0 around ±(.5, -.5), class 1 around ±(.5, .5) (the same means are printed for both), deviation .25."""

    def draw(classes: np.ndarray) -> np.ndarray:
        side = rng.choice([-0.5, 0.5], len(classes))
        return np.stack([side, np.where(classes == 1, side, -side)], axis=1) + XOR_SD * rng.standard_normal(
            (len(classes), 2)
        )

    return _in_box(draw, n, rng)


def gaussian_xor_posterior(x: np.ndarray) -> np.ndarray:
    """The true posterior of `gaussian_xor`: (n, 2) -> (n, 2). The box cuts both classes alike."""
    # Around ±a, the density of a class is proportional to cosh(a . x / variance).
    exponents = np.stack([x @ [0.5, -0.5], x @ [0.5, 0.5]], axis=1) / XOR_SD**2
    log_density = np.logaddexp(exponents, -exponents)
    return np.exp(log_density - np.logaddexp(*log_density.T)[:, None])


def polynomial(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """y = x and y = x^3 with noise of .1."""
    return _in_box(_curves(lambda t: t, lambda t: t**3, rng), n, rng)


def trunk(n: int, rng: np.random.Generator, *, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Unit Gaussians around ±mu, mu_i = i^(-1/2); not confined to the box."""
    classes = _halves(n)
    mean = np.arange(1, d + 1) ** -0.5
    return _shuffled(np.where(classes == 1, -1, 1)[:, None] * mean + rng.standard_normal((n, d)), classes, rng)


def posterior(name: str, x: np.ndarray) -> np.ndarray:
    """The true posterior of a simulation in the plane: (n, 2) -> (n, 2). Outside both supports it is even."""
    if name == "gaussian_xor":
        return gaussian_xor_posterior(x)
    if name == "trunk":
        first = expit(2 * (x @ np.array([1.0, 2**-0.5])))
        return np.stack([first, 1 - first], axis=1)
    density = np.stack([_DENSITIES[name](x, kind) for kind in (0, 1)], axis=1) + 1e-300
    if name != "spiral":  # each class is drawn again until it lies in the box, which cuts them unequally
        middle = (np.arange(200) + 0.5) / 100 - 1
        grid = np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2)
        density /= [_DENSITIES[name](grid, kind).mean() for kind in (0, 1)]
    return density / density.sum(axis=1, keepdims=True)


def _on_curve(x: np.ndarray, middle: np.ndarray) -> np.ndarray:
    return norm.pdf(x[:, 1], middle, 0.1)


def _on_circle(x: np.ndarray, kind: int) -> np.ndarray:
    radius = np.hypot(*x.T)
    return norm.pdf(radius, (0.75, 1.0)[kind], 0.1) / np.maximum(radius, 1e-12)


def _on_arm(x: np.ndarray, kind: int) -> np.ndarray:
    radius = np.hypot(*x.T)
    side = (1, -1)[kind]
    angle = np.arctan2(side * x[:, 1], side * x[:, 0])
    turns = norm.pdf(angle[:, None] + 2 * np.pi * np.arange(-1, 4), 4 * np.pi * radius[:, None], 0.3)
    return (radius < 1) * turns.sum(axis=1)


_DENSITIES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "spiral": _on_arm,
    "circle": _on_circle,
    "sinewave": lambda x, kind: _on_curve(x, (np.cos, np.sin)[kind](np.pi * x[:, 0])),
    "polynomial": lambda x, kind: _on_curve(x, x[:, 0] ** (1, 3)[kind]),
}
"""Up to a factor: of the classes that are not told apart by it."""

SIMULATIONS = {
    "spiral": spiral,
    "circle": circle,
    "sinewave": sinewave,
    "gaussian_xor": gaussian_xor,
    "polynomial": polynomial,
    "trunk": trunk,
}


def ring(radius: float, count: int, rng: np.random.Generator, *, d: int = 2) -> np.ndarray:
    """(count, d) points in uniform directions at `radius` from the origin."""
    direction = rng.standard_normal((count, d))
    return radius * direction / np.linalg.norm(direction, axis=1, keepdims=True)


def _curves(first: Callable, second: Callable, rng: np.random.Generator) -> Draw:
    def draw(classes: np.ndarray) -> np.ndarray:
        across = rng.uniform(-1, 1, len(classes))
        along = np.where(classes == 1, second(across), first(across))
        return np.stack([across, along + 0.1 * rng.standard_normal(len(classes))], axis=1)

    return draw


def _in_box(draw: Draw, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw again, with the same class, every point outside (-1, 1)^2."""
    classes = _halves(n)
    points = draw(classes)
    while (outside := (np.abs(points) >= 1).any(axis=1)).any():
        points[outside] = draw(classes[outside])
    return _shuffled(points, classes, rng)


def _halves(n: int) -> np.ndarray:
    return np.arange(n) % 2


def _shuffled(points: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    order = rng.permutation(len(points))
    return points[order], classes[order]
