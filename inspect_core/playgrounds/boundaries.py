"""What each detector calls normal in the plane, fitted to the same points."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from inspect_core.detectors import baselines, cop_corp, kernel_pca, quadrics
from inspect_core.detectors.cop_corp import covariance
from inspect_core.detectors.warned import FitWarning
from inspect_core.playgrounds import planar_sets
from inspect_core.playgrounds.fields import Box

LEAST_POINTS = 6
SEED = 1
SOLVED = 1e-3
"""Limit of the one-class SVM: 0, which its support vectors meet to within the tolerance of scikit-learn's solver."""


@dataclass(frozen=True)
class PlaygroundSettings:
    """What can be set: σ of the Gaussian kernels and q of kernel PCA and CoRP; ν, the share of points that may lie
    outside; γ and M of CoRP, and whether its points are divided by their length first; m, the number of quadrics.
    """

    sigma: float = 0.4
    q: int = 40
    nu: float = 0.05
    gamma: float = 1.0
    M: int = 128
    cosine: bool = True
    m: int = 1


Score = Callable[[np.ndarray], Tensor]


def _kernel_pca(x: np.ndarray, knobs: PlaygroundSettings) -> Score:
    model = kernel_pca.fit(x, sigma=knobs.sigma, q=0)
    return lambda z: model.score(z, q=min(knobs.q, model.rank))


def _pca(x: np.ndarray, knobs: PlaygroundSettings) -> Score:
    model = baselines.fit_pca(x)
    return lambda z: model.score(z, q=1)


def _parzen(x: np.ndarray, knobs: PlaygroundSettings) -> Score:
    return baselines.fit_parzen(x, sigma=knobs.sigma).score


def _one_class_svm(x: np.ndarray, knobs: PlaygroundSettings) -> Score:
    return baselines.fit_one_class_svm(x, sigma=knobs.sigma, nu=knobs.nu).score


def _cop(x: np.ndarray, knobs: PlaygroundSettings) -> Score:
    model = cop_corp.fit_cop(x)
    return lambda z: model.score(z, q=1)


def _corp(x: np.ndarray, knobs: PlaygroundSettings) -> Score:
    feature_map = cop_corp.cosine_fourier_map(2, gamma=knobs.gamma, M=knobs.M)
    model = covariance.fit(x, replace(feature_map, cosine=knobs.cosine), explained_variance=0.9)
    return lambda z: model.score(z, q=max(1, min(knobs.q, len(model.eigenvalues) - 1)))


def _quadrics(x: np.ndarray, knobs: PlaygroundSettings) -> Score:
    return quadrics.fit_algebraic_hs(x, m=knobs.m).score


def _nearest_neighbour(x: np.ndarray, knobs: PlaygroundSettings) -> Score:
    return baselines.fit_nearest_neighbour(x).score


FITS: dict[str, Callable[[np.ndarray, PlaygroundSettings], Score]] = {
    "Kernel PCA": _kernel_pca,
    "One-class SVM": _one_class_svm,
    "Parzen window": _parzen,
    "Nearest neighbour": _nearest_neighbour,
    "PCA": _pca,
    "CoP": _cop,
    "CoRP": _corp,
    "Quadrics": _quadrics,
}


@dataclass(frozen=True, eq=False)
class DetectorBoundary:
    """What one detector makes of the plane: scores of the places, its limit, and which points lie outside it, (n,)."""

    scores: np.ndarray
    limit: float
    outside: np.ndarray


def fit_boundary(x: np.ndarray, title: str, knobs: PlaygroundSettings, places: np.ndarray) -> DetectorBoundary:
    """Fit one of FITS to points (n, 2) and scores places (..., 2).

    The limit is the 1 - ν quantile of the points' own scores, by the distance to the nearest *other* point for the
    nearest neighbour; the one-class SVM has its own, SOLVED. Raises ValueError for fewer than LEAST_POINTS points.
    """
    if len(x) < LEAST_POINTS:
        raise ValueError(f"there are {len(x)} points; give at least {LEAST_POINTS}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # few points and far places are what is played with
        score = FITS[title](x, knobs)
        scorer = baselines.fit_nearest_neighbour(x, k=2).score if title == "Nearest neighbour" else score
        scores = score(places).double().numpy()
        points = scorer(x).double().numpy()
    limit = SOLVED if title == "One-class SVM" else float(np.quantile(points, 1 - knobs.nu, method="higher"))
    return DetectorBoundary(scores, limit, points > limit)


@dataclass(frozen=True)
class PointSet:
    """A set to begin with: its points, its box, and the σ and q of the paper where they are known."""

    draw: Callable[[], np.ndarray]
    box: Box
    sigma: float = 0.4
    q: int = 40


STARTS = {
    "Square": PointSet(lambda: planar_sets.square(120, SEED)[0], (-1.1, -0.25, 4.1, 3.25)),
    "Square and noise": PointSet(lambda: planar_sets.square_noise(120, 15, SEED)[0], (-1.1, -0.25, 4.1, 3.25), 0.3, 20),
    "Ring, line and square": PointSet(lambda: planar_sets.ring_line_square(180, SEED)[0], (-2.6, -0.3, 4.6, 3.3)),
    "Spiral": PointSet(lambda: planar_sets.spiral(150, SEED)[0], (-2.4, -1.6, 2.4, 1.6), 0.25, 40),
    "Sine and noise": PointSet(lambda: planar_sets.sine_noise(100, 40, SEED), (-0.5, -2.0, 6.8, 2.0)),
    "Your own points": PointSet(lambda: np.empty((0, 2)), (-2.4, -1.6, 2.4, 1.6)),
}
"""Hoffmann's sets, with fewer points than his, so that a drag is answered at once; and none, to place one's own."""
