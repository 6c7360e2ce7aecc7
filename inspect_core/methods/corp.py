"""CoRP: kernel PCA with a cosine and a random-Fourier map (Fang et al. 2024)."""

import numpy as np
from torch import Tensor

from inspect_core.detectors.cop_corp.covariance import MappedCovariance
from inspect_core.detectors.cop_corp.feature_maps import cosine, cosine_fourier_map
from inspect_core.detectors.cop_corp.residual import KernelPCAMap
from inspect_core.methods import graphs
from inspect_core.methods.method import Control, Method, Parameters, Patches, Space
from inspect_core.methods.pooled import (
    KERNEL_VALUES,
    Q,
    at_most_widest,
    covariance_costs,
    finish_covariance,
    median_square,
    on_alike,
    variance_stops,
)
from inspect_core.package import arrays, fields


def _begin(patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> MappedCovariance:
    gamma, M = parameters["gamma"], int(parameters["M"])
    return MappedCovariance(cosine_fourier_map(patches.width, gamma=gamma, M=M, seed=seed))


def _gammas(sample: Tensor, seed: int) -> list[dict[str, float]]:
    """γ at which the median kernel value of two good directions is each of KERNEL_VALUES."""
    squares = median_square(cosine(sample.double()), seed)
    return [{"gamma": -float(np.log(value)) / squares} for value in KERNEL_VALUES] if squares else [{}]


def explicit(detector: KernelPCAMap, features: Tensor, places: object, q: int | None) -> Tensor:
    """The patches after the detector's own feature map, (n, D)."""
    return detector.feature_map(features.to(detector.mean.device)).float()


METHOD = Method(
    title="Surface, flexible",
    when="Textures and parts in any orientation: learns the normal look of small patches, wherever they are.",
    reference="CoRP, kernel PCA with a cosine and a random-Fourier map (Fang et al. 2024)",
    rank=2,
    defaults={"gamma": 1.0, "M": 1024, "explained_variance": 0.9},
    project=at_most_widest,
    begin=_begin,
    see=lambda statistics, features, photos: statistics.update(features),
    finish=finish_covariance,
    costs=covariance_costs,
    graph=graphs.of_subspace,
    from_arrays=KernelPCAMap.from_arrays,
    arrays=arrays.fourier("k"),
    fields=fields.FOURIER,
    live="q",
    score=lambda detector, patches, q: detector.score(patches, q=q),
    sweep=lambda detector, patches, stops: detector.sweep(patches, stops),
    top=lambda detector: int(detector.components.shape[1]),
    start=lambda detector: detector.components_for(detector.explained_variance),
    refits=("gamma", "M"),
    refit_values=lambda detector: {"gamma": detector.feature_map.gamma, "M": detector.feature_map.D},
    controls={
        "q": Q,
        "gamma": Control(
            "γ: sharpness",
            "per squared distance of two directions",
            "Higher compares a patch with its closest look-alikes only: finer, and noisier on good parts.",
            "Kernel exp(-γ d²) between patch directions (Fang et al. 2024, CoRP).",
        ),
        "M": Control(
            "M: precision",
            "random features",
            "Higher follows the kernel more exactly and takes longer, with the square of M.",
            "The kernel's error falls as 1/√M. Scores of different M are on different scales.",
        ),
    },
    space=Space("Cosine map, then random Fourier features: the curved space that CoRP fits a plane to.", explicit),
    settings=_gammas,
    trial_stops=variance_stops,
    remark=lambda detector, patches, parameters, q: on_alike(detector.components.shape[1], patches),
)
