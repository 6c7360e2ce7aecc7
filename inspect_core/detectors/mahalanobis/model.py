"""A fitted Gaussian for each grid location, and its distances for every embedding size from one pass.

With z = W^T x and the lower Cholesky factor L of (covariance + ridge I), y = L^-1 (z - mean) and the squared distance
in the first k dimensions is y_1^2 + ... + y_k^2: L of the leading k x k block is the leading block of L. So prefix
sums over one product give exactly what a separate fit at each k would.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features
from inspect_core.detectors.mahalanobis.per_location import (
    grid_distances,
    matrix_blocks,
    require_grid,
    whitening_blocks,
)
from inspect_core.runtime.json_record import ANY, Rules, one_of, whole
from inspect_core.runtime.stored import HALVES, Stored, floats, unit


@dataclass(frozen=True, eq=False)
class Mahalanobis(Stored):
    """One Gaussian for each location of an (h, w) grid, in k embedded dimensions.

    projection (d, k), mean (h, w, k): float32. cholesky (h, w, k, k): lower factor of covariance + ridge I, float32,
    or float16 after `rounded`. images: how many it was learned from. Scores are distances (not squared), larger is
    more anomalous, and depend on nothing but the image and this value. The first score derives the inverse factor,
    in float64 from the stored one, and keeps it in float32 (0.6 of the square at k = 100): reading it is most of the
    cost of one image.
    """

    projection: Annotated[Tensor, unit("d k")]
    mean: Annotated[Tensor, floats("h w k")]
    cholesky: Annotated[Tensor, floats("h w tri(k)", types=HALVES)]
    ridge: Annotated[float, ANY]
    images: Annotated[int, whole(1)]

    def score(self, features: Tensor | np.ndarray, *, k: int | None = None) -> Tensor:
        """Distances (n, h, w) of features (n, h, w, d), in the first k dimensions (all when None).

        Raises ValueError for another grid or width, for values that are not finite and for k outside 1..fitted k.
        """
        return self.sweep(features, [self.mean.shape[-1] if k is None else k])[0]

    def sweep(self, features: Tensor | np.ndarray, ks: Iterable[int]) -> Tensor:
        """Distances (len(ks), n, h, w) for several k in one pass; each equals `score` at that k to the bit."""
        x = as_features(features, width=self.projection.shape[0])
        require_grid(x, (self.mean.shape[0], self.mean.shape[1]), name="features")
        projected = project(x.to(self.projection.device), self.projection)
        return grid_distances(projected, self.mean, self._whitening, ks).to(x.device)

    def score_projected(self, projected: Tensor | np.ndarray, *, k: int | None = None) -> Tensor:
        """As `score`, for features already multiplied by `projection`: (n, h, w, fitted k)."""
        return self.sweep_projected(projected, [self.mean.shape[-1] if k is None else k])[0]

    def sweep_projected(self, projected: Tensor | np.ndarray, ks: Iterable[int]) -> Tensor:
        """As `sweep`, for features already multiplied by `projection`: (n, h, w, fitted k)."""
        z = as_features(projected, name="projected", width=self.mean.shape[-1])
        require_grid(z, (self.mean.shape[0], self.mean.shape[1]), name="projected")
        return grid_distances(z, self.mean, self._whitening, ks)

    def spectrum(self) -> Tensor:
        """Eigenvalues (h, w, k) of each location's embedded covariance without the ridge, float32, descending.

        Values near 0 are dimensions in which the good images do not differ (rank collapse). They are accurate to about
        1e-7 of the largest, after `rounded` to about 1e-3 of it; values made negative by rounding are returned as 0.
        """
        h, w, k = self.mean.shape
        factors = self.cholesky.reshape(h * w, k, k)
        values = self.mean.new_empty(h * w, k)
        for here in matrix_blocks(factors):
            factor = factors[here].double()
            eigenvalues = torch.linalg.eigvalsh(factor @ factor.transpose(1, 2)).flip(-1)
            values[here] = (eigenvalues - self.ridge).clamp_min(0).float()
        return values.reshape(h, w, k)

    def rounded(self) -> Self:
        """The model with Cholesky factors in float16: half the storage, scores from the rounded factors.

        Raises ValueError when a factor leaves the range in which float16 keeps its 11 bits.
        """
        float16_range = torch.finfo(torch.float16)
        largest = self.cholesky.abs().max().item()
        pivot = self.cholesky.diagonal(dim1=-2, dim2=-1).min().item()
        if largest > float16_range.max or pivot < float16_range.tiny:
            raise ValueError(
                f"cholesky has a smallest pivot of {pivot:.2g} and a largest entry of {largest:.2g}, float16 holds "
                f"{float16_range.tiny:.2g} to {float16_range.max:.2g}; keep float32, or scale the features towards 1"
            )
        return replace(self, cholesky=self.cholesky.half())

    def params(self) -> dict[str, Any]:
        """ridge, images, and storage: the type of the Cholesky factors, "float32" or "float16"."""
        return super().params() | {"storage": str(self.cholesky.dtype).removeprefix("torch.")}

    @classmethod
    def rules(cls) -> Rules:
        return {**super().rules(), "storage": one_of("float32", "float16")}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], params: Mapping[str, Any]) -> Self:
        """As `Stored.from_arrays`, also of NumPy arrays; scores are equal to the bit.

        Raises ValueError when an array is missing, not finite, or of another shape or type than `arrays` gives, and
        when a pivot is not positive.
        """
        checked = {name: _finite(arrays, name) for name in ("projection", "mean", "cholesky")}
        projection, mean, cholesky = checked.values()
        if projection.ndim != 2 or mean.ndim != 3 or cholesky.shape != (*mean.shape, projection.shape[1]):
            raise ValueError(
                f"projection {tuple(projection.shape)}, mean {tuple(mean.shape)} and cholesky "
                f"{tuple(cholesky.shape)} are not (d, k), (h, w, k) and (h, w, k, k); they do not belong together"
            )
        model = super().from_arrays(checked, params)
        if model.params()["storage"] != params["storage"]:
            raise ValueError(f"cholesky is {cholesky.dtype}, but storage says {params['storage']}; load them as saved")
        if not (cholesky.diagonal(dim1=-2, dim2=-1) > 0).all():
            raise ValueError("cholesky has a pivot that is not positive; the arrays are damaged, fit again")
        return model

    @cached_property
    def _whitening(self) -> tuple[Tensor, ...]:
        h, w, k = self.mean.shape
        return whitening_blocks(self.cholesky.reshape(h * w, k, k))


def project(features: Tensor, projection: Tensor) -> Tensor:
    """features @ projection over the last axis, in true float32: (..., d) to (..., k)."""
    return features @ projection


def _finite(arrays: Mapping[str, Any], name: str) -> Tensor:
    if name not in arrays:
        raise ValueError(f"arrays has no {name!r}, only {sorted(arrays)}; give what arrays() returned")
    tensor = torch.as_tensor(arrays[name])
    # Minimum and maximum, not one flag per number: a NaN shows in both, and factors are most of a recipe's memory.
    if tensor.numel() and not all(bound.isfinite() for bound in tensor.aminmax()):
        raise ValueError(f"{name} is not finite; the arrays are damaged, fit again")
    return tensor
