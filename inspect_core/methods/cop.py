"""CoP: kernel PCA with a cosine map (Fang et al. 2024)."""

from inspect_core.detectors.cop_corp.feature_maps import FeatureMap, cosine_map
from inspect_core.methods.method import Parameters
from inspect_core.methods.subspace import COSINE_WORDS, SubspaceMethod
from inspect_core.runtime.json_record import Rules, one_of


class CopMethod(SubspaceMethod):
    title = "Fast texture"
    use_case = "Fastest for textures: uses the direction of patch features, not their strength."
    reference = "CoP, kernel PCA with a cosine map (Fang et al. 2024)"
    published_words = (
        "The cosine map and the fused product check are those of Fang et al., who score whole images: "
        "patches, layers and grid are those of Kim et al., and the share of variance is Loupe's."
    )
    rank = 3
    comparison_detectors = ("cop",)
    published = {**SubspaceMethod.published, "fused_product_check": True}
    space = COSINE_WORDS

    def rules(self) -> Rules:
        return {**super().rules(), "cosine": one_of(True), "gamma": one_of(None)}

    def feature_map(self, width: int, seed: int, parameters: Parameters) -> FeatureMap:
        return cosine_map(width)


METHOD = CopMethod()
