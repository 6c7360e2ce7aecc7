"""What fitting and scoring quadrics cost: python -m benchmarks.methods.quadrics_costs [--part headline|costs ...]

Features are made up: a bent surface of few latent directions in many features.
"""

import time
import warnings
from collections.abc import Callable

import numpy as np
import torch

from benchmarks.measure import parser, timed, write
from benchmarks.studies.bent_surface import bent_surface
from inspect_core.detectors import quadrics
from inspect_core.detectors.quadrics.forecast import forecast_seconds, step_operations
from inspect_core.detectors.quadrics.refinement import SGD_BATCH, random_start, refine_sgd
from inspect_core.runtime.threads import cores


def headline(*, d: int = 128, m: int = 100, n: int = 20_000) -> dict:
    """Seconds to fit the size of the budget and to score 100 images of 32 x 32, and what was forecast for the fit."""
    x = bent_surface(n, d, latent=12, seed=0).astype(np.float32)
    rate = _rate(d, m)
    began = time.perf_counter()
    began_work = time.process_time()
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
        x = bent_surface(n, d, latent=12, seed=0).astype(np.float32)
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


PARTS: dict[str, Callable[[], dict | list[dict]]] = {"headline": headline, "costs": cost_table}


def main() -> None:
    asked = parser("quadrics_costs", __doc__)
    asked.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    arguments = asked.parse_args()
    # Random starts and penalties are expected here, and both stand in the figures.
    warnings.simplefilter("ignore", UserWarning)
    write(arguments.name, {part: PARTS[part]() for part in arguments.part})


if __name__ == "__main__":
    main()
