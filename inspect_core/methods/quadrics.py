"""Quadric hypersurface intersection on a seeded sample of the good patches (Pavutnitskiy et al. 2022)."""

import math
from collections.abc import Callable

from inspect_core.detectors import quadrics
from inspect_core.detectors.quadrics.algebraic import monomial_count
from inspect_core.detectors.quadrics.fitting import PENALTY_WARNING
from inspect_core.detectors.quadrics.forecast import forecast_seconds
from inspect_core.methods import graphs
from inspect_core.methods.drawn_patches import DrawnPatches
from inspect_core.methods.method import Control, Costs, Method, Parameters, Patches, Workload, one_fit_stops
from inspect_core.methods.pooled import at_most_widest, draw_patches
from inspect_core.package import arrays, fields

MOST = 100
_RATE = 4e10
"""Operations per second on two cores, from `benchmarks.methods.quadrics`."""


def count(components: int, parameters: Parameters) -> int:
    """The m requested, else MOST or as many as that number of components allows."""
    return min(MOST, monomial_count(components)) if parameters["m"] is None else int(parameters["m"])


def _finish(
    drawn: DrawnPatches, seed: int, parameters: Parameters, report: Callable[[float], None]
) -> quadrics.Quadrics:
    sample = drawn.rows()
    components = min(int(parameters["components"]), sample.shape[1])
    m = count(components, parameters)
    report(0.0)
    if not parameters["robust"]:
        return quadrics.fit_algebraic_hs(sample, m=m, components=components)
    return quadrics.fit(sample, m=m, components=components, seed=seed, progress=report)


def _costs(work: Workload, parameters: Parameters) -> Costs:
    """The closed form, the refinement when it is robust, and the distances of every patch shown."""
    n, d = int(parameters["patches"]), min(int(parameters["components"]), work.width)
    m = count(d, parameters)
    scoring = 2.0 * work.places * work.shown * m * d * d
    fitting = forecast_seconds(n, d, m, operations_per_second=_RATE, refined=bool(parameters["robust"]))
    return Costs(fitting + scoring / _RATE, 8 * n * work.width + 32 * d**4)


def _remark(detector: quadrics.Quadrics, patches: Patches, parameters: Parameters, m: int) -> str | None:
    r = detector.A.shape[1]
    if min(int(parameters["patches"]), patches.photos * math.prod(patches.grid)) < monomial_count(r) + r + 1:
        return "Too few good photos for curved surfaces, which fit these and say little of others. Add good photos."
    if detector.start == "random":
        return f"The surfaces were begun at random, as {r} components are many; with fewer they are steadier."
    if detector.penalty_value > PENALTY_WARNING:
        return f"Some of the m = {len(detector.c)} surfaces partly repeat others. Teach with a smaller m."
    return None


METHOD = Method(
    title="Surface, curved",
    when="Textures whose look bends and varies: learns curved surfaces that the good patches lie on.",
    reference="Quadric hypersurface intersection (Pavutnitskiy et al. 2022)",
    rank=5,
    taps="expansions",
    defaults={"m": None, "components": 48, "robust": 0, "patches": 16_384},
    project=at_most_widest,
    begin=draw_patches,
    see=lambda drawn, features, photos: drawn.draw(features, photos),
    finish=_finish,
    costs=_costs,
    graph=graphs.of_quadrics,
    from_arrays=quadrics.Quadrics.from_arrays,
    arrays=arrays.quadrics("k"),
    fields=fields.QUADRICS,
    live="m",
    score=lambda detector, patches, m: detector.score(patches, m=m),
    sweep=lambda detector, patches, stops: detector.sweep(patches, stops),
    top=lambda detector: len(detector.c),
    start=lambda detector: len(detector.c),
    controls={
        "m": Control(
            "m: surfaces",
            "curved surfaces, best first",
            "More surfaces check a patch from more sides and steady the heatmap; with few, defects can slip through.",
            "The score is the mean distance to the first m of the fitted quadrics (Pavutnitskiy et al. 2022), which is "
            "not quite a fit with m of them.",
        )
    },
    trial_stops=lambda detector, parameters, fixed: one_fit_stops(len(detector.c)),
    one_fit=True,
    remark=_remark,
)
