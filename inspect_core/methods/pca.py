"""Plain principal component analysis: the distance to the subspace near which most good patches lie."""

from dataclasses import replace

from torch import Tensor

from inspect_core.detectors.cop_corp.covariance import MappedCovariance
from inspect_core.detectors.cop_corp.feature_maps import identity_map
from inspect_core.methods import cop
from inspect_core.methods.method import Parameters, Patches
from inspect_core.package import arrays, fields


def _begin(patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> MappedCovariance:
    return MappedCovariance(identity_map(patches.width))


METHOD = replace(
    cop.METHOD,
    title="Plain principal components",
    when="For comparison: the distance to the plane that holds most good patches.",
    reference="Reconstruction error of principal component analysis",
    rank=7,
    offered=False,
    begin=_begin,
    arrays=arrays.subspace("k", mean=fields.LARGEST),
    fields=fields.COSINE | {"cosine": fields.one_of(False)},
    space=None,
)
