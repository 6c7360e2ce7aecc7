"""How far a patch differs from good ones as known defects do (Fisher 1936): learned from drawn places of defects."""

from collections.abc import Sequence

from torch import Tensor, nn

from inspect_core.detectors.cop_corp.covariance import MappedCovariance
from inspect_core.detectors.cop_corp.feature_maps import identity_map
from inspect_core.detectors.defect_direction import DefectDirection, fit
from inspect_core.methods.graphs import Graph, constant
from inspect_core.methods.method import PUBLISHED, Costs, Method, Parameters, Patches, Tell, Workload


class DiscriminantMethod(Method):
    """What a fit on good photos gives it finds nothing yet; `study.known_defects` learns from defects and joins it."""

    title = "Learned defects"
    use_case = "Learned from known defects that you drew: finds what is like them more surely."
    reference = "Fisher's linear discriminant (Fisher 1936)"
    published_words = "The discriminant is Fisher's; patches, shrinkage and the rule for joining it are Loupe's."
    rank = 11
    defaults = {}
    detector_class = DefectDirection
    published = PUBLISHED | {"grid": (32, 32)}
    has_one_scale = True
    counts_excess = True
    is_offered = False
    learns_from_defects = True

    def begin(self, patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> MappedCovariance:
        return MappedCovariance(identity_map(patches.width))

    def update(self, statistics: MappedCovariance, features: Tensor, photos: Sequence[int]) -> MappedCovariance:
        return statistics.update(features)

    def finish(self, statistics: MappedCovariance, seed: int, parameters: Parameters, report: Tell) -> DefectDirection:
        return fit(statistics, ())

    def costs(self, work: Workload, parameters: Parameters) -> Costs:
        """The products of all good patches, and one product for each patch shown."""
        seconds = 1e-10 * work.places * work.width * (work.width * work.fit + work.shown)
        return Costs(seconds, 32 * work.width**2)

    def graph(self, detector: DefectDirection, columns: Tensor | None, value: int) -> Graph:
        return columns, DefectScores(detector)


class DefectScores(nn.Module):
    """`DefectDirection.score`."""

    mean: Tensor
    direction: Tensor

    def __init__(self, detector: DefectDirection) -> None:
        super().__init__()
        constant(self, mean=detector.mean, direction=detector.direction)

    def forward(self, features: Tensor) -> Tensor:
        return (features.permute(0, 2, 3, 1) - self.mean) @ self.direction


METHOD = DiscriminantMethod()
