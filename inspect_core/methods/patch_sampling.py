"""A seeded sample of the good patches, drawn photo by photo: the draw from one does not depend on the others."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Self

import numpy as np
import torch
from torch import Tensor

from inspect_core.methods.method import Method, Parameters, Patches


class PatchSampler:
    """`count` patches of `photos` photos, spread evenly over them; fewer if there are fewer.

    Photo number i gives count / photos patches, rounded up, drawn with its own child of the seed; a larger count
    extends a smaller one.
    """

    def __init__(self, count: int, photos: int, seed: int) -> None:
        self.count = count
        self.each = -(-count // photos)
        self.seed = seed
        self._rows: dict[int, Tensor] = {}
        self._chosen: set[tuple[int, int]] = set()

    def draw(self, patches: Tensor, photos: Sequence[int]) -> Self:
        """Take from patches (n, ..., k) of the n photos of these numbers, which come in ascending order."""
        for number, photo_patches in zip(photos, patches.reshape(len(photos), -1, patches.shape[-1]), strict=True):
            chosen = np.sort(np.random.default_rng([self.seed, number]).permutation(len(photo_patches))[: self.each])
            self._rows[number] = photo_patches[torch.from_numpy(chosen).to(photo_patches.device)]
        return self

    def merge(self, other: Self) -> Self:
        """Add what another sample drew from other photos."""
        self._rows |= other._rows
        return self

    def without(self, other: Self) -> Self:
        """What is left without the photos of another sample; both stay as they are."""
        others = copy(self)
        others._rows = {number: rows for number, rows in self._rows.items() if number not in other._rows}
        return others

    def rows(self) -> Tensor:
        """(n, k) patches in the order of the photos. Raises ValueError when there was no photo."""
        if not self._rows:
            raise ValueError("no photo has been seen; give at least one good photo to draw patches from")
        return torch.cat([self._rows[number] for number in sorted(self._rows)])[: self.count]

    def choose(self, select: Callable[[Tensor, list[int]], list[int]]) -> Tensor:
        """(n, k) those of `rows` that `select` chooses, given all and the positions of those it chose before.

        What it chose is known to samples that are made by `without` afterwards: less has to be chosen for a fold.
        """
        rows = self.rows()
        drawn = [(number, row) for number in sorted(self._rows) for row in range(len(self._rows[number]))][: len(rows)]
        chosen = select(rows, [position for position, patch in enumerate(drawn) if patch in self._chosen])
        self._chosen = {drawn[position] for position in chosen}
        return rows[torch.tensor(chosen, device=rows.device)]

    def numbers(self) -> Tensor:
        """(n,) int64 the number of the photo of each of `rows`."""
        numbers = [torch.full((len(self._rows[number]),), number) for number in sorted(self._rows)]
        return torch.cat(numbers)[: self.count]

    def state(self) -> dict[str, Tensor]:
        """rows (n, k), photos (n,) int64 the number of the photo of each row; nothing before the first photo."""
        if not self._rows:
            return {}
        numbers = [torch.full((len(rows),), number) for number, rows in self._rows.items()]
        return {"rows": torch.cat(list(self._rows.values())), "photos": torch.cat(numbers)}

    def restore(self, state: Mapping[str, Tensor]) -> Self:
        """Replace its patches by those in the `state` of another sample. Raises ValueError for any other arrays."""
        self._rows = {}
        if not state:
            return self
        rows, photos = state.get("rows"), state.get("photos")
        fits = state.keys() == {"rows", "photos"} and rows is not None and photos is not None
        if not fits or rows.ndim != 2 or rows.dtype != torch.float32 or photos.shape != rows.shape[:1]:
            raise ValueError("state is not of drawn patches; it comes from another fit")
        numbers, counts = torch.unique_consecutive(photos, return_counts=True)
        self._rows = dict(zip(numbers.tolist(), rows.split(counts.tolist()), strict=True))
        return self


class PatchSampleMethod(Method):
    """A method that learns from a sample of as many patches as its parameter `patches` says."""

    def begin(self, patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> PatchSampler:
        return PatchSampler(int(parameters["patches"]), patches.photos, seed)

    def update(self, statistics: PatchSampler, features: Tensor, photos: Sequence[int]) -> PatchSampler:
        return statistics.draw(features, photos)

    def sample_size(self, parameters: Parameters, value: int) -> int:
        return int(parameters["patches"])
