"""A seeded sample of the good patches, drawn photo by photo: the draw from one does not depend on the others."""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import torch
from torch import Tensor


class DrawnPatches:
    """`count` patches of `photos` photos, spread evenly over them; fewer if there are fewer.

    Photo number i gives count / photos patches, rounded up, drawn with its own child of the seed; a larger count
    extends a smaller one.
    """

    def __init__(self, count: int, photos: int, seed: int) -> None:
        self.count, self.each, self.seed = count, -(-count // photos), seed
        self._rows: list[Tensor] = []

    def draw(self, patches: Tensor, photos: Sequence[int]) -> Self:
        """Take from patches (n, ..., k) of the n photos of these numbers, which come in ascending order."""
        for number, own in zip(photos, patches.reshape(len(photos), -1, patches.shape[-1]), strict=True):
            chosen = np.sort(np.random.default_rng([self.seed, number]).permutation(len(own))[: self.each])
            self._rows.append(own[torch.from_numpy(chosen).to(own.device)])
        return self

    def merge(self, other: Self) -> Self:
        """Append what another sample drew from the photos that come next."""
        self._rows += other._rows
        return self

    def rows(self) -> Tensor:
        """(n, k) patches in the order of the photos. Raises ValueError when there was no photo."""
        if not self._rows:
            raise ValueError("no photo has been seen; give at least one good photo to draw patches from")
        return torch.cat(self._rows)[: self.count]

    def state(self) -> dict[str, Tensor]:
        """rows (n, k) of all photos seen; nothing before the first."""
        return {"rows": torch.cat(self._rows)} if self._rows else {}

    def restore(self, state: Mapping[str, Tensor]) -> Self:
        """Replace its patches by those in the `state` of another sample. Raises ValueError for any other arrays."""
        rows = state.get("rows")
        if state.keys() - {"rows"} or (rows is not None and (rows.ndim != 2 or rows.dtype != torch.float32)):
            raise ValueError("state is not of drawn patches; it comes from another fit")
        self._rows = [] if rows is None else [rows]
        return self
