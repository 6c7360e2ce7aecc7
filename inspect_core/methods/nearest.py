"""Distance to the nearest good patch of a bank that covers a seeded sample (PatchCore, Roth et al. 2022)."""

import torch
from torch import Tensor, nn

from inspect_core.detectors.baselines import NearestNeighbour, fit_nearest_neighbour, spread_out
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
        "Layers 2 and 3 and the grid are PatchCore's; the bank of 2,000 patches and scores without "
        "reweighting are Loupe's."
    )
    rank = 8
    defaults = {"patches": 2000, "neighbour": 1}
    detector_class = NearestNeighbour
    published = PUBLISHED | {"taps": ("layer2", "layer3"), "grid": (32, 32)}
    ensemble_rank = 5
    candidates = (
        "nearest", "mahalanobis+nearest", "corp+nearest", "mahalanobis+corp+nearest",
        "mahalanobis+quadrics+corp+nearest",
    )  # fmt: skip

    def begin(self, patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> PatchSampler:
        return PatchSampler(DRAWN * int(parameters["patches"]), patches.photos, seed)

    def finish(self, statistics: PatchSampler, seed: int, parameters: Parameters, report: Tell) -> NearestNeighbour:
        count = int(parameters["patches"])
        bank = statistics.choose(lambda rows, before: spread_out(rows, count, before))
        return fit_nearest_neighbour(bank, k=int(parameters["neighbour"]))

    def costs(self, work: Workload, parameters: Parameters) -> Costs:
        """A sample that is drawn, and the distances of every patch shown to it."""
        n = int(parameters["patches"])
        memory = 16 * DRAWN * n * work.width + 2 * ROW_BYTES * max(n, work.width)
        return Costs(3.5e-9 * work.places * work.shown * n, memory)

    def graph(self, detector: NearestNeighbour, columns: Tensor | None, value: int) -> Graph:
        return columns, NearestDistances(detector)


class NearestDistances(nn.Module):
    """`NearestNeighbour.score`: the neighbour by one matrix product, its distance from coordinate differences."""

    bank: Tensor
    columns: Tensor
    half_squares: Tensor

    def __init__(self, detector: NearestNeighbour) -> None:
        super().__init__()
        self.k, self.unit = detector.k, detector.unit
        constant(self, bank=detector.bank, columns=detector.bank.T, half_squares=-detector.bank.square().sum(-1) / 2)

    def forward(self, features: Tensor) -> Tensor:
        x = as_rows(features)
        if self.unit:
            x = x / (x.square().sum(-1, keepdim=True).sqrt() + 1e-10)
        # One product of all rows, to which the squares are added on the way.
        nearness = torch.addmm(self.half_squares, x.flatten(0, 1), self.columns)
        nearest = nearness.topk(self.k).indices[:, -1].unflatten(0, x.shape[:2])
        return (x - self.bank[nearest]).square().sum(-1).sqrt().unflatten(1, features.shape[2:])


METHOD = NearestPatchMethod()
