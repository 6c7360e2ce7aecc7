"""Distance to the most similar good patch near the same place: a nearest neighbour that must also be where it belongs.

A good patch stands for its own place and for those around it, so a part may move or vary by a few cells; the surface of
one side does not excuse the same surface where the part should be. After PatchCore (Roth et al. 2022), with a bank for
each place instead of one for all, and distances in the principal components of the good patches.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_samples
from inspect_core.detectors.cop_corp.covariance import MappedCovariance
from inspect_core.detectors.cop_corp.feature_maps import identity_map
from inspect_core.runtime.json_record import whole
from inspect_core.runtime.stored import Stored, floats, unit
from inspect_core.runtime.threads import map_on

FARTHEST = 8
"""Cells within which a recipe may compare."""
FAR = 1e30
"""Squared distance of a patch that is not there, beyond the border of the grid."""
ROUNDING = 1e-4
"""Least squared distance, as a share of ‖z‖². Below it ‖z‖² - 2 z·b + ‖b‖² is mostly rounding, whose root would differ
between the app and an exported graph for photos that were learned from."""
ROWS = 8
"""Rows of the grid that are compared in one product: fewer read the bank more often, more compare more in vain."""


@dataclass(frozen=True, eq=False)
class NearbyPatches(Stored):
    """Distance to the nearest of the good patches at most `reach` cells away, along each axis.

    mean: (k,), basis: (k, r) orthonormal columns: z = (x - mean) basis; bank: (h, w, n, r) float32: n good patches of
    each place, as z.
    """

    mean: Annotated[Tensor, floats("k")]
    basis: Annotated[Tensor, unit("k r")]
    bank: Annotated[Tensor, floats("h w n r")]
    reach: Annotated[int, whole(0, FARTHEST)]

    def __post_init__(self) -> None:
        if self.bank.ndim != 4 or 0 in self.bank.shape or self.basis.shape != (len(self.mean), self.bank.shape[-1]):
            shapes = ", ".join(f"{tuple(values.shape)}" for values in (self.mean, self.basis, self.bank))
            raise ValueError(f"mean, basis and bank have shapes {shapes}; give (k,), (k, r) and (h, w, n, r)")
        if self.reach != int(self.reach) or self.reach < 0:
            raise ValueError(f"reach is {self.reach}; give a whole number of cells, 0 or more")

    def score(self, x: Tensor | np.ndarray) -> Tensor:
        """Euclidean distance of z to the nearest good patch nearby, (n, h, w, k) -> (n, h, w). Higher is stranger.

        A photo scores the same to the bit alone and in a batch. Raises ValueError for non-finite features, a wrong
        width or another grid.
        """
        x = as_features(x, name="x", width=len(self.mean), dtype=self.bank.dtype).to(self.bank.device)
        if x.ndim != 4 or x.shape[1:3] != self.bank.shape[:2]:
            grid = tuple(self.bank.shape[:2])
            raise ValueError(f"x has shape {tuple(x.shape)}; the patches were learned on a grid of {grid}")
        scores = x.new_empty(x.shape[:-1])
        for photo, out in zip(x, scores, strict=True):
            z = (photo - self.mean) @ self.basis
            out.copy_(least_distances(z, self._blocks, self.reach, apply=map_on(z.device)))
        return scores

    @cached_property
    def _blocks(self) -> list[Tensor]:
        return blocks_of(self.bank, self.reach)


def fit(patches: Tensor, *, components: int, reach: int) -> NearbyPatches:
    """The detector of good photos (n, h, w, k): their patches in so many principal components, or in all.

    Eigenvectors of the covariance of all patches (`MappedCovariance`), the largest first. Raises ValueError for
    non-finite patches and for none.
    """
    patches = as_features(patches, name="patches")
    require_samples(patches, name="patches")
    mean, covariance = MappedCovariance(identity_map(patches.shape[-1])).update(patches).moments()
    _, axes = torch.linalg.eigh(covariance)
    basis = axes.flip(-1)[:, :components].float().contiguous()
    bank = ((patches - mean.float()) @ basis).permute(1, 2, 0, 3).contiguous()
    return NearbyPatches(mean.float(), basis, bank, reach)


def blocks_of(bank: Tensor, reach: int) -> list[Tensor]:
    """(h, w, n, r) for each ROWS rows of the grid as (w, r + 1, m): -2 b over ‖b‖² of all patches in reach.

    m: of a column, the patches row by row, those beyond the border at FAR.
    """
    height, width, count, channels = bank.shape
    wider = bank.new_zeros(height + 2 * reach, width, count, channels + 1)
    wider[..., -1] = FAR
    interior = wider[reach : reach + height]
    interior[..., :-1], interior[..., -1] = -2 * bank, bank.square().sum(-1)
    by_column = wider.permute(1, 3, 0, 2)
    ends = ((first, min(first + ROWS, height) + 2 * reach) for first in range(0, height, ROWS))
    return [by_column[:, :, first:end].flatten(2).contiguous() for first, end in ends]


def least_distances(
    z: Tensor, blocks: list[Tensor], reach: int, *, apply: Callable[..., Iterable[Tensor]] = map
) -> Tensor:
    """The distance of each patch to the nearest in `blocks_of` a bank: (..., h, w, r) -> (..., h, w).

    apply: how a function is applied to all blocks, which share no sum.

    As ‖z‖² - 2 z·b + ‖b‖², at least ROUNDING ‖z‖², where a one beside z takes in ‖b‖² by the same product. Each column
    of the bank is compared with the columns of the photo in its reach, so the bank is read once.
    """
    span = 2 * reach + 1
    height, width = z.shape[-3:-1]
    columns = torch.cat([z, torch.ones_like(z[..., :1])], dim=-1).transpose(-3, -2)
    border = torch.zeros_like(columns[..., :1, :, :]).expand(*columns.shape[:-3], reach, *columns.shape[-2:])
    wider = torch.cat([border, columns, border], dim=-3)

    def least_of(block_and_first: tuple[Tensor, int]) -> Tensor:
        block, first = block_and_first
        rows = min(ROWS, height - first)
        near = torch.stack([wider[..., s : s + width, first : first + rows, :] for s in range(span)], dim=-3)
        squares = near.flatten(-3, -2) @ block
        least = squares.unflatten(-1, (rows + 2 * reach, -1)).amin(-1).unflatten(-2, (span, rows))
        of_rows = torch.stack([least[..., row, row : row + span].amin(-1) for row in range(rows)], dim=-1)
        beyond = torch.full_like(of_rows[..., :1, :1, :], FAR).expand(*of_rows.shape[:-3], reach, *of_rows.shape[-2:])
        around = torch.cat([beyond, of_rows, beyond], dim=-3)
        # The column j of the photo is number s of those in reach of the bank's column j + reach - s.
        shifted = [around[..., 2 * reach - s : 2 * reach - s + width, s, :] for s in range(span)]
        return torch.stack(shifted).amin(0)

    length = z.square().sum(-1)
    of_blocks = apply(least_of, zip(blocks, range(0, height, ROWS), strict=True))
    squares = torch.cat(list(of_blocks), dim=-1).transpose(-1, -2) + length
    return torch.maximum(squares, ROUNDING * length).sqrt()
