"""CoP: kernel PCA with a cosine map (Fang et al. 2024)."""

from dataclasses import replace

from torch import Tensor

from inspect_core.detectors.cop_corp.covariance import MappedCovariance
from inspect_core.detectors.cop_corp.feature_maps import cosine_map
from inspect_core.methods import corp
from inspect_core.methods.method import Parameters, Patches, Space
from inspect_core.methods.pooled import Q
from inspect_core.package import arrays, fields

COSINE_WORDS = "Only the direction of the features counts, not their strength (cosine map)."


def _begin(patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> MappedCovariance:
    return MappedCovariance(cosine_map(patches.width))


METHOD = replace(
    corp.METHOD,
    title="Surface, quick",
    when="The quickest for textures: the direction of a patch's features matters, not their strength.",
    reference="CoP, kernel PCA with a cosine map (Fang et al. 2024)",
    rank=3,
    defaults={"explained_variance": 0.9},
    begin=_begin,
    arrays=arrays.subspace("k", mean=1.01),
    fields=fields.COSINE,
    refits=(),
    refit_values=lambda detector: {},
    controls={"q": Q},
    space=Space(COSINE_WORDS, corp.explicit),
    settings=lambda sample, seed: [{}],
)
