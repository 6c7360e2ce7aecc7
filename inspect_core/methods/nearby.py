"""Distance to the nearest good patch near the same place, in principal components (after Roth et al. 2022)."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Self

import torch
from torch import Tensor, nn

from inspect_core.detectors.nearby_patches import NearbyPatches, blocks_of, fit, least_distances
from inspect_core.methods.graphs import Graph, constant
from inspect_core.methods.method import PUBLISHED, Costs, Method, Parameters, Patches, Tell, Workload
from inspect_core.recipe_format import arrays, fields

COMPONENTS, REACH = 40, 2
"""Principal components of a patch, and cells within which a good patch counts (MEASUREMENTS section 3)."""
MOST_PHOTOS = 60
MOST_NUMBERS = MOST_PHOTOS * 32 * 32 * COMPONENTS
"""Of a bank; of finer grids fewer photos are kept."""


class KeptPhotos:
    """Every so many photos whole, by their numbers: at most `most` of all."""

    def __init__(self, photos: int, most: int) -> None:
        self.step = -(-photos // most)
        self._photos: dict[int, Tensor] = {}

    def keep(self, features: Tensor, numbers: Sequence[int]) -> Self:
        """Take from features (n, h, w, k) of the photos of these numbers."""
        for number, photo in zip(numbers, features, strict=True):
            if number % self.step == 0:
                self._photos[number] = photo.clone()
        return self

    def merge(self, other: Self) -> Self:
        """Add what other statistics kept of other photos."""
        self._photos |= other._photos
        return self

    def without(self, other: Self) -> Self:
        """Return what is left without the photos of others; both stay as they are."""
        rest = copy(self)
        rest._photos = {number: photo for number, photo in self._photos.items() if number not in other._photos}
        return rest

    def patches(self) -> Tensor:
        """Return (n, h, w, k) in the order of the photos. Raises ValueError when none was kept."""
        if not self._photos:
            raise ValueError("no photo has been seen; give at least one good photo to keep")
        return torch.stack([self._photos[number] for number in sorted(self._photos)])

    def state(self) -> dict[str, Tensor]:
        """photos (n, h, w, k), numbers (n,) int64; nothing before the first photo."""
        if not self._photos:
            return {}
        return {"photos": torch.stack(list(self._photos.values())), "numbers": torch.tensor(list(self._photos))}

    def restore(self, state: Mapping[str, Tensor]) -> Self:
        """Replace its photos by those in the `state` of others. Raises ValueError for any other arrays."""
        self._photos = {}
        if not state:
            return self
        photos, numbers = state.get("photos"), state.get("numbers")
        fits = state.keys() == {"photos", "numbers"} and photos is not None and numbers is not None
        if not fits or photos.ndim != 4 or photos.dtype != torch.float32 or numbers.shape != photos.shape[:1]:
            raise ValueError("state is not of kept photos; it comes from another fit")
        self._photos = dict(zip(numbers.tolist(), photos, strict=True))
        return self


class NearbyPatchMethod(Method):
    title = "Nearest good patch nearby"
    short_title = "Nearby"
    use_case = (
        "For parts that vary a little in place: compares every patch with the most similar good one around there."
    )
    reference = "Nearest good patch (PatchCore, Roth et al. 2022), from a bank for each place"
    published_words = (
        "Layers 2 and 3 and the grid are PatchCore's; the bank for each place, its principal components and scores "
        "without reweighting are Loupe's."
    )
    rank = 9
    defaults = {}
    detector_class = NearbyPatches
    arrays = {"mean": arrays.floats("k"), "basis": arrays.unit("k r"), "bank": arrays.floats("h w n r")}
    fields = {"reach": fields.whole(0)}
    published = PUBLISHED | {"taps": ("layer2", "layer3"), "grid": (32, 32)}
    has_one_scale = True
    ensemble_rank = 6
    candidates = ("nearby", "mahalanobis+nearby", "mahalanobis+corp+nearest+nearby")

    def begin(self, patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> KeptPhotos:
        places = patches.grid[0] * patches.grid[1]
        most = MOST_NUMBERS // (places * min(COMPONENTS, patches.width))
        return KeptPhotos(patches.photos, max(1, min(MOST_PHOTOS, most)))

    def update(self, statistics: KeptPhotos, features: Tensor, photos: Sequence[int]) -> KeptPhotos:
        return statistics.keep(features, photos)

    def finish(self, statistics: KeptPhotos, seed: int, parameters: Parameters, report: Tell) -> NearbyPatches:
        return fit(statistics.patches(), components=COMPONENTS, reach=REACH)

    def costs(self, work: Workload, parameters: Parameters) -> Costs:
        """Return what the photos kept take, and the distances of every patch shown to those in its reach."""
        numbers = min(MOST_NUMBERS, MOST_PHOTOS * work.places * COMPONENTS)
        features = numbers // COMPONENTS * work.width
        return Costs(1.5e-9 * numbers * work.shown + 1e-9 * features * work.width, 12 * features + 16 * numbers)

    def graph(self, detector: NearbyPatches, columns: Tensor | None, value: int) -> Graph:
        return columns, NearbyDistances(detector)


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
