"""Localized Mahalanobis distances under a semi-orthogonal embedding (Kim et al. 2021)."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from inspect_core.detectors.mahalanobis import LocalGaussian, Mahalanobis, semi_orthogonal
from inspect_core.detectors.mahalanobis.per_location import whitening_blocks
from inspect_core.images.tiles import TilePlan
from inspect_core.methods.graphs import Graph, constant
from inspect_core.methods.method import Control, Costs, Method, Option, Parameters, Patches, Tell, Workload
from inspect_core.methods.spectrum import LocalSpectrum
from inspect_core.recipe_format.arrays import ROW_BYTES

_ROWS = 256
_MOST_ON_TEACH = 200


class MahalanobisMethod(Method):
    title = "By location"
    use_case = "For parts in a fixed position: learns what is normal at each location."
    reference = "Semi-orthogonal embedding for localized Mahalanobis distances (Kim et al. 2021)"
    published_words = (
        "k = 100, three layers, the patch grid and the photo size are those of Kim et al.; the ridge is of the "
        "authors' code; their backbones are ResNet-18 and Wide ResNet-50-2."
    )
    rank = 1
    defaults = {"k": 100, "ridge": 0.01}
    detector_class = Mahalanobis
    taps = "expansions"
    pool = 1
    ensemble_rank = 1
    candidates = ("mahalanobis",)
    options = {
        "k": Option(
            "features kept at each location",
            label="k, at most",
            help="Mixed features kept at each location. Any smaller k can be tried live afterwards.",
        )
    }
    live_parameter = "k"
    controls = {
        "k": Control(
            "Detail (k)",
            "mixed features per location",
            "higher detects finer changes",
            "How finely normal variation is modelled. Higher finds smaller changes but needs more good photos; lower "
            "rejects fewer good parts. Every value comes from the same fit (Kim et al. 2021).",
        )
    }
    space = (
        "Whitened at its location: how far a patch is from the good ones there, in standard deviations, in each of k "
        "directions. The length of this vector is the patch's score."
    )

    def project(self, d: int, seed: int, parameters: Parameters) -> Tensor:
        return semi_orthogonal(d, min(int(parameters["k"]), d), seed=seed)

    def begin(self, patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> LocalGaussian:
        assert columns is not None
        return LocalGaussian(columns, grid=patches.grid)

    def update(self, statistics: LocalGaussian, features: Tensor, photos: Sequence[int]) -> object:
        return statistics.update_projected(features)

    def finish(self, statistics: LocalGaussian, seed: int, parameters: Parameters, report: Tell) -> Mahalanobis:
        return statistics.finish(ridge=parameters["ridge"])

    def costs(self, work: Workload, parameters: Parameters) -> Costs:
        """A covariance and its factor at every place, and a triangular solve for every patch shown."""
        k = min(int(parameters["k"]), work.width)
        triangle = work.places * k * k
        memory = 20 * triangle + 256 * work.places * k + 96 * k * k + 4 * ROW_BYTES * k
        return Costs(2.5e-11 * triangle * work.fit + 2.8e-10 * triangle * work.shown + 3e-8 * triangle, memory)

    def score(self, detector: Mahalanobis, patches: Tensor, value: int | None) -> Tensor:
        return detector.score_projected(patches, k=value)

    def sweep(self, detector: Mahalanobis, patches: Tensor, stops: tuple[int, ...]) -> Tensor:
        return detector.sweep_projected(patches, stops)

    def max_value(self, detector: Mahalanobis) -> int:
        return int(detector.projection.shape[1])

    def slider_values(self, name: str, chosen: Parameters, tiles: TilePlan | None) -> tuple[range, int]:
        most = _MOST_ON_TEACH if tiles is None else min(tiles.largest_k, _MOST_ON_TEACH)
        return range(10, most + 1, 10), int(chosen["k"]) // 10 * 10

    def spectrum(self, detector: Mahalanobis) -> LocalSpectrum:
        return LocalSpectrum(detector.spectrum().cpu().numpy(), detector.images, detector.ridge)

    def to_space(self, detector: Mahalanobis, features: Tensor, places: np.ndarray, value: int | None) -> Tensor:
        """y = L⁻¹ (z - mean) of each patch at its place, in the first k dimensions; ‖y‖ is its score."""
        k = detector.mean.shape[-1] if value is None else value
        z = features.to(detector.mean.device)
        y = z.new_empty(len(z), k)
        for start in range(0, len(z), _ROWS):
            here = slice(start, start + _ROWS)
            row, column = places[here].T
            centred = (z[here] - detector.mean[row, column])[:, :k, None].double()
            factor = detector.cholesky[row, column][:, :k, :k].double()
            y[here] = torch.linalg.solve_triangular(factor, centred, upper=False)[:, :, 0].float()
        return y

    def fit_warning(self, detector: Mahalanobis, patches: Patches, parameters: Parameters, value: int) -> str | None:
        if not 1 < patches.photos <= value:
            return None
        return (
            f"{patches.photos} good photos are too few for k = {value}: some of the normal variation is guessed, so "
            f"new good parts will score higher. Add good photos, ideally more than {value}, or lower k."
        )

    def graph(self, detector: Mahalanobis, columns: Tensor | None, value: int) -> Graph:
        return detector.projection[:, :value], PlaceDistances(detector, value)


class PlaceDistances(nn.Module):
    """`Mahalanobis.score_projected` in the first k dimensions."""

    mean: Tensor

    def __init__(self, detector: Mahalanobis, k: int) -> None:
        super().__init__()
        constant(self, mean=detector.mean[..., :k].permute(2, 0, 1))
        factors = detector.cholesky.flatten(0, 1)[:, :k, :k].float().cpu()
        self.blocks = nn.ParameterList(nn.Parameter(block, False) for block in whitening_blocks(factors))

    def forward(self, features: Tensor) -> Tensor:
        centred = (features - self.mean).flatten(2).permute(2, 0, 1)
        squares = [(centred[..., : block.shape[1]] @ block).square().sum(-1) for block in self.blocks]
        return torch.stack(squares).sum(0).sqrt().T.unflatten(1, features.shape[2:])


METHOD = MahalanobisMethod()
