"""The localized Mahalanobis distance on sampled instead of mixed channels (PaDiM, Defard et al. 2021)."""

from torch import Tensor

from inspect_core.detectors.mahalanobis import sampled
from inspect_core.methods.mahalanobis import PlaceByPlace
from inspect_core.methods.method import Parameters


class Sampled(PlaceByPlace):
    title = "By location, sampled channels"
    when = "Baseline: by location, with randomly chosen channels instead of mixed ones."
    reference = "PaDiM-style channel sampling (Defard et al. 2021)"
    rank = 6
    offered = False
    joins = 0
    candidates = ()

    def project(self, d: int, seed: int, parameters: Parameters) -> Tensor:
        return sampled(d, min(int(parameters["k"]), d), seed=seed)


METHOD = Sampled()
