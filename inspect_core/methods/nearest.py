"""Distance to the nearest good patch of a seeded bank (PatchCore, Roth et al. 2022, without its subset selection)."""

from collections.abc import Callable

from inspect_core.detectors import baselines
from inspect_core.methods import graphs
from inspect_core.methods.drawn_patches import DrawnPatches
from inspect_core.methods.method import Costs, Method, Parameters, Workload
from inspect_core.methods.pooled import at_most_widest, draw_patches
from inspect_core.package import arrays, fields
from inspect_core.package.arrays import ROW_BYTES


def _finish(
    drawn: DrawnPatches, seed: int, parameters: Parameters, report: Callable[[float], None]
) -> baselines.NearestNeighbour:
    return baselines.fit_nearest_neighbour(drawn.rows(), k=int(parameters["neighbour"]))


def _costs(work: Workload, parameters: Parameters) -> Costs:
    """A sample that is kept, and the distances of every patch shown to it."""
    n = int(parameters["patches"])
    memory = 8 * n * work.width + 2 * ROW_BYTES * max(n, work.width)
    return Costs(5e-9 * work.places * work.shown * n, memory)


METHOD = Method(
    title="Nearest good patch",
    when="For comparison: the distance to the most similar good patch in a bank.",
    reference="Nearest neighbour (PatchCore-style, without its subset selection)",
    rank=8,
    offered=False,
    defaults={"patches": 6000, "neighbour": 1},
    project=at_most_widest,
    begin=draw_patches,
    see=lambda drawn, features, photos: drawn.draw(features, photos),
    finish=_finish,
    costs=_costs,
    graph=graphs.of_neighbour,
    from_arrays=baselines.NearestNeighbour.from_arrays,
    arrays={"bank": arrays.floats("n k")},
    fields={"k": fields.whole(1), "unit": fields.one_of(False)},
)
