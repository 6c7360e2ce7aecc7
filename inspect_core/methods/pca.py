"""Plain principal component analysis: the distance to the subspace near which most good patches lie."""

from inspect_core.detectors.cop_corp.feature_maps import FeatureMap, identity_map
from inspect_core.methods.method import Parameters
from inspect_core.methods.subspace import SubspaceMethod
from inspect_core.runtime.json_record import Rules, one_of


class PCAMethod(SubspaceMethod):
    title = "Plain PCA"
    use_case = "Baseline: distance to the subspace that contains most good patches."
    reference = "Reconstruction error of principal component analysis"
    published_words = "A baseline: patches, layers and grid are those of Kim et al."
    rank = 7
    is_offered = False

    def rules(self) -> Rules:
        return {**super().rules(), "cosine": one_of(False), "gamma": one_of(None)}

    def feature_map(self, width: int, seed: int, parameters: Parameters) -> FeatureMap:
        return identity_map(width)


METHOD = PCAMethod()
