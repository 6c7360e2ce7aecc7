"""Shared by the methods that learn components of good patches: after a feature map, in kernel space, or as they are."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from inspect_core.detectors.cop_corp.covariance import MappedCovariance
from inspect_core.detectors.cop_corp.feature_maps import FeatureMap
from inspect_core.detectors.cop_corp.residual import KernelPCAMap
from inspect_core.methods.graphs import Graph, as_rows, constant
from inspect_core.methods.method import (
    BATCH,
    PUBLISHED,
    Control,
    Costs,
    Method,
    Option,
    Parameters,
    Patches,
    Tell,
    Workload,
)
from inspect_core.recipe_format.arrays import ROW_BYTES

COSINE_WORDS = "Only the direction of the features counts, not their strength (cosine map)."

Q = Control(
    "Explained variance (q)",
    "share of the good patches' variance, by the first q components",
    "higher tolerates more",
    "How much normal variation is tolerated: the score is what the first q components cannot explain. Too high also "
    "tolerates defects. Every value comes from the same fit.",
)

EXPLAINED_VARIANCE = Option(
    "share of the good patches' variance that the first q components explain, to begin with",
    float,
    "Explained variance, %",
    "How much of the good patches' variance counts as normal, to begin with. It moves live on Inspect.",
    range(50, 101),
    per=100,
    bounds=(0.01, 1.0),
)


def _every(patches: int, parameters: Parameters) -> int:
    """One patch of how many is learned from."""
    most = parameters.get("most_patches")
    return 1 if most is None else max(1, patches // most)


LEAST_RESIDUAL = 0.01
"""Share of the variance of good patches left, from which on lengths in float32 give it to 1e-5."""


class ThinnedCovariance(MappedCovariance):
    """Of one patch of `every` of each photo, of other places from one photo to the next."""

    def __init__(self, feature_map: FeatureMap, every: int) -> None:
        super().__init__(feature_map)
        self.every = every

    def update_photos(self, features: Tensor, photos: Sequence[int]) -> MappedCovariance:
        """Take in features (n, h, w, m) of the n photos of these numbers, as many of each."""
        every = self.every
        patches = features.flatten(1, -2)
        count = patches.shape[1] // every
        thinned = [photo[number % every :: every][:count] for number, photo in zip(photos, patches, strict=True)]
        return self.update(torch.cat(thinned))


class SubspaceMethod(Method):
    """From the covariance of mapped patches, gathered photo by photo. most_patches: of how many, evenly from all photos
    and places, None for all. The map is chosen by `feature_map`.
    """

    defaults = {"explained_variance": 0.9, "most_patches": 100_000}
    published = PUBLISHED | {"most_patches": None}
    detector_class = KernelPCAMap
    live_parameter = "q"
    options = {"explained_variance": EXPLAINED_VARIANCE}
    controls = {"q": Q}

    def feature_map(self, width: int, seed: int, parameters: Parameters) -> FeatureMap:
        """Φ of features of this width."""
        raise NotImplementedError

    def begin(self, patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> MappedCovariance:
        every = _every(patches.photos * patches.grid[0] * patches.grid[1], parameters)
        return ThinnedCovariance(self.feature_map(patches.width, seed, parameters), every)

    def update(self, statistics: ThinnedCovariance, features: Tensor, photos: Sequence[int]) -> object:
        return statistics.update_photos(features, photos)

    def finish(self, statistics: MappedCovariance, seed: int, parameters: Parameters, report: Tell) -> KernelPCAMap:
        return statistics.finish(explained_variance=parameters["explained_variance"])

    def costs(self, work: Workload, parameters: Parameters) -> Costs:
        """One covariance of the mapped features over all patches, and its eigenvectors."""
        D = int(parameters.get("M") or work.width)
        rows = work.places * work.fit // _every(work.places * work.fit, parameters) + work.places * work.shown
        state_bytes = 32 * D * D + 32 * D * work.width + 64 * work.width**2
        memory = state_bytes + 2 * ROW_BYTES * max(D, work.width) + 8 * BATCH * work.places * work.width
        return Costs(2.5e-11 * rows * D * D + 1.5e-9 * D**3, memory)

    def max_value(self, detector: KernelPCAMap) -> int:
        return int(detector.components.shape[1])

    def start(self, detector: KernelPCAMap) -> int:
        return detector.components_for(detector.explained_variance)

    def variances(self, detector: KernelPCAMap) -> Tensor:
        return detector.eigenvalues

    def to_space(self, detector: KernelPCAMap, features: Tensor, places: np.ndarray, value: int | None) -> Tensor:
        """The patches after the detector's own feature map."""
        return detector.feature_map(features.to(detector.mean.device)).float()

    def fit_warning(self, detector: KernelPCAMap, patches: Patches, parameters: Parameters, value: int) -> str | None:
        return on_alike(detector.components.shape[1], patches)

    def graph(self, detector: KernelPCAMap, columns: Tensor | None, value: int) -> Graph:
        return columns, SubspaceErrors(detector, value)


class SubspaceErrors(nn.Module):
    """`KernelPCAMap.score` with q components: the length of the residual of the mapped features.

    From the components that are left where these are fewer than those removed; else from the length of the features and
    that of what is removed, unless the residual would be lost to cancellation.
    """

    mean: Tensor
    components: Tensor

    def __init__(self, detector: KernelPCAMap, q: int) -> None:
        super().__init__()
        self.feature_map = detector.feature_map.to(torch.device("cpu"))
        dimensions = detector.components.shape[1]
        self.of_the_rest = dimensions == len(detector.mean) and dimensions - q < q
        residual = float(detector.eigenvalues[q:].sum() / detector.eigenvalues.sum()) if dimensions else 0.0
        self.of_lengths = not self.of_the_rest and residual >= LEAST_RESIDUAL
        part = slice(q, None) if self.of_the_rest else slice(q)
        constant(self, mean=detector.mean, components=detector.components[:, part])

    def forward(self, features: Tensor) -> Tensor:
        centred = self.feature_map(as_rows(features).to(self.mean.dtype)) - self.mean
        projected = centred @ self.components
        if self.of_lengths:
            squares = (centred.square().sum(-1) - projected.square().sum(-1)).clamp_min(0)
        else:
            squares = (projected if self.of_the_rest else centred - projected @ self.components.T).square().sum(-1)
        return squares.sqrt().float().unflatten(1, features.shape[2:])


def on_alike(rank: int, patches: Patches) -> str | None:
    """The remark on a fit that found this many components."""
    if rank:
        return None
    return (
        f"The {patches.photos} good photos are identical, so Loupe cannot learn normal variation. Add new photos of "
        "other good parts."
    )
