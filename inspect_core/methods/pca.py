"""Plain principal component analysis: the distance to the subspace near which most good patches lie."""

from inspect_core.detectors.cop_corp.feature_maps import FeatureMap, identity_map
from inspect_core.methods.method import Parameters
from inspect_core.methods.subspace import SubspaceMethod
from inspect_core.recipe_format import arrays, fields


class PCAMethod(SubspaceMethod):
    title = "Plain PCA"
    use_case = "Baseline: distance to the subspace that contains most good patches."
    reference = "Reconstruction error of principal component analysis"
    published_words = "A baseline: patches, layers and grid are those of Kim et al."
    rank = 7
    arrays = arrays.subspace("k", mean=fields.LARGEST)
    fields = fields.COSINE | {"cosine": fields.one_of(False)}
    is_offered = False

    def feature_map(self, width: int, seed: int, parameters: Parameters) -> FeatureMap:
        return identity_map(width)


METHOD = PCAMethod()
