"""Distance to the nearest good patch of a bank that covers a seeded sample (after PatchCore, Roth et al. 2022)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from inspect_core.detectors.nearest_patch import (
    NearestPatch,
    fit,
    sketched,
    spread_out,
    weight_of_surround,
    with_surround,
)
from inspect_core.methods.graphs import Graph, as_rows, constant
from inspect_core.methods.method import PUBLISHED, Costs, Parameters, Patches, Tell, Workload
from inspect_core.methods.patch_sampling import PatchSampleMethod, PatchSampler
from inspect_core.recipe_format.arrays import ROW_BYTES

DRAWN = 8
"""Patches drawn for each that the bank holds: of fewer, rare ones are missing (screws, three for each: .87 for .94)."""


class NearestPatchMethod(PatchSampleMethod):
    title = "Nearest patch"
    use_case = "For any part: compares every patch and its neighbourhood with the most similar good ones."
    reference = "Nearest neighbour in a bank chosen by greedy k-centre selection (PatchCore, Roth et al. 2022)"
    published_words = (
        "Layers 2 and 3, the grid and the average over 3 × 3 patches are PatchCore's; the bank of 6,000 patches, its "
        "sketch and scores without reweighting are Loupe's."
    )
    rank = 8
    defaults = {"patches": 6000, "centre_weight": 1}
    detector_class = NearestPatch
    pool = 1
    votes = 2  # that of patches and that of their neighbourhoods
    published = PUBLISHED | {"taps": ("layer2", "layer3"), "grid": (32, 32), "centre_weight": 0}
    ensemble_rank = 5
    candidates = ("nearest", "mahalanobis+nearest", "corp+nearest", "mahalanobis+corp+nearest")

    def begin(self, patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> PatchSampler:
        return PatchSampler(DRAWN * int(parameters["patches"]), patches.photos, seed)

    def update(self, statistics: PatchSampler, features: Tensor, photos: Sequence[int]) -> PatchSampler:
        return statistics.draw(with_surround(features), photos)

    def finish(self, statistics: PatchSampler, seed: int, parameters: Parameters, report: Tell) -> NearestPatch:
        count, centre = int(parameters["patches"]), float(parameters["centre_weight"])
        drawn = statistics.rows()
        surround = weight_of_surround(drawn) if centre else 1.0  # as published: the distance of neighbourhoods itself
        weights = torch.tensor([centre, surround]).repeat_interleave(drawn.shape[1] // 2).to(drawn.device)
        bank = statistics.choose(lambda rows, before: spread_out(rows * weights, count, before))
        return fit(bank * weights, centre=centre, surround=surround)

    def costs(self, work: Workload, parameters: Parameters) -> Costs:
        """A sample that is drawn, and the sketch of every patch shown compared with all of its bank."""
        n = int(parameters["patches"])
        memory = 32 * DRAWN * n * work.width + 2 * ROW_BYTES * max(n, 2 * work.width)
        return Costs(1.1e-9 * work.places * work.shown * n, memory)

    def graph(self, detector: NearestPatch, columns: Tensor | None, value: int) -> Graph:
        return columns, NearestDistances(detector)


class NearestDistances(nn.Module):
    """`NearestPatch.score`."""

    bank: Tensor
    columns: Tensor
    sketches: Tensor
    half_squares: Tensor

    def __init__(self, detector: NearestPatch) -> None:
        super().__init__()
        self.weights = detector.centre, detector.surround
        constant(self, bank=detector.rows, columns=detector.columns)
        constant(self, sketches=detector.sketches.T, half_squares=detector.half_squares)

    def forward(self, features: Tensor) -> Tensor:
        rows = as_rows(with_surround(features, *self.weights, channels=1))
        # One product of all rows, to which the squares are added on the way.
        nearness = torch.addmm(self.half_squares, sketched(rows, self.columns).flatten(0, 1), self.sketches)
        nearest = nearness.topk(1).indices[:, 0].unflatten(0, rows.shape[:2])
        return (rows - self.bank[nearest]).square().sum(-1).sqrt().unflatten(1, features.shape[2:])


METHOD = NearestPatchMethod()
