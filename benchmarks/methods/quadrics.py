"""Quadric intersection: the toy curve, contaminated training sets, and what fitting and scoring cost.

python -m benchmarks.methods.quadrics [--part toy|contamination|headline|costs ...]    all parts by default
Toy curve and its settings: Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature
space" (AISTATS 2022). The other features are made up: a bent surface of few latent directions in many features.
"""

import itertools
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from scipy.spatial import cKDTree

from benchmarks.measure import parser, timed, write
from inspect_core.detectors import quadrics
from inspect_core.detectors.quadrics.forecast import forecast_seconds, step_operations
from inspect_core.detectors.quadrics.refinement import SGD_BATCH, random_start, refine_sgd
from inspect_core.judge.metrics import auroc
from inspect_core.playgrounds.quadric_clouds import curve, noisy_curve, onto
from inspect_core.runtime.threads import cores

FITS = {
    "algebraic, coefficients": quadrics.fit_algebraic,
    "algebraic, quadratic part": quadrics.fit_algebraic_quadratic,
    "algebraic, HS": quadrics.fit_algebraic_hs,
    "d2": quadrics.fit,
}


def toy_table(*, seeds: int = 10) -> list[dict]:
    """Medians over seeds: mean d2 of the true curve, largest distance of the fitted curve from it, seconds to fit."""
    truth = curve(np.linspace(0, 2 * np.pi, 2000, endpoint=False))
    rows = []
    for sd in (0.12, 0.05):
        for title, fit in FITS.items():
            distances, deviations, seconds = [], [], []
            for seed in range(seeds):
                began = time.perf_counter()
                model = fit(noisy_curve(seed, sd), m=2)
                seconds.append(time.perf_counter() - began)
                distances.append(float(model.score(truth).mean()))
                deviations.append(_largest_deviation(model, truth))
            medians = [float(np.median(values)) for values in (distances, deviations, seconds)]
            rows.append({"fit": title, "noise": sd, "distance": medians[0], "deviation": medians[1], "s": medians[2]})
    return rows


def contamination_table(*, m: int = 8, n: int = 2000, seeds: int = 3) -> list[dict]:
    """AUROC (mean over seeds) of defects against good points, when a share of the training points are such defects.

    The surface of four latent directions bends through all of 12 features, and of 24 it leaves 10 directions flat.
    """
    rows = []
    for d, defect_types, fraction in itertools.product((12, 24), ("one", "every"), (0.0, 0.02, 0.05)):
        for title, fit in FITS.items():
            found = []
            for seed in range(seeds):
                good = _bent_surface(3 * n, d, latent=4, seed=seed)
                defects = _defects(2 * n, d, latent=4, seed=seed, directions=1 if defect_types == "one" else 2 * n)
                count = round(fraction * n)
                model = fit(np.vstack([good[: n - count], defects[:count]]), m=m)
                scores = model.score(np.vstack([good[n:], defects[n:]])).numpy()
                found.append(auroc(scores, np.arange(len(scores)) >= 2 * n))
            row = {
                "fit": title,
                "d": d,
                "kinds": defect_types,
                "contamination": fraction,
                "auroc": float(np.mean(found)),
            }
            rows.append(row)
    return rows


def headline(*, d: int = 128, m: int = 100, n: int = 20_000) -> dict:
    """Seconds to fit the size of the budget and to score 100 images of 32 x 32, and what was forecast for the fit."""
    x = _bent_surface(n, d, latent=12, seed=0).astype(np.float32)
    rate = _rate(d, m)
    began, began_work = time.perf_counter(), time.process_time()
    model = quadrics.fit(x, m=m)
    fitted, worked = time.perf_counter() - began, time.process_time() - began_work
    images = torch.from_numpy(x[np.arange(100 * 32 * 32) % n].reshape(100, 32, 32, d))
    return {
        "d": d,
        "m": m,
        "n": n,
        "fit_s": fitted,
        "fit_processor_s": worked,
        "threads": cores(),
        "forecast_s": forecast_seconds(n, d, m, operations_per_second=rate),
        "operations_per_second": rate,
        "penalty_value": model.penalty_value,
        "score_100_images": timed(lambda: model.score(images), repeats=5, warm_up=1),
    }


def cost_table() -> list[dict]:
    """Seconds to fit, and those forecast, as each of d, m and n moves from d = 64, m = 30, n = 20,000."""
    sizes = [(64, 30, 20_000), *((d, 30, 20_000) for d in (32, 88, 128, 256)), *((64, m, 20_000) for m in (10, 100))]
    rows = []
    for d, m, n in [*sizes, (64, 30, 5_000), (64, 30, 80_000)]:
        x = _bent_surface(n, d, latent=12, seed=0).astype(np.float32)
        forecast = forecast_seconds(n, d, m, operations_per_second=_rate(d, m))
        began = time.perf_counter()
        model = quadrics.fit(x, m=m)
        seconds = time.perf_counter() - began
        rows.append({"d": d, "m": m, "n": n, "fit_s": seconds, "forecast_s": forecast, "start": model.start})
    return rows


def _rate(d: int, m: int) -> float:
    """Operations a second in mini-batch steps of a fit of that size on random points."""
    _trial_steps(d, m, 10)
    began = time.perf_counter()
    _trial_steps(d, m, 20)
    return 20 * step_operations(SGD_BATCH, d, m) / (time.perf_counter() - began)


def _trial_steps(d: int, m: int, steps: int) -> None:
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((SGD_BATCH, d))).float()
    A, b, c = (torch.from_numpy(part).float() for part in random_start(rng, d, m))
    refine_sgd((A, b, c), x, penalty=1.0, rng=rng, report=lambda _: None, steps=steps)


def _largest_deviation(model: quadrics.Quadrics, truth: np.ndarray) -> float:
    """Largest distance from the true curve to the points Gauss-Newton steps reach from it on the fitted one."""
    return float(cKDTree(truth).query(onto(model, truth))[0].max())


def _bent_surface(n: int, d: int, *, latent: int, seed: int, noise: float = 0.05) -> np.ndarray:
    """(n, d): a quadratic image of `latent` Gaussian directions, the same surface for every seed, and noise."""
    mix = np.random.default_rng(d)
    rng = np.random.default_rng((seed, 1))
    flat = latent * (latent + 1) // 2
    straight, bent = mix.standard_normal((latent, d)), 0.3 * mix.standard_normal((flat, d))
    z = rng.standard_normal((n, latent))
    products = (z[:, :, None] * z[:, None, :])[:, *np.triu_indices(latent)]
    return (z @ straight + products @ bent) / np.sqrt(latent) + noise * rng.standard_normal((n, d))


def _defects(n: int, d: int, *, latent: int, seed: int, directions: int) -> np.ndarray:
    """(n, d): points of the same surface, moved off it by random lengths in 1 common or n own random directions."""
    rng = np.random.default_rng((seed, 2))
    off = rng.standard_normal((directions, d))
    return _bent_surface(n, d, latent=latent, seed=seed + 1000) + rng.exponential(1.5, (n, 1)) * off / np.sqrt(d)


PARTS: dict[str, Callable[[], dict | list[dict]]] = {
    "toy": toy_table,
    "contamination": contamination_table,
    "headline": headline,
    "costs": cost_table,
}


def main() -> None:
    asked = parser("quadrics", __doc__)
    asked.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    arguments = asked.parse_args()
    # Random starts and penalties are expected here, and both stand in the figures.
    warnings.simplefilter("ignore", UserWarning)
    figures = {part: PARTS[part]() for part in arguments.part}
    write(arguments.name, figures)


if __name__ == "__main__":
    main()
