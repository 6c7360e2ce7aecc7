"""KDF and KDN against their parents on six simulations.

python -m benchmarks.methods.kernel_density_simulations

Error, expected calibration error and mean max confidence on rings at 1, 2 and 5 times the largest training norm.
1,000 training, 300 held-out and 2,000 test points, 100 trees, nets of 4 x 100 units; median, least and largest of
three seeds. --paper-size: 10,000 training and 2,000 held-out points, 500 trees, nets of 4 x 1,000 units, one seed.
"""

import statistics
import time

import numpy as np

from benchmarks.measure import machine, parser, write
from inspect_core.classify.kernel_density import PAPER_LOG_B, KernelDensityClassifier, fit_kdf, fit_kdn
from inspect_core.judge.metrics import expected_calibration_error, hellinger, mean_max_confidence
from inspect_core.playgrounds.simulated_classes import SIMULATIONS, gaussian_xor_posterior, ring

RADII = (1, 2, 5)
TEST_POINTS = 2_000
RING_POINTS = 500

FORESTS = {
    "KDF": {},
    "KDF lam 1e-3": {"lam": 1e-3},
    "KDF paper constant": {"log_b": PAPER_LOG_B},
    "KDF no constant": {"log_b": -np.inf},
    "KDF Euclidean, paper constant": {"log_b": PAPER_LOG_B, "euclidean": True},
}
NETWORKS = {
    "KDN": {},
    "KDN paper constant": {"log_b": PAPER_LOG_B},
    "KDN with output layer": {"include_output": True},
    "KDN Euclidean": {"euclidean": True},
}


def simulate(
    name: str, labels: list[str], *, train: int, held: int, trees: int, hidden: tuple[int, ...] | None, seed: int
) -> dict:
    """The figures of the models in `labels` on one draw of one simulation; networks only when `hidden` is given."""
    rng = np.random.default_rng(seed)
    x, y = SIMULATIONS[name](train + held, rng)
    test = SIMULATIONS[name](TEST_POINTS, rng)
    rings = [ring(radius, RING_POINTS, rng) for radius in RADII]
    shared = {"held_out": (x[train:], y[train:]), "seed": seed}
    models = [(label, fit_kdf, {"trees": trees} | options) for label, options in FORESTS.items()]
    if hidden:
        models += [(label, fit_kdn, {"hidden": hidden} | options) for label, options in NETWORKS.items()]
    figures = {}
    for label, fit, options in (model for model in models if model[0] in labels):
        began = time.perf_counter()
        model = fit(x[:train], y[:train], **shared, **options)
        seconds = time.perf_counter() - began
        if label in ("KDF", "KDN"):
            parent = "forest" if label == "KDF" else "network"
            figures[parent] = _figures(model.parent_proba, model, test, rings, name)
        figures[label] = _figures(model.predict_proba, model, test, rings, name)
        figures[label] |= {"power": model.power, "polytopes": len(model.log_ratio), "fit_seconds": seconds}
    return figures


def summary(runs: list[dict]) -> dict:
    """Per model and figure: median, least and largest over runs."""
    return {
        model: {
            figure: [float(of([run[model][figure] for run in runs])) for of in (statistics.median, min, max)]
            for figure in figures
        }
        for model, figures in runs[0].items()
    }


def _figures(proba, model: KernelDensityClassifier, test: tuple, rings: list[np.ndarray], name: str) -> dict:
    posterior = proba(test[0])
    figures = {
        "error": float((posterior.argmax(axis=1) != test[1]).mean()),
        "ece": expected_calibration_error(posterior, test[1]),
    }
    figures |= {
        f"confidence_at_{radius}": mean_max_confidence(proba(points * model.scale))
        for radius, points in zip(RADII, rings, strict=True)
    }
    if name == "gaussian_xor":
        figures["hellinger"] = hellinger(posterior, gaussian_xor_posterior(test[0]))
    return figures


def main() -> None:
    asked = parser("kernel_density_simulations", __doc__)
    asked.add_argument("--paper-size", action="store_true")
    asked.add_argument("--seeds", type=int, default=3)
    asked.add_argument(
        "--networks", choices=("none", "xor", "all"), default="xor", help="simulations that fit networks"
    )
    asked.add_argument("--models", nargs="+", choices=[*FORESTS, *NETWORKS], default=[*FORESTS, *NETWORKS])
    asked.add_argument("--only", nargs="+", choices=SIMULATIONS, default=list(SIMULATIONS))
    arguments = asked.parse_args()
    if arguments.paper_size:
        size, hidden, seeds = {"train": 10_000, "held": 2_000, "trees": 500}, (1_000,) * 4, range(1)
    else:
        size, hidden, seeds = {"train": 1_000, "held": 300, "trees": 100}, (100,) * 4, range(arguments.seeds)
    on, report = machine(), {"size": size | {"hidden": hidden, "seeds": len(seeds)}, "simulations": {}}
    for name in arguments.only:
        networks = arguments.networks == "all" or (arguments.networks == "xor" and name == "gaussian_xor")
        runs = [
            simulate(name, arguments.models, **size, hidden=hidden if networks else None, seed=seed) for seed in seeds
        ]
        report["simulations"][name] = summary(runs)
        for model, figures in report["simulations"][name].items():
            print(
                name, model, *(f"{key} {median:.3f}" for key, (median, _, _) in figures.items()), sep="; ", flush=True
            )
        write(arguments.name, report, measured_on=on)


if __name__ == "__main__":
    main()
