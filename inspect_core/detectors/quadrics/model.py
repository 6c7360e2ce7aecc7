"""A fitted intersection of quadrics, and its score: the mean second-order distance to the first m of them.

Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (AISTATS 2022), eq. 16.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.quadrics.algebraic import monomials
from inspect_core.detectors.quadrics.coordinates import as_points, require_count, to_coordinates
from inspect_core.detectors.quadrics.distances import hilbert_schmidt_norm, monomial_coefficients, second_order
from inspect_core.runtime.json_record import DISTANCE, SMALLEST, number, one_of
from inspect_core.runtime.stored import Stored, floats, unit

# Numbers in work at one time: 16 MB in float32, which a shared cache holds.
NUMBERS_PER_BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class Quadrics(Stored):
    """m fitted quadrics, in ascending order of mean training d2, so that the first m' serve as a smaller model.

    A (m, r, r) symmetric, b (m, r), c (m,), in the coordinates ((x - shift) @ basis) / scale: float64 from the closed
        form and from L-BFGS, float32 from mini-batches.
    shift (d,) and scale (): float64, in the unit of the features.
    basis: (d, r) float64, or None when the features were not reduced (then r = d). A quadric then is a cylinder along
        the directions left out, which held 1 - kept_variance of the training variance and do not add to the score.
    penalty_value: ||G - I||_F^2 of the quadratic parts, 0 for Hilbert-Schmidt orthonormal ones.
    start: "closed form" or "random", where the fit began.
    """

    A: Annotated[Tensor, floats("m n n")]
    b: Annotated[Tensor, floats("m n")]
    c: Annotated[Tensor, floats("m")]
    shift: Annotated[Tensor, floats("k")]
    scale: Annotated[Tensor, floats("1", SMALLEST)]
    basis: Annotated[Tensor | None, unit("k n")]
    kept_variance: Annotated[float, number(0, 1 + 1e-6)]
    penalty_value: Annotated[float, DISTANCE]
    start: Annotated[str, one_of("closed form", "random")]

    def score(self, x: Tensor | np.ndarray, *, m: int | None = None) -> Tensor:
        """Mean second-order distance to the first m quadrics (eq. 16), in the unit of the features.

        x: (..., d). Result: float32 (...), on the device of x. m: 1 to the fitted m, which is the default. Distances
        are computed in float64 for x in float64, else in float32, off by some 1e-6 of the score.
        Raises ValueError for non-finite x, another width than in the fit, and m out of range.
        """
        return self.sweep(x, [len(self.c) if m is None else m])[0]

    def sweep(self, x: Tensor | np.ndarray, ms: Sequence[int]) -> Tensor:
        """The score for every m of `ms` in one pass: float32 (len(ms), ...) for x (..., d).

        All quadrics are always computed, so a score does not depend, to the bit, on which other m are asked for.
        """
        if len(ms) == 0:
            raise ValueError("ms is empty; give at least one number of quadrics")
        for m in ms:
            require_count(m, len(self.c), name="m", cure="score with as many quadrics as were fitted, or fewer")
        x = as_points(x, width=len(self.shift))
        counts = torch.tensor(ms, device=x.device)
        forms = self._forms if x.dtype == torch.float64 else self._single_forms
        scale, norm, coefficients = (part.to(x.device, x.dtype) for part in (self.scale, *forms))
        blocks = []
        for rows in x.reshape(-1, x.shape[-1]).split(rows_per_block(coefficients.shape[1])):
            points = to_coordinates(rows, shift=self.shift, scale=self.scale, basis=self.basis, dtype=x.dtype)
            values, squares = (coefficients @ monomials(points)).chunk(2)
            distances, _ = second_order(values.abs_(), squares.clamp_min_(0).sqrt_(), norm[:, None])
            blocks.append((distances.cumsum(dim=0)[counts - 1] * (scale / counts)[:, None]).float())
        return torch.cat(blocks, dim=1).reshape(len(ms), *x.shape[:-1])

    @cached_property
    def _forms(self) -> tuple[Tensor, Tensor]:
        """The norms (m,) and, in float64, what makes f and h^2 of all quadrics one product with the monomials.

        Half gradients would take as much arithmetic, but m r numbers of memory a row: most of the time of a photo.
        """
        A, b, c = (part.double() for part in (self.A, self.b, self.c))
        return hilbert_schmidt_norm(A), monomial_coefficients(A, b, c)

    @cached_property
    def _single_forms(self) -> tuple[Tensor, Tensor]:
        norm, coefficients = self._forms
        return norm.float(), coefficients.float()


def rows_per_block(numbers: int) -> int:
    """Rows that fit one block, with so many numbers each."""
    return max(1, NUMBERS_PER_BLOCK // numbers)
