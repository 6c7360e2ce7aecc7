"""The localized Mahalanobis distance on sampled instead of mixed channels (PaDiM, Defard et al. 2021)."""

from torch import Tensor

from inspect_core.detectors.mahalanobis import sampled
from inspect_core.methods.mahalanobis import MahalanobisMethod
from inspect_core.methods.method import Parameters


class SampledMahalanobisMethod(MahalanobisMethod):
    title = "Channel sampling"
    use_case = "Baseline: by location, with randomly chosen channels instead of mixed ones."
    reference = "PaDiM-style channel sampling (Defard et al. 2021)"
    published_words = (
        "k = 100, the ridge and three layers are PaDiM's; PaDiM crops the middle of the photo, this does not."
    )
    rank = 6
    is_offered = False
    ensemble_rank = 0
    candidates = ()

    def project(self, d: int, seed: int, parameters: Parameters) -> Tensor:
        return sampled(d, min(int(parameters["k"]), d), seed=seed)


METHOD = SampledMahalanobisMethod()
