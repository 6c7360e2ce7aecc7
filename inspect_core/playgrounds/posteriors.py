"""How sure a forest, a net and their kernel density forms are, among the examples and far from them.

Dey, Xu, De Silva and Vogelstein, "Simple Calibration via Geodesic Kernels" (TMLR 2025).
"""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from inspect_core.classify.kernel_density import PAPER_LOG_B, fit_kdf, fit_kdn
from inspect_core.playgrounds.shifted_shapes import GREY, SIDE, centres, ellipses, rectangles
from inspect_core.playgrounds.simulated_classes import SIMULATIONS
from inspect_core.scoring.metrics import ReliabilityCurve, reliability_curve

LEAST_OF_A_CLASS = 5
TREES = 20
HIDDEN = (100, 100)
HELD_OUT = 4
TESTED = 1000
SHAPES = 200
CELLS = 20
Posterior = Callable[[np.ndarray], np.ndarray]
"""(n, d) -> (n, 2)."""


def fitted(
    points: np.ndarray, classes: np.ndarray, seed: int = 0, *, as_published: bool = False
) -> dict[str, Posterior]:
    """The four posteriors learned from points (n, 2) of classes 0 and 1, a quarter of them held out, by title.

    as_published: with the paper's constant and paths up to the output layer, in place of a calibrated constant.

    Raises ValueError for fewer than LEAST_OF_A_CLASS points of a class.
    """
    counts = np.bincount(classes, minlength=2)
    if counts.min() < LEAST_OF_A_CLASS:
        raise ValueError(f"a class has {counts.min()} points; give each at least {LEAST_OF_A_CLASS}")
    is_held_out = np.zeros(len(points), bool)
    for number in (0, 1):  # of each class, evenly along its points, so that a dragged point stays where it counts
        is_held_out[np.flatnonzero(classes == number)[::HELD_OUT]] = True
    learn = (points[~is_held_out], classes[~is_held_out])
    choose = (points[is_held_out], classes[is_held_out])
    with warnings.catch_warnings(), ThreadPoolExecutor(1) as executor:
        warnings.simplefilter("ignore", UserWarning)
        constant = PAPER_LOG_B if as_published else None
        grown = executor.submit(fit_kdf, *learn, held_out=choose, trees=TREES, seed=seed, log_b=constant)
        net = fit_kdn(*learn, held_out=choose, hidden=HIDDEN, seed=seed, log_b=constant, include_output=as_published)
        forest = grown.result()
    return {
        "Forest": forest.parent_proba,
        "Kernel density forest (KDF)": forest.predict_proba,
        "Net": net.parent_proba,
        "Kernel density network (KDN)": net.predict_proba,
    }


def calibration(posteriors: dict[str, Posterior], simulation: str, seed: int = 1) -> dict[str, ReliabilityCurve]:
    """Reliability of each on 1,000 fresh points of a simulation, in ten bins."""
    points, classes = SIMULATIONS[simulation](TESTED, np.random.default_rng(seed))
    return {title: reliability_curve(proba(points), classes, bins=10) for title, proba in posteriors.items()}


def taught_shapes(seed: int = 0) -> dict[str, Posterior]:
    """Net and KDN taught with 200 circles and 200 rectangles: images (n, 100, 100) -> (n, 2)."""
    rng = np.random.default_rng(seed)
    images = GREY * np.concatenate([ellipses(centres(SHAPES, rng)), rectangles(centres(SHAPES, rng))])
    order = rng.permutation(len(images))
    x = _pooled(images[order])
    classes = (order >= SHAPES).astype(int)
    count = len(x) // HELD_OUT
    model = fit_kdn(x[count:], classes[count:], held_out=(x[:count], classes[:count]), seed=seed)
    return {
        "Net": lambda images: model.parent_proba(_pooled(images)),
        "KDN": lambda images: model.predict_proba(_pooled(images)),
    }


def _pooled(images: np.ndarray) -> np.ndarray:
    """(n, 100, 100) grey levels -> (n, 400) means of 5 x 5 pixels, 0 to 1."""
    width = SIDE // CELLS
    return images.reshape(-1, CELLS, width, CELLS, width).mean(axis=(2, 4)).reshape(len(images), -1) / 255
