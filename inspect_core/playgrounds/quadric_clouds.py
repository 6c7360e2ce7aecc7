"""Clouds about a curve, and the quadrics fitted to them in three ways.

Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (AISTATS 2022).
"""

import math
import warnings

import numpy as np
import torch

from inspect_core.detectors import quadrics
from inspect_core.detectors.quadrics import Quadrics
from inspect_core.detectors.quadrics.algebraic import NumpyCoefficients, least_squares_coefficients, monomial_moments
from inspect_core.detectors.quadrics.distances import value_and_half_gradient
from inspect_core.detectors.warned import FitWarning
from inspect_core.playgrounds.fields import Box, isoline

STEPS = 20
SLICES = 15
ACROSS = 20


def curve(t: np.ndarray, *, a: float = 0.8, b: float = 0.2) -> np.ndarray:
    """The paper's toy curve at angles t (n,): (n, 3), the intersection of two quadrics, on the unit sphere."""
    x, y = a * np.cos(t) + b * np.cos(3 * t), a * np.sin(t) - b * np.sin(3 * t)
    return np.stack([x, y, 2 * np.sqrt(a * b) * np.sin(2 * t)], axis=1)


def noisy_curve(seed: int, sd: float, *, n: int = 100) -> np.ndarray:
    """(n + 1, 3): n points about the curve, each coordinate with noise of `sd`, then one outlier of norm 2."""
    rng = np.random.default_rng(seed)
    points = curve(rng.uniform(0, 2 * np.pi, n)) + sd * rng.standard_normal((n, 3))
    outlier = rng.standard_normal(3)
    return np.vstack([points, 2 * outlier / np.linalg.norm(outlier)])


def noisy_ellipse(seed: int, sd: float, *, n: int = 40) -> np.ndarray:
    """(n + 1, 2): n points about an ellipse of half axes 1 and .6, and one outlier at (1.3, 1.1), last."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, n)
    points = np.stack([np.cos(t), 0.6 * np.sin(t)], axis=1) + sd * rng.standard_normal((n, 2))
    return np.vstack([points, [1.3, 1.1]])


def as_printed(points: np.ndarray, m: int) -> Quadrics:
    """Eq. 7 on the points (n, d) as they lie: least mean f², all monomial coefficients orthonormal, nothing centred."""
    x = torch.from_numpy(np.asarray(points, np.float64))
    return of_coefficients(least_squares_coefficients(monomial_moments(x), x.shape[1], m))


def of_coefficients(coefficients: NumpyCoefficients) -> Quadrics:
    """The quadrics of A (m, d, d), b (m, d) and c (m,), in the coordinates of the points."""
    A, b, c = map(torch.from_numpy, coefficients)
    origin = torch.zeros(A.shape[1], dtype=torch.float64)
    unit = torch.ones((), dtype=torch.float64)
    return Quadrics(A, b, c, origin, unit, None, 1.0, math.nan, "closed form")


def fits(points: np.ndarray, m: int) -> dict[str, Quadrics]:
    """m quadrics through points (n, d) by title: algebraic, in the Hilbert-Schmidt norm, and robust."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return {
            "Algebraic (eq. 7)": as_printed(points, m),
            "Algebraic, Hilbert-Schmidt norm": quadrics.fit_algebraic_hs(points, m=m),
            "Robust: second-order distance (eq. 8)": quadrics.fit(points, m=m),
        }


def values(model: Quadrics, x: np.ndarray) -> np.ndarray:
    """f_k at places x (..., d), for a model without a reduction: (..., m)."""
    at = (torch.from_numpy(np.asarray(x, np.float64)) - model.shift) / model.scale
    return value_and_half_gradient(model.A.double(), model.b.double(), model.c.double(), at)[0].numpy()


def onto(model: Quadrics, x: np.ndarray) -> np.ndarray:
    """Where Gauss-Newton steps from x (n, d) meet all quadrics of a model without a reduction: (n, d)."""
    A, b, c = (part.double().numpy() for part in (model.A, model.b, model.c))
    shift = model.shift.numpy()
    scale = model.scale.item()
    at = (x - shift) / scale
    for _ in range(STEPS):
        value = np.einsum("ni,kij,nj->nk", at, A, at) + at @ b.T + c
        gradient = 2 * np.einsum("kij,nj->nki", A, at) + b
        at = at - np.einsum("nij,nj->ni", np.linalg.pinv(gradient), value)
    return scale * at + shift


def slices(model: Quadrics, centre: np.ndarray, reach: float) -> list[np.ndarray]:
    """Level curves of each surface f_k = 0 in space, in a cube about `centre` (3,): (pieces, 2, 3) for each k."""
    heights = centre[2] + np.linspace(-reach, reach, SLICES)
    box: Box = (centre[0] - reach, centre[1] - reach, centre[0] + reach, centre[1] + reach)
    side = np.linspace(-reach, reach, ACROSS)
    across, up, height = np.meshgrid(centre[0] + side, centre[1] + side, heights)
    levels = values(model, np.stack([across, up, height], axis=-1))
    return [
        np.concatenate([_lifted(isoline(levels[:, :, i, k], box), height) for i, height in enumerate(heights)])
        for k in range(levels.shape[-1])
    ]


def view(turn: float, tilt: float) -> np.ndarray:
    """(3, 3) rotation, degrees: rows are what lies to the right, upwards and towards the eye."""
    a, b = np.deg2rad([turn, tilt])
    right = [np.cos(a), np.sin(a), 0]
    up = [-np.sin(a) * np.sin(b), np.cos(a) * np.sin(b), np.cos(b)]
    return np.array([right, up, np.cross(right, up)])


def _lifted(pieces: np.ndarray, height: float) -> np.ndarray:
    return np.concatenate([pieces, np.full((*pieces.shape[:2], 1), height)], axis=2)
