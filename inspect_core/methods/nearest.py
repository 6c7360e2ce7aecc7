"""Distance to the nearest good patch of a seeded bank (PatchCore, Roth et al. 2022, without its subset selection)."""

from torch import Tensor

from inspect_core.detectors import baselines
from inspect_core.methods import graphs
from inspect_core.methods.method import Method, Parameters, Patches
from inspect_core.methods.pooled import at_most_widest, sample_costs
from inspect_core.package import arrays, fields


def _fit(patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> baselines.NearestNeighbour:
    return baselines.fit_nearest_neighbour(patches.sample(int(parameters["patches"])), k=int(parameters["neighbour"]))


METHOD = Method(
    title="Nearest good patch",
    when="For comparison: the distance to the most similar good patch of a bank.",
    reference="Nearest neighbour (PatchCore-style, without its subset selection)",
    rank=8,
    offered=False,
    defaults={"patches": 6000, "neighbour": 1},
    project=at_most_widest,
    fit=_fit,
    costs=sample_costs,
    graph=graphs.of_neighbour,
    from_arrays=baselines.NearestNeighbour.from_arrays,
    arrays={"bank": arrays.floats("n k")},
    fields={"k": fields.whole(1), "unit": fields.one_of(False)},
)
