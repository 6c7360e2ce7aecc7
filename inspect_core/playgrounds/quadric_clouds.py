"""Clouds about a curve, and the quadrics fitted to them in three ways.

Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (AISTATS 2022).
"""

import numpy as np

from inspect_core.detectors.quadrics import Quadrics

STEPS = 20


def curve(t: np.ndarray, *, a: float = 0.8, b: float = 0.2) -> np.ndarray:
    """The paper's toy curve at angles t (n,): (n, 3), the intersection of two quadrics, on the unit sphere."""
    x, y = a * np.cos(t) + b * np.cos(3 * t), a * np.sin(t) - b * np.sin(3 * t)
    return np.stack([x, y, 2 * np.sqrt(a * b) * np.sin(2 * t)], axis=1)


def noisy_curve(seed: int, sd: float, *, n: int = 100) -> np.ndarray:
    """(n + 1, 3): n points about the curve, with noise of `sd` in each coordinate, and one outlier of norm 2, last."""
    rng = np.random.default_rng(seed)
    points = curve(rng.uniform(0, 2 * np.pi, n)) + sd * rng.standard_normal((n, 3))
    outlier = rng.standard_normal(3)
    return np.vstack([points, 2 * outlier / np.linalg.norm(outlier)])


def onto(model: Quadrics, x: np.ndarray) -> np.ndarray:
    """Where Gauss-Newton steps from x (n, d) meet all quadrics of a model without a reduction: (n, d)."""
    A, b, c = (part.double().numpy() for part in (model.A, model.b, model.c))
    shift, scale = model.shift.numpy(), model.scale.item()
    at = (x - shift) / scale
    for _ in range(STEPS):
        value = np.einsum("ni,kij,nj->nk", at, A, at) + at @ b.T + c
        gradient = 2 * np.einsum("kij,nj->nki", A, at) + b
        at = at - np.einsum("nij,nj->ni", np.linalg.pinv(gradient), value)
    return scale * at + shift
