"""Distance to the nearest good patch near the same place, in principal components (after Roth et al. 2022)."""

from collections.abc import Sequence
from typing import Self

from torch import Tensor, nn

from inspect_core.detectors.nearby_patches import NearbyPatches, blocks_of, fit, least_distances
from inspect_core.methods.graphs import Graph, constant
from inspect_core.methods.method import PUBLISHED, Costs, Method, Parameters, Patches, Tell, Workload
from inspect_core.methods.patch_sampling import PatchSampler

COMPONENTS, REACH = 40, 2
"""Principal components of a patch, and cells within which a good patch counts (MEASUREMENTS section 3)."""
LEAST_PHOTOS, MOST_PHOTOS = 8, 60
"""Photos that are kept whole, fewer on finer grids; more than one, so that some are left without those of a fold."""
PLACES = 32 * 32
"""Of the finest grid for which MOST_PHOTOS are kept."""


class KeptPhotos(PatchSampler):
    """All patches of every so many photos: of at most `most`."""

    def __init__(self, photos: int, most: int, grid: tuple[int, int]) -> None:
        super().__init__(photos * grid[0] * grid[1], photos, seed=0)
        self.grid = grid
        self.step = -(-photos // most)

    def draw(self, patches: Tensor, photos: Sequence[int]) -> Self:
        for number, photo in zip(photos, patches, strict=True):
            if number % self.step == 0:
                self._rows[number] = photo.reshape(-1, photo.shape[-1]).clone()
        return self

    def patches(self) -> Tensor:
        """(n, h, w, k) in the order of the photos. Raises ValueError when there was none."""
        rows = self.rows()
        return rows.reshape(-1, *self.grid, rows.shape[-1])


class NearbyPatchMethod(Method):
    title = "Nearby patch"
    use_case = (
        "For parts that vary a little in place: compares every patch with the most similar good one around there."
    )
    reference = "Nearest patch (PatchCore, Roth et al. 2022), from a bank for each place"
    published_words = (
        "Layers 2 and 3 and the grid are PatchCore's; the bank for each place, its principal components and scores "
        "without reweighting are Loupe's."
    )
    rank = 9
    defaults = {}
    detector_class = NearbyPatches
    published = PUBLISHED | {"taps": ("layer2", "layer3"), "grid": (32, 32)}
    has_one_scale = True
    ensemble_rank = 6
    candidates = ("nearby", "mahalanobis+nearby")

    def begin(self, patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> KeptPhotos:
        return KeptPhotos(patches.photos, _photos(patches.grid[0] * patches.grid[1]), patches.grid)

    def update(self, statistics: KeptPhotos, features: Tensor, photos: Sequence[int]) -> KeptPhotos:
        return statistics.draw(features, photos)

    def finish(self, statistics: KeptPhotos, seed: int, parameters: Parameters, report: Tell) -> NearbyPatches:
        return fit(statistics.patches(), components=COMPONENTS, reach=REACH)

    def costs(self, work: Workload, parameters: Parameters) -> Costs:
        """What the photos kept take, and the distances of every patch shown to those in its reach."""
        rows = _photos(work.places) * work.places
        distances = 2e-9 * rows * COMPONENTS * work.shown
        return Costs(distances + 1e-9 * rows * work.width**2, rows * (12 * work.width + 16 * COMPONENTS))

    def graph(self, detector: NearbyPatches, columns: Tensor | None, value: int) -> Graph:
        return columns, NearbyDistances(detector)


def _photos(places: int) -> int:
    """How many photos are kept on a grid of so many places."""
    return max(LEAST_PHOTOS, min(MOST_PHOTOS, MOST_PHOTOS * PLACES // places))


class NearbyDistances(nn.Module):
    """`NearbyPatches.score`."""

    mean: Tensor
    basis: Tensor

    def __init__(self, detector: NearbyPatches) -> None:
        super().__init__()
        self.reach = detector.reach
        constant(self, mean=detector.mean, basis=detector.basis)
        blocks = blocks_of(detector.bank.cpu(), detector.reach)
        self.blocks = nn.ParameterList(nn.Parameter(block, False) for block in blocks)

    def forward(self, features: Tensor) -> Tensor:
        z = (features.permute(0, 2, 3, 1) - self.mean) @ self.basis
        return least_distances(z, list(self.blocks), self.reach)


METHOD = NearbyPatchMethod()
