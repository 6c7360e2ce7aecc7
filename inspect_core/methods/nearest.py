"""Distance to the nearest good patch of a bank that covers a seeded sample (PatchCore, Roth et al. 2022)."""

from torch import Tensor, addmm, nn

from inspect_core.detectors.nearest_patch import NearestPatch, fit, sketched, spread_out
from inspect_core.methods.graphs import Graph, as_rows, constant
from inspect_core.methods.method import PUBLISHED, Costs, Parameters, Patches, Tell, Workload
from inspect_core.methods.patch_sampling import PatchSampleMethod, PatchSampler
from inspect_core.recipe_format.arrays import ROW_BYTES

DRAWN = 8
"""Patches drawn for each that the bank holds: of fewer, rare ones are missing (screws, three for each: .87 for .94)."""


class NearestPatchMethod(PatchSampleMethod):
    title = "Nearest patch"
    use_case = "For any part: compares every patch with the most similar one of a bank of good patches."
    reference = "Nearest neighbour in a bank chosen by greedy k-centre selection (PatchCore, Roth et al. 2022)"
    published_words = (
        "Layers 2 and 3 and the grid are PatchCore's; the bank of 6,000 patches, its sketch and "
        "scores without reweighting are Loupe's."
    )
    rank = 8
    defaults = {"patches": 6000}
    detector_class = NearestPatch
    published = PUBLISHED | {"taps": ("layer2", "layer3"), "grid": (32, 32)}
    ensemble_rank = 5
    candidates = ("nearest", "mahalanobis+nearest", "corp+nearest", "mahalanobis+corp+nearest")

    def begin(self, patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> PatchSampler:
        return PatchSampler(DRAWN * int(parameters["patches"]), patches.photos, seed)

    def finish(self, statistics: PatchSampler, seed: int, parameters: Parameters, report: Tell) -> NearestPatch:
        count = int(parameters["patches"])
        return fit(statistics.choose(lambda rows, before: spread_out(rows, count, before)))

    def costs(self, work: Workload, parameters: Parameters) -> Costs:
        """A sample that is drawn, and the sketch of every patch shown compared with all of its bank."""
        n = int(parameters["patches"])
        memory = 16 * DRAWN * n * work.width + 2 * ROW_BYTES * max(n, work.width)
        return Costs(1.4e-9 * work.places * work.shown * n, memory)

    def graph(self, detector: NearestPatch, columns: Tensor | None, value: int) -> Graph:
        return columns, NearestDistances(detector)


class NearestDistances(nn.Module):
    """`NearestPatch.score`."""

    bank: Tensor
    basis: Tensor
    columns: Tensor
    half_squares: Tensor

    def __init__(self, detector: NearestPatch) -> None:
        super().__init__()
        constant(self, bank=detector.bank, basis=detector.basis)
        constant(self, columns=detector.sketches.T, half_squares=detector.half_squares)

    def forward(self, features: Tensor) -> Tensor:
        x = as_rows(features)
        # One product of all rows, to which the squares are added on the way.
        nearness = addmm(self.half_squares, sketched(x, self.basis).flatten(0, 1), self.columns)
        nearest = nearness.topk(1).indices[:, 0].unflatten(0, x.shape[:2])
        return (x - self.bank[nearest]).square().sum(-1).sqrt().unflatten(1, features.shape[2:])


METHOD = NearestPatchMethod()
