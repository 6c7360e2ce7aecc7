"""How the time of KDF and KDN grows with examples and units.

python -m benchmarks.methods.kernel_density_growth

The fit's time is what comes after the parent is trained: Gaussians and kernel weights on four fifths of the examples
for every power, then on all examples for one, as `fit_kdf` and `fit_kdn` do. Posterior is of 1,000 points.
"""

import time

import numpy as np

from benchmarks.measure import machine, own_peak_mb, parser, write
from inspect_core.classify.forest import grow_forest
from inspect_core.classify.kernel_density import FOREST_POWERS, NETWORK_POWERS
from inspect_core.classify.net_training import train_for
from inspect_core.classify.polytope_gaussians import Parent, fit_gaussians, log_class_ratios
from inspect_core.playgrounds.simulated_classes import gaussian_xor

QUERIES = 1_000


def forest_case(n: int, d: int, trees: int) -> dict:
    """KDF on n examples of five overlapping kinds with d features, like embeddings of images."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 5
    x = np.abs(0.3 * rng.standard_normal((5, d))[y] + rng.standard_normal((n, d)))
    x /= np.linalg.norm(x, axis=1).max()
    began = time.perf_counter()
    forest = grow_forest(x, y, classes=5, trees=trees, seed=0)
    parent_seconds = time.perf_counter() - began
    return {"n": n, "d": d, "trees": trees, "parent_s": parent_seconds} | _cost(forest, x, y, FOREST_POWERS)


def network_case(n: int, hidden: tuple[int, ...]) -> dict:
    """KDN on n two-dimensional points; the net is trained for three epochs, which is enough to fill its polytopes."""
    x, y = gaussian_xor(n, np.random.default_rng(0))
    x /= np.linalg.norm(x, axis=1).max()
    began = time.perf_counter()
    seed = np.random.SeedSequence(0)
    net = train_for(x, y, epochs=3, classes=2, hidden=hidden, seed=seed, with_output=False)
    seconds = (time.perf_counter() - began) / 3
    return {"n": n, "units": sum(hidden), "parent_s_per_epoch": seconds} | _cost(net, x, y, NETWORK_POWERS)


def _cost(parent: Parent, x: np.ndarray, y: np.ndarray, powers: tuple[float, ...]) -> dict:
    classes, most = y.max() + 1, len(x) * 4 // 5
    began = time.perf_counter()
    for part, tried in ((slice(most), powers), (slice(None), powers[:1])):
        gaussians, counts = fit_gaussians(parent, x[part], y[part], classes=classes, lam=1e-6, lam_undivided=False)
        log_class_ratios(parent, gaussians.codes, counts, tried)
    fitted = time.perf_counter()
    gaussians.log_density(parent, x[np.arange(QUERIES) % len(x)], euclidean=False)
    figures = {"fit_s": fitted - began, "posterior_s": time.perf_counter() - fitted}
    return figures | {"polytopes": len(gaussians.mu), "peak_mb": own_peak_mb()}


def main() -> None:
    asked = parser("kernel_density_growth", __doc__)
    name = asked.parse_args().name
    on = machine()
    results = {}
    cases = {
        "KDF by n": [(forest_case, n, 64, 500) for n in (500, 1_000, 2_000, 4_000)],
        "KDF budget": [(forest_case, 1_000, 1_280, 500)],
        "KDN by n": [(network_case, n, (250,) * 4) for n in (1_250, 2_500, 5_000, 10_000)],
        "KDN by units": [(network_case, 2_500, (width,) * 4) for width in (125, 250, 500, 1_000)],
        "KDN budget": [(network_case, 10_000, (1_000,) * 4)],
    }
    for title, runs in cases.items():
        results[title] = []
        for case, *arguments in runs:
            figures = case(*arguments)
            results[title].append(figures)
            print(title, *(f"{key} {value:.4g}" for key, value in figures.items()), sep="; ", flush=True)
    write(name, results, measured_on=on)


if __name__ == "__main__":
    main()
