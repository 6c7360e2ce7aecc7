"""A fitted intersection of quadrics, and its score: the mean second-order distance to the first m of them.

Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (AISTATS 2022), eq. 16.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import full_precision
from inspect_core.detectors.quadrics.coordinates import as_points, require_count, to_coordinates
from inspect_core.detectors.quadrics.distances import distance_2

# Numbers in one block's (rows, m, r) half gradients: 16 MB in float32, which a shared cache holds.
NUMBERS_PER_BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class Quadrics:
    """m fitted quadrics, in ascending order of mean training d2, so that the first m' serve as a smaller model.

    A (m, r, r) symmetric, b (m, r), c (m,), in the coordinates ((x - shift) @ basis) / scale: float64 from the closed
        form and from L-BFGS, float32 from mini-batches.
    shift (d,) and scale (): float64, in the unit of the features.
    basis: (d, r) float64, or None when the features were not reduced (then r = d). A quadric then is a cylinder along
        the directions left out, which held 1 - kept_variance of the training variance and do not add to the score.
    penalty_value: ||G - I||_F^2 of the quadratic parts, 0 for Hilbert-Schmidt orthonormal ones.
    start: "closed form" or "random", where the fit began.
    """

    A: Tensor
    b: Tensor
    c: Tensor
    shift: Tensor
    scale: Tensor
    basis: Tensor | None
    kept_variance: float
    penalty_value: float
    start: str

    def score(self, x: Tensor | np.ndarray, *, m: int | None = None) -> Tensor:
        """Mean second-order distance to the first m quadrics (eq. 16), in the unit of the features.

        x: (..., d). Result: float32 (...), on the device of x. m: 1 to the fitted m, which is the default. Distances
        are computed in float64 for x in float64, else in float32, which is off by 1e-6 of the score and takes half as
        long.
        Raises ValueError for non-finite x, another width than in the fit, and m out of range.
        """
        return self.sweep(x, [len(self.c) if m is None else m])[0]

    def sweep(self, x: Tensor | np.ndarray, ms: Sequence[int]) -> Tensor:
        """The score for every m of `ms` in one pass: float32 (len(ms), ...) for x (..., d)."""
        if len(ms) == 0:
            raise ValueError("ms is empty; give at least one number of quadrics")
        for m in ms:
            require_count(m, len(self.c), name="m", cure="score with as many quadrics as were fitted, or fewer")
        x = as_points(x, width=len(self.shift))
        most = max(ms)
        A, b, c = (part[:most].to(x.device, x.dtype) for part in (self.A, self.b, self.c))
        counts = torch.tensor(ms, device=x.device)
        scale = self.scale.to(x.device, x.dtype)
        blocks = []
        with full_precision():
            for rows in x.reshape(-1, x.shape[-1]).split(rows_per_block(b)):
                points = to_coordinates(rows, shift=self.shift, scale=self.scale, basis=self.basis, dtype=x.dtype)
                sums = distance_2(A, b, c, points).cumsum(dim=1)
                blocks.append((sums[:, counts - 1] * (scale / counts)).T.float())
        return torch.cat(blocks, dim=1).reshape(len(ms), *x.shape[:-1])

    def arrays(self) -> dict[str, Tensor]:
        """A, b, c, shift and scale; basis where the features were reduced."""
        arrays = {"A": self.A, "b": self.b, "c": self.c, "shift": self.shift, "scale": self.scale}
        return arrays if self.basis is None else {**arrays, "basis": self.basis}

    def params(self) -> dict[str, float | str]:
        return {"kept_variance": self.kept_variance, "penalty_value": self.penalty_value, "start": self.start}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Tensor], params: dict) -> "Quadrics":
        """The model whose arrays() and params() these are; it scores the same to the bit."""
        A, b, c, shift, scale = (arrays[name] for name in ("A", "b", "c", "shift", "scale"))
        return cls(A, b, c, shift, scale, arrays.get("basis"), **params)


def rows_per_block(b: Tensor) -> int:
    """Rows whose half gradients to the quadrics of b (m, d) fit one block."""
    return max(1, NUMBERS_PER_BLOCK // b.numel())
