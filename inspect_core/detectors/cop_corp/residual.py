"""Distance of mapped features to the subspace of their leading principal components, for every rank at once."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_between
from inspect_core.detectors.cop_corp.feature_maps import FeatureMap
from inspect_core.detectors.patch_rows import score_rows
from inspect_core.detectors.warned import FitWarning
from inspect_core.runtime.json_record import FLAG, LARGEST, SMALLEST, WIDTH, Rules, number, or_null
from inspect_core.runtime.stored import ArraySpec, fourier, subspace

_COLUMNS = 128


@dataclass(frozen=True, eq=False)
class KernelPCAMap:
    """Reconstruction error of Φ(z) by the leading principal components, for any number q of them.

    feature_map: Φ. mean: (D,). components: (D, r) orthonormal columns, largest eigenvalue first, all that the training
    samples determine: r = D, or the rank when there were few samples. eigenvalues: (r,) float64, variance along each.
    explained_variance: the fraction that decides q when a call names none.
    Scores and arrays are float64 when the features of the fit were float64, float32 otherwise.
    """

    feature_map: FeatureMap
    mean: Tensor
    components: Tensor
    eigenvalues: Tensor
    explained_variance: float

    @property
    def explained_variance_ratio(self) -> Tensor:
        """(r,) fraction of the variance along each component, largest first; empty when nothing varied in training."""
        return self.eigenvalues / self.eigenvalues.sum()

    def components_for(self, explained_variance: float) -> int:
        """The smallest q >= 1 whose components hold `explained_variance` of the variance; 0 when nothing varied.

        Raises ValueError when explained_variance is not in (0, 1].
        """
        require_fraction(explained_variance)
        if not len(self.eigenvalues):
            return 0
        reached = self.explained_variance_ratio.cumsum(0) >= explained_variance - 1e-12
        return int(reached.nonzero()[0]) + 1 if reached.any() else len(reached)

    def score(self, x: Tensor | np.ndarray, *, q: int | None = None, explained_variance: float | None = None) -> Tensor:
        """e(z) = ‖(I - U_q U_qᵀ)(Φ(z) - μ)‖, the distance itself, not its square. Higher is more anomalous.

        x: (..., m) -> (...). Give q or explained_variance, or neither for the fraction of the fit. A q above the r
        components that the training samples determine is taken as r; with q = D the error is 0 everywhere. Both cases
        give a warning. Bit-equal to the same q of any `sweep`.
        Raises ValueError for non-finite features, a wrong width, q outside 1 .. D, a fraction outside (0, 1], or both.
        Source: Fang et al., reconstruction error of CoP and CoRP.
        """
        if q is not None and explained_variance is not None:
            raise ValueError(f"q is {q} and explained_variance is {explained_variance}; give one of the two")
        if q is None:
            q = self.components_for(self.explained_variance if explained_variance is None else explained_variance)
        else:
            self._require_count(q)
        _warn_of_count(q, rank=self.components.shape[1], D=len(self.mean))
        return self._errors(x, [q])[0]

    def sweep(self, x: Tensor | np.ndarray, qs: Sequence[int]) -> Tensor:
        """The errors for every q of `qs` from one projection: (..., m) -> (len(qs), ...).

        Memory beyond the result is bounded as by `score_rows`. Raises ValueError as `score` does.
        """
        for q in qs:
            self._require_count(q)
        return self._errors(x, qs)

    def to(self, dtype: torch.dtype) -> "KernelPCAMap":
        """The same model with mean and components, hence its scores, in `dtype`."""
        return replace(self, mean=self.mean.to(dtype), components=self.components.to(dtype))

    def arrays(self) -> dict[str, Tensor]:
        """mean (D,), components (D, r), eigenvalues (r,), and with random Fourier features w0 (M, m) and u (M,)."""
        arrays = {"mean": self.mean, "components": self.components, "eigenvalues": self.eigenvalues}
        w0, u = self.feature_map.w0, self.feature_map.u
        return arrays if w0 is None or u is None else arrays | {"w0": w0, "u": u}

    def params(self) -> dict:
        """cosine, gamma (None without random Fourier features) and explained_variance."""
        return {
            "cosine": self.feature_map.cosine,
            "gamma": self.feature_map.gamma,
            "explained_variance": self.explained_variance,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Tensor], params: dict) -> "KernelPCAMap":
        """The model that `arrays` and `params` describe; its scores are bit-equal on the same device."""
        w0, u = arrays.get("w0"), arrays.get("u")
        m = len(arrays["mean"]) if w0 is None else w0.shape[1]
        feature_map = FeatureMap(m, params["cosine"], w0, u, params["gamma"])
        return cls(
            feature_map, arrays["mean"], arrays["components"], arrays["eigenvalues"], params["explained_variance"]
        )

    @classmethod
    def array_specs(cls, params: Mapping[str, Any], names: Collection[str]) -> dict[str, ArraySpec]:
        """As `Stored.array_specs`."""
        if params["gamma"] is not None:
            return fourier("k")
        return subspace("k", 1.01 if params["cosine"] else LARGEST)

    @classmethod
    def rules(cls) -> Rules:
        """As `Stored.rules`."""
        return {"cosine": FLAG, "gamma": or_null(WIDTH), "explained_variance": number(SMALLEST, 1)}

    def _require_count(self, q: int) -> None:
        D = len(self.mean)
        cure = f"keep a whole number of components, 1 to {D} for mapped features of {D} dimensions"
        require_between(q, 1, D, name="q", cure=cure)
        if q != int(q):
            raise ValueError(f"q is {q}; {cure}")

    def _errors(self, x: Tensor | np.ndarray, qs: Sequence[int]) -> Tensor:
        x = as_features(x, name="x", width=self.feature_map.m, dtype=self.components.dtype).to(self.mean.device)
        dimensions = self.components.shape[1]
        used = [min(int(q), dimensions) for q in qs]
        suffix = torch.tensor([dimensions - q for q in used], dtype=torch.long, device=x.device)
        least = min(used, default=0)
        return score_rows(x, lambda block: self._squared_suffixes(block, least).index_select(1, suffix).sqrt_().T)

    def _squared_suffixes(self, block: Tensor, least: int) -> Tensor:
        """(b, r - least + 1) and more: column j is the squared error with the last j components put back into the
        residual.

        Summed from the smallest component up, in one order for every q. ‖Φ - μ‖² less a prefix sum would lose the
        small residuals to cancellation in float32. Components are taken in groups of fixed width, so that the products
        of a group do not depend on whether those of larger ones are needed.
        """
        centred = self.feature_map(block) - self.mean
        dimensions = self.components.shape[1]
        is_whole = dimensions == len(self.mean)
        first = least // _COLUMNS * _COLUMNS if is_whole else 0
        groups = self.components[:, first:].split(_COLUMNS, dim=1)
        projected = torch.cat([centred @ group for group in groups], dim=-1)
        outside = block.new_zeros(len(block), 1)
        if not is_whole:
            outside = (centred - projected @ self.components.T).square_().sum(dim=-1, keepdim=True)
        return torch.cat([outside, projected.square_().flip(-1)], dim=-1).cumsum_(-1)


def require_fraction(explained_variance: float) -> None:
    """Raise ValueError unless explained_variance is in (0, 1]."""
    if not 0.0 < explained_variance <= 1.0:
        raise ValueError(f"explained_variance is {explained_variance}; give a fraction in (0, 1], such as 0.9")


def _warn_of_count(q: int, *, rank: int, D: int) -> None:
    if q == rank == D:
        warnings.warn(f"q = {q} keeps all {D} dimensions, so every error is 0; keep fewer", FitWarning, stacklevel=3)
    elif q > rank:
        warnings.warn(
            f"q = {q} exceeds the {rank} components that the training samples determine; {rank} are used",
            FitWarning,
            stacklevel=3,
        )
