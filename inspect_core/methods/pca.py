"""Plain principal component analysis: the distance to the plane that holds most good patches."""

from dataclasses import replace

from torch import Tensor

from inspect_core.detectors.cop_corp.feature_maps import identity_map
from inspect_core.detectors.cop_corp.residual import KernelPCAMap
from inspect_core.methods import cop
from inspect_core.methods.method import Parameters, Patches
from inspect_core.methods.pooled import stream_covariance
from inspect_core.package import arrays, fields


def _fit(patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> KernelPCAMap:
    return stream_covariance(patches, identity_map(patches.width), parameters)


METHOD = replace(
    cop.METHOD,
    title="Plain principal components",
    when="For comparison: the distance to the plane that holds most good patches.",
    reference="Reconstruction error of principal component analysis",
    rank=7,
    offered=False,
    fit=_fit,
    arrays=arrays.subspace("k", mean=fields.LARGEST),
    fields=fields.COSINE | {"cosine": fields.one_of(False)},
    space=None,
)
