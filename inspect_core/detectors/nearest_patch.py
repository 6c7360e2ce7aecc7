"""Distance to the most similar good patch of a bank (after PatchCore, Roth et al. 2022).

A patch is compared with its neighbourhood beside it. By the neighbourhood only, as PatchCore compares, a defect no
larger than a patch is averaged away; by the patch only, noise is taken for one.

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
from torch.nn import functional

from inspect_core.detectors.checks import as_features, require_samples
from inspect_core.detectors.patch_rows import score_rows
from inspect_core.runtime.json_record import DISTANCE
from inspect_core.runtime.stored import Stored, floats, unit

COMPONENTS = 32
"""Of a sketch: with them a bank of 6,000 takes little more than one of 2,000 without (MEASUREMENTS section 3)."""
SPREAD_COMPONENTS = 24
"""By which a bank is spread over the patches that it is chosen from."""
BLOCK = 256
"""Rows taken before whose distances to all others are computed at once."""


@dataclass(frozen=True, eq=False)
class NearestPatch(Stored):
    """Distance to a good patch, the nearest by its sketch.

    bank: (n, 2, k) good patches and their neighbourhoods, each times its weight; centre, surround: the weights; basis:
    (2, k, r) orthonormal columns. The sketch of y (2 k,) is y basis, beside the length of what that leaves of y.
    """

    bank: Annotated[Tensor, floats("n 2 k")]
    basis: Annotated[Tensor, unit("2 k r")]
    centre: Annotated[float, DISTANCE]
    surround: Annotated[float, DISTANCE]

    def __post_init__(self) -> None:
        if self.bank.ndim != 3 or not len(self.bank) or self.bank.shape[1:] != self.basis.shape[:2]:
            shapes = f"{tuple(self.bank.shape)} and {tuple(self.basis.shape)}"
            raise ValueError(f"bank and basis have shapes {shapes}; give (n, 2, k) and (2, k, r)")

    def score(self, x: Tensor | np.ndarray) -> Tensor:
        """Distance to the good patch of the nearest sketch, (n, h, w, k) -> (n, h, w). Higher is more anomalous.

        √(centre² ‖x − b‖² + surround² ‖x̄ − b̄‖²), x̄ the mean of 3 x 3 patches, zero beyond the border. Never less than
        the distance to the nearest patch of the bank, and equal to it where r = 2 k. It is taken from differences of
        features, so that no small distance is lost to cancellation. Raises ValueError for non-finite features, a wrong
        width or no grid.
        """
        x = as_features(x, name="x", width=self.bank.shape[-1], dtype=self.bank.dtype).to(self.bank.device)
        if x.ndim != 4:
            raise ValueError(f"x has shape {tuple(x.shape)}; give (n, h, w, k), patches on their grid")
        return score_rows(with_surround(x, self.centre, self.surround), self._distances)

    def _distances(self, block: Tensor) -> Tensor:
        nearness = torch.addmm(self.half_squares, sketched(block, self.columns), self.sketches.T)
        nearest = _largest(nearness)
        distances = (block - self.rows[nearest]).norm(dim=-1)
        # Where a sketch overflows, the patch found is none: a score that is not finite is refused.
        return distances.where(nearness.gather(1, nearest[:, None])[:, 0].isfinite(), torch.inf)

    @property
    def rows(self) -> Tensor:
        """(n, 2 k) the bank."""
        return self.bank.flatten(1)

    @property
    def columns(self) -> Tensor:
        """(2 k, r) the basis."""
        return self.basis.flatten(0, 1)

    @cached_property
    def sketches(self) -> Tensor:
        """(n, r + 1) those of the bank."""
        return sketched(self.rows, self.columns)

    @cached_property
    def half_squares(self) -> Tensor:
        """(n,) minus half of the squared length of each sketch."""
        return -self.sketches.square().sum(1) / 2


def with_surround(x: Tensor, centre: float = 1.0, surround: float = 1.0, *, channels: int = 3) -> Tensor:
    """(n, h, w, k) -> (n, h, w, 2 k): each patch times `centre`, then its 3 x 3 neighbourhood times `surround`.

    channels: the axis of k, and of 2 k.
    """
    means = functional.avg_pool2d(x.movedim(channels, 1), 3, stride=1, padding=1).movedim(1, channels)
    return torch.cat([centre * x, surround * means], dim=channels)


def sketched(y: Tensor, columns: Tensor) -> Tensor:
    """(..., d) -> (..., r + 1). The distance of two sketches is at most that of what they stand for."""
    z = y @ columns
    rest = y.square().sum(-1, keepdim=True) - z.square().sum(-1, keepdim=True)
    return torch.cat([z, rest.clamp_min(0).sqrt()], dim=-1)


def fit(
    bank: Tensor | np.ndarray, *, centre: float = 1.0, surround: float = 1.0, components: int = COMPONENTS
) -> NearestPatch:
    """The detector of rows (n, 2 k) that have their weights; its basis: leading eigenvectors of their second moments.

    Raises ValueError for non-finite rows and for none.
    """
    bank = as_features(bank, name="bank")
    require_samples(bank, name="bank")
    _, axes = torch.linalg.eigh(bank.double().T @ bank.double())
    columns = axes.flip(-1)[:, :components].float().contiguous()
    return NearestPatch(bank.clone().unflatten(1, (2, -1)), columns.unflatten(0, (2, -1)), centre, surround)


def weight_of_surround(rows: Tensor) -> float:
    """The weight of neighbourhoods that vary as much as the patches: rows (n, 2 k) as `with_surround` gives them.

    1 where neighbourhoods do not vary.
    """
    centre, surround = (part.double().var(0, correction=0).sum().sqrt() for part in rows.chunk(2, dim=1))
    return float(centre / surround) if surround > 0 else 1.0


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
