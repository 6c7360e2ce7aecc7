"""CoP: kernel PCA with a cosine map (Fang et al. 2024)."""

from dataclasses import replace

from torch import Tensor

from inspect_core.detectors.cop_corp.feature_maps import cosine_map
from inspect_core.detectors.cop_corp.residual import KernelPCAMap
from inspect_core.methods import corp
from inspect_core.methods.method import Parameters, Patches, Space
from inspect_core.methods.pooled import Q, stream_covariance
from inspect_core.package import arrays, fields

COSINE_WORDS = "Only the direction of the features counts, not their strength (cosine map)."


def _fit(patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> KernelPCAMap:
    return stream_covariance(patches, cosine_map(patches.width), parameters)


METHOD = replace(
    corp.METHOD,
    title="Surface, quick",
    when="The quickest for textures: the direction of a patch's features matters, not their strength.",
    reference="CoP, kernel PCA with a cosine map (Fang et al. 2024)",
    rank=3,
    defaults={"explained_variance": 0.9},
    fit=_fit,
    arrays=arrays.subspace("k", mean=1.01),
    fields=fields.COSINE,
    refits=(),
    refit_values=lambda detector: {},
    controls={"q": Q},
    space=Space(COSINE_WORDS, corp.explicit),
    settings=lambda sample, seed: [{}],
)
