"""CoRP: kernel PCA with a cosine and a random-Fourier map (Fang et al. 2024)."""

from typing import Any

from inspect_core.detectors.cop_corp.feature_maps import FeatureMap, cosine_fourier_map
from inspect_core.methods.method import Control, Option, Parameters
from inspect_core.methods.subspace import Q, SubspaceMethod
from inspect_core.runtime.json_record import WIDTH, Rules, one_of

COARSE = 512
"""Random features of a first look: their eigenvectors take a twentieth of the time of 2,048."""


class CorpMethod(SubspaceMethod):
    title = "Flexible texture"
    use_case = (
        "For textures and parts in any orientation: learns the normal appearance of patches, regardless of location."
    )
    reference = "CoRP, kernel PCA with a cosine and a random-Fourier map (Fang et al. 2024)"
    published_words = (
        "The maps, independent random features and the fused product check are those of Fang et al., who "
        "score whole images and tune γ and M to the network: patches, layers and grid are those of Kim et "
        "al.; γ, M and the share of variance are Loupe's."
    )
    rank = 2
    defaults = {**SubspaceMethod.defaults, "gamma": 1.0, "M": 512, "orthogonal": 1}
    ensemble_rank = 3
    candidates = ("corp", "mahalanobis+corp")
    published = {**SubspaceMethod.published, "fused_product_check": True, "orthogonal": 0}
    options = {
        **SubspaceMethod.options,
        "gamma": Option("sharpness of the random-Fourier kernel", float),
        "M": Option("number of random-Fourier features"),
    }
    refit_parameters = ("gamma", "M")
    controls = {
        "q": Q,
        "gamma": Control(
            "Sharpness (γ)",
            "per squared distance of two directions",
            "higher resolves finer changes but is noisier on good parts",
            "How similar a good patch must be to count. Higher resolves finer changes but is noisier on good parts. "
            "Kernel exp(-γ d²) between patch directions (Fang et al. 2024, CoRP).",
        ),
        "M": Control(
            "Precision (M)",
            "random features",
            "higher is more exact and slower",
            "Higher approximates the kernel more closely; time grows with M². The features are orthogonal: for near "
            "points 512 do better than 1,024 independent ones. Scores of different M are on different scales.",
            stops=(128, 256, 512, 1024, 2048),
        ),
    }
    space = "Cosine map, then random Fourier features: the curved space that CoRP fits a plane to."

    def rules(self) -> Rules:
        return {**super().rules(), "cosine": one_of(True), "gamma": WIDTH}

    def feature_map(self, width: int, seed: int, parameters: Parameters) -> FeatureMap:
        drawn = {"gamma": parameters["gamma"], "M": int(parameters["M"]), "orthogonal": bool(parameters["orthogonal"])}
        return cosine_fourier_map(width, **drawn, seed=seed)

    def coarse(self, parameters: Parameters) -> Parameters | None:
        """Those of the first COARSE random features, which are a part of any larger draw."""
        return {**parameters, "M": COARSE} if parameters["M"] > COARSE else None

    def refit_values(self, detector: Any) -> dict[str, float]:
        return {"gamma": detector.feature_map.gamma, "M": detector.feature_map.D}


METHOD = CorpMethod()
