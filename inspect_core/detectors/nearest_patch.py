"""Distance to the most similar good patch of a bank, found in a sketch of it (after PatchCore, Roth et al. 2022).

A bank has to be large where parts lie at any angle, and comparing every patch with all of it is what a verdict takes
longest for. The neighbour is therefore looked for by fewer numbers, which give a lower bound of each distance; its own
distance is then taken from all features, so that a difference outside the sketch counts in full.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_samples
from inspect_core.detectors.patch_rows import score_rows
from inspect_core.runtime.stored import Stored, floats, unit

COMPONENTS = 64
"""Of a sketch: what a bank of 6,000 takes with them, one of 2,000 takes without (MEASUREMENTS section 3)."""
SPREAD_COMPONENTS = 24
"""By which a bank is spread over the patches that it is chosen from."""
BLOCK = 256
"""Rows taken before whose distances to all others are computed at once."""


@dataclass(frozen=True, eq=False)
class NearestPatch(Stored):
    """Distance to a good patch, the nearest by its sketch.

    bank: (n, k) good patches; basis: (k, r) orthonormal columns. The sketch of x is x basis, beside the length of what
    that leaves of x.
    """

    bank: Annotated[Tensor, floats("n k")]
    basis: Annotated[Tensor, unit("k r")]

    def __post_init__(self) -> None:
        if self.bank.ndim != 2 or not len(self.bank) or self.bank.shape[1] != len(self.basis):
            shapes = f"{tuple(self.bank.shape)} and {tuple(self.basis.shape)}"
            raise ValueError(f"bank and basis have shapes {shapes}; give (n, k) and (k, r)")

    def score(self, x: Tensor | np.ndarray) -> Tensor:
        """Euclidean distance to the good patch of the nearest sketch, (..., k) -> (...). Higher is more anomalous.

        Never less than the distance to the nearest patch of the bank, and equal to it where r = k. It is taken from
        differences of features, so that no small distance is lost to cancellation. Raises ValueError for non-finite
        features or a wrong width.
        """
        x = as_features(x, name="x", width=len(self.basis), dtype=self.bank.dtype).to(self.bank.device)
        return score_rows(x, self._distances)

    def _distances(self, block: Tensor) -> Tensor:
        nearness = torch.addmm(self.half_squares, sketched(block, self.basis), self.sketches.T)
        nearest = _largest(nearness)
        distances = (block - self.bank[nearest]).norm(dim=-1)
        # Where a sketch overflows, the patch found is none: a score that is not finite is refused.
        return distances.where(nearness.gather(1, nearest[:, None])[:, 0].isfinite(), torch.inf)

    @cached_property
    def sketches(self) -> Tensor:
        """(n, r + 1) those of the bank."""
        return sketched(self.bank, self.basis)

    @cached_property
    def half_squares(self) -> Tensor:
        """(n,) minus half of the squared length of each sketch."""
        return -self.sketches.square().sum(1) / 2


def sketched(x: Tensor, basis: Tensor) -> Tensor:
    """(..., k) -> (..., r + 1). The distance of two sketches is at most that of what they stand for."""
    z = x @ basis
    rest = x.square().sum(-1, keepdim=True) - z.square().sum(-1, keepdim=True)
    return torch.cat([z, rest.clamp_min(0).sqrt()], dim=-1)


def fit(bank: Tensor | np.ndarray, *, components: int = COMPONENTS) -> NearestPatch:
    """The detector of a bank (n, k); the basis: as many leading eigenvectors of its second moments, or all.

    Raises ValueError for non-finite patches and for none.
    """
    bank = as_features(bank, name="bank")
    require_samples(bank, name="bank")
    _, axes = torch.linalg.eigh(bank.double().T @ bank.double())
    return NearestPatch(bank.clone(), axes.flip(-1)[:, :components].float().contiguous())


def spread_out(x: Tensor, count: int, begun: Sequence[int] = ()) -> list[int]:
    """Positions of `count` rows of x (n, d) that leave no row far away, the most typical first; all when n <= count.

    Greedy k-centre selection, as PatchCore makes its bank: always the row that is farthest from those taken, by the
    distance in at most SPREAD_COMPONENTS principal components of x. begun: positions taken before, up to `count`, to
    which others are added. Raises ValueError for non-finite rows. Source: Sener & Savarese 2018; Roth et al. 2022.
    """
    x = as_features(x, name="x")
    if len(x) <= count:
        return list(range(len(x)))
    centred = x - x.mean(0)
    _, axes = torch.linalg.eigh((centred.T @ centred).double())
    # A row for each component, and NumPy: torch takes three times as long for products with so few components.
    sketch = np.ascontiguousarray((centred @ axes[:, -SPREAD_COMPONENTS:].to(x.dtype)).float().cpu().numpy().T)
    squares = np.square(sketch).sum(0)
    chosen = list(begun) or [int(squares.argmin())]
    apart = np.full_like(squares, np.inf)
    for first in range(0, len(chosen), BLOCK):
        block = np.array(chosen[first : first + BLOCK])
        np.minimum(apart, (squares[block, None] - 2 * (sketch[:, block].T @ sketch)).min(0) + squares, out=apart)
    while len(chosen) < count:
        newest = int(apart.argmax())
        chosen.append(newest)
        np.minimum(apart, squares - 2 * (sketch[:, newest] @ sketch) + squares[newest], out=apart)
    return chosen


def _largest(values: Tensor) -> Tensor:
    """(n,) column of the largest value of each row, (n, m). On a CPU by NumPy, in a quarter of torch's time."""
    return torch.from_numpy(values.numpy().argmax(1)) if values.device.type == "cpu" else values.argmax(1)
