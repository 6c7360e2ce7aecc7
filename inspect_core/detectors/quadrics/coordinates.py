"""Coordinates in which quadrics are fitted: centred, optionally reduced by PCA, and divided by one number.

The second-order distance has the unit of length and the orthonormality penalty has none, so their balance would
change with the scale of the features; at root mean squared norm sqrt(d) it does not.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_between, require_samples

ROWS_PER_BLOCK = 8192
SPANNED_VARIANCE = 0.95


@dataclass(frozen=True, eq=False)
class Coordinates:
    """x -> ((x - shift) @ basis) / scale, with figures found during the fit.

    shift (d,), scale () and basis (d, r), or None for no reduction: float64. kept_variance: the basis's share, 0 to 1.
    spanning: number of the r principal directions that hold 95 % of the reduced variance.
    """

    shift: Tensor
    scale: Tensor
    basis: Tensor | None
    kept_variance: float
    spanning: int


def fit_coordinates(x: Tensor, *, components: int | None) -> Coordinates:
    """Mean, scale and, when `components` is given, the principal directions of x (n, d), in float64 over blocks.

    Identical points have no scale; they get 1. Raises ValueError for no samples and for `components` out of range.
    """
    require_samples(x, name="x")
    n, d = x.shape
    if components is not None:
        require_count(components, d, name="components", cure="keep at most all the features there are")
    shift = sum(rows.double().sum(dim=0) for rows in x.split(ROWS_PER_BLOCK)) / n
    if components is not None and components < n < d:
        variance, directions = _from_few(x.double() - shift)
    else:
        centred = (rows.double() - shift for rows in x.split(ROWS_PER_BLOCK))
        variance, directions = torch.linalg.eigh(sum(rows.T @ rows for rows in centred) / n)
    variance, directions = variance.flip(0).clamp_min(0), directions.flip(1)
    retained = variance if components is None else variance[:components]
    total = float(retained.sum())
    spans = retained.cumsum(0) >= (SPANNED_VARIANCE - 1e-12) * total
    return Coordinates(
        shift=shift,
        scale=(retained.sum() / len(retained)).sqrt() if total > 0 else torch.ones_like(variance[0]),
        basis=None if components is None else directions[:, :components].contiguous(),
        kept_variance=total / float(variance.sum()) if total > 0 else 1.0,
        spanning=int(torch.nonzero(spans)[0]) + 1,
    )


def _from_few(centred: Tensor) -> tuple[Tensor, Tensor]:
    """Variances (n,) and principal directions (d, n), ascending, of fewer points than features: no (d, d) matrix."""
    directions, lengths, _ = torch.linalg.svd(centred.T, full_matrices=False)
    return (lengths.square() / len(centred)).flip(0), directions.flip(1)


def to_coordinates(x: Tensor, *, shift: Tensor, scale: Tensor, basis: Tensor | None, dtype: torch.dtype) -> Tensor:
    """x (n, d) in the fit's coordinates, (n, r) of `dtype`; the shift is taken in float64, by blocks."""
    shift, scale = shift.to(x.device), scale.to(x.device)
    basis = None if basis is None else basis.to(x.device)
    blocks = []
    for rows in x.split(ROWS_PER_BLOCK):
        centred = rows - shift  # float64, as shift is
        blocks.append(((centred if basis is None else centred @ basis) / scale).to(dtype))
    return torch.cat(blocks)


def as_points(x: Tensor | np.ndarray, *, width: int | None = None) -> Tensor:
    """Checked features; float64 stays float64, everything else becomes float32."""
    wide = x.dtype in (torch.float64, np.float64) if isinstance(x, Tensor | np.ndarray) else False
    return as_features(x, name="x", width=width, dtype=torch.float64 if wide else torch.float32)


def require_count(value: int, most: int, *, name: str, cure: str) -> None:
    """Raise ValueError unless `value` is a whole number from 1 to `most`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}, which is not a whole number; {cure}")
    require_between(value, 1, most, name=name, cure=cure)
