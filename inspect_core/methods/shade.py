"""The colour of each place against the rest of the photo: stains without an edge, areas paler or darker."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from inspect_core.detectors.mahalanobis import LocalGaussian
from inspect_core.detectors.relative_colour import RelativeColour, distances, fit, over_mean
from inspect_core.features.tapped_network import PICTURE
from inspect_core.methods.graphs import Graph, constant
from inspect_core.methods.method import PUBLISHED, Costs, Method, Parameters, Patches, Tell, Workload


class ShadeMethod(Method):
    title = "Shading"
    use_case = "For stains without an edge: compares the colour of each place with the rest of the photo."
    reference = "Mean colours of patches by location (a Gaussian for each, as Defard et al. 2021)"
    published_words = "No paper has it: everything is Loupe's, the grid too."
    rank = 10
    defaults = {"ridge": 1e-5}
    detector_class = RelativeColour
    taps = PICTURE
    published = PUBLISHED | {"grid": (32, 32)}
    has_one_scale = True
    counts_excess = True
    is_offered = False
    ensemble_rank = 7
    candidates = ("mahalanobis+nearby+shade", "corp+nearest+shade")

    def project(self, d: int, seed: int, parameters: Parameters) -> None:
        return None

    def begin(self, patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> LocalGaussian:
        return LocalGaussian(torch.eye(patches.width), grid=patches.grid)

    def update(self, statistics: LocalGaussian, features: Tensor, photos: Sequence[int]) -> object:
        return statistics.update_projected(over_mean(features))

    def finish(self, statistics: LocalGaussian, seed: int, parameters: Parameters, report: Tell) -> RelativeColour:
        return fit(statistics, ridge=parameters["ridge"])

    def costs(self, work: Workload, parameters: Parameters) -> Costs:
        """A few products at every place of every photo, and a covariance of the channels with its factor."""
        memory = (2000 + 50 * work.width**2) * work.places
        return Costs(2e-8 * work.places * (work.fit + work.shown), memory)

    def graph(self, detector: RelativeColour, columns: Tensor | None, value: int) -> Graph:
        return columns, ShadeDistances(detector)


class ShadeDistances(nn.Module):
    """`RelativeColour.score`."""

    mean: Tensor
    whitening: Tensor

    def __init__(self, detector: RelativeColour) -> None:
        super().__init__()
        constant(self, mean=detector.mean, whitening=detector.whitening)

    def forward(self, features: Tensor) -> Tensor:
        return distances(over_mean(features.permute(0, 2, 3, 1)) - self.mean, self.whitening)


METHOD = ShadeMethod()
