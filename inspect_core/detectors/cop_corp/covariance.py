"""PCA of mapped features from a covariance streamed over any number of batches, or from samples in memory."""

import warnings
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_samples
from inspect_core.detectors.cop_corp.feature_maps import FeatureMap, precision_of
from inspect_core.detectors.cop_corp.residual import KernelPCAMap, require_fraction
from inspect_core.detectors.warned import FitWarning

_ROWS = 2048
_FLOAT64_PRODUCTS = 2**32


class MappedCovariance:
    """Mean and covariance of Φ(x) over any number of batches, in memory of D x D and one block of rows.

    feature_map: Φ. dtype: of the mapped blocks and their products, which are taken about a shift and summed in float64.
    `update` and `merge` change the statistics and return them.
    """

    def __init__(self, feature_map: FeatureMap, *, dtype: torch.dtype = torch.float32) -> None:
        self.feature_map = feature_map
        self.dtype = dtype
        self.count = 0
        self._start(torch.zeros(feature_map.D, dtype=dtype))

    def update(self, features: Tensor | np.ndarray) -> "MappedCovariance":
        """Take in a batch (..., m). Raises ValueError for non-finite features or a wrong width."""
        features = as_features(features, width=self.feature_map.m, dtype=self.dtype)
        self.feature_map = self.feature_map.to(features.device)
        for block in features.reshape(-1, self.feature_map.m).split(_ROWS):
            if len(block):
                self._add(self.feature_map(block))
        return self

    def merge(self, other: "MappedCovariance") -> "MappedCovariance":
        """Add the statistics of `other`, of the same Φ. Raises ValueError when Φ differs."""
        if not self.feature_map.matches(other.feature_map):
            raise ValueError("other was collected through another feature map; merge statistics of one map and draw")
        if other.count == 0:
            return self
        if self.count == 0:
            self._start(other._shift)
        self._add_sums(other, sign=1)
        return self

    def without(self, other: "MappedCovariance") -> "MappedCovariance":
        """The statistics without those of `other`, which were merged into them; both stay as they are.

        Exact but for the rounding of float64.
        """
        remaining = MappedCovariance(self.feature_map, dtype=self.dtype)
        remaining._start(self._shift)
        for statistics, sign in ((self, 1), (other, -1)):
            remaining._add_sums(statistics, sign=sign)
        return remaining

    def state(self) -> dict[str, Tensor]:
        """count () int64, shift (D,), and about that shift sum (D,) and products (D, D), float64; no copies."""
        return {"count": torch.tensor(self.count), "shift": self._shift, "sum": self._sum, "products": self._products}

    def restore(self, state: Mapping[str, Tensor]) -> "MappedCovariance":
        """Replaces its statistics by the `state` of another with the same Φ.

        Raises ValueError for arrays of other shapes or types.
        """
        D = self.feature_map.D
        described = [(tuple(state[name].shape), state[name].dtype) for name in ("shift", "sum", "products")]
        if described != [((D,), self.dtype), ((D,), torch.float64), ((D, D), torch.float64)]:
            raise ValueError(f"state is not of {D} mapped features; it comes from another fit")
        self.count = int(state["count"])
        self._shift, self._sum, self._products = state["shift"], state["sum"], state["products"]
        return self

    def finish(self, *, explained_variance: float = 0.9) -> KernelPCAMap:
        """The fitted map of everything seen so far, in `dtype`; the statistics stay usable.

        Fewer samples than dimensions determine at most count - 1 components; the others are left out, not invented.
        Raises ValueError when nothing was seen or explained_variance is not in (0, 1].
        """
        if self.count == 0:
            raise ValueError("features is empty; update with at least one good sample before finish")
        require_fraction(explained_variance)
        model = self._decompose(explained_variance)
        _warn_of_samples(self.count, rank=len(model.eigenvalues))
        return model.to(self.dtype)

    def moments(self) -> tuple[Tensor, Tensor]:
        """The mean (D,) and the covariance (D, D) of everything seen so far, float64."""
        offset = self._sum / self.count
        return self._shift.double() + offset, self._products / self.count - torch.outer(offset, offset)

    def _decompose(self, explained_variance: float) -> KernelPCAMap:
        mean, covariance = self.moments()
        eigenvalues, vectors = torch.linalg.eigh(covariance)
        rank = min(len(eigenvalues), self.count - 1)
        return _assemble(
            self.feature_map,
            mean=mean,
            components=vectors.flip(-1)[:, :rank],
            eigenvalues=eigenvalues.flip(-1)[:rank].clamp(min=0.0),
            explained_variance=explained_variance,
            resolution=torch.finfo(self.dtype).eps,
        )

    def _add_sums(self, other: "MappedCovariance", *, sign: int) -> None:
        """Add or subtract the sums of `other`, brought to the own shift and device."""
        shift, sums, products = (values.to(self._sum.device) for values in (other._shift, other._sum, other._products))
        step = shift.double() - self._shift.double()
        self._products.add_(products, alpha=sign)
        for first, two, count in ((sums, step, 1), (step, sums, 1), (step, step, other.count)):
            self._products.addr_(first, two, alpha=sign * count)
        self._sum += sign * (sums + other.count * step)
        self.count += sign * other.count

    def _start(self, shift: Tensor) -> None:
        """Empty sums about a shift: the mean of what comes first, on its device."""
        D = len(shift)
        self._shift = shift.clone()
        self._sum = torch.zeros(D, dtype=torch.float64, device=shift.device)
        self._products = torch.zeros(D, D, dtype=torch.float64, device=shift.device)

    def _add(self, mapped: Tensor) -> None:
        if self.count == 0:
            self._start(mapped.mean(dim=0))
        centred = mapped - self._shift
        self._products += centred.T @ centred
        self._sum += centred.sum(dim=0, dtype=torch.float64)
        self.count += len(mapped)


def fit(x: Tensor | np.ndarray, feature_map: FeatureMap, *, explained_variance: float) -> KernelPCAMap:
    """PCA of Φ(x) for samples that are all in memory, x (..., m), with arrays in the precision of x.

    With few samples a thin SVD of the mapped samples themselves, in float64; else the streamed covariance, its products
    in float64 if they are few, otherwise in the precision of x.
    Raises ValueError for non-finite or empty features, or explained_variance outside (0, 1].
    """
    dtype = precision_of(x)
    x = as_features(x, name="x", width=feature_map.m, dtype=dtype).reshape(-1, feature_map.m)
    require_samples(x, name="x")
    require_fraction(explained_variance)
    samples = len(x)
    D = feature_map.D
    if 2 * samples <= D:
        model = _fit_by_svd(x, feature_map, explained_variance=explained_variance)
    else:
        products = torch.float64 if samples * D * D <= _FLOAT64_PRODUCTS else dtype
        model = MappedCovariance(feature_map, dtype=products).update(x)._decompose(explained_variance)
    _warn_of_samples(samples, rank=len(model.eigenvalues), stacklevel=4)
    return model.to(dtype)


def _fit_by_svd(x: Tensor, feature_map: FeatureMap, *, explained_variance: float) -> KernelPCAMap:
    mapped = feature_map.to(x.device)(x.double())
    mean = mapped.mean(dim=0)
    _, singular, rows = torch.linalg.svd(mapped - mean, full_matrices=False)
    rank = int((singular > torch.finfo(torch.float64).eps * max(mapped.shape) * singular[0]).sum())
    return _assemble(
        feature_map,
        mean=mean,
        components=rows[:rank].T,
        eigenvalues=singular[:rank].square() / len(x),
        explained_variance=explained_variance,
        resolution=torch.finfo(torch.float64).eps,
    )


def _assemble(
    feature_map: FeatureMap,
    *,
    mean: Tensor,
    components: Tensor,
    eigenvalues: Tensor,
    explained_variance: float,
    resolution: float,
) -> KernelPCAMap:
    # Below the resolution of the mapped features a spread is rounding: constant features then keep no component.
    if eigenvalues.sum() <= (64.0 * resolution) ** 2 * mean.square().sum():
        components, eigenvalues = components[:, :0], eigenvalues[:0]
    components = components.contiguous()
    return KernelPCAMap(feature_map.to(mean.device), mean, components, eigenvalues, float(explained_variance))


def _warn_of_samples(samples: int, *, rank: int, stacklevel: int = 3) -> None:
    if samples == 1:
        message = "fitted on 1 sample: the error is the distance to that one sample"
    elif rank == 0:
        message = f"all {samples} samples are alike: the error is the distance to their common value"
    else:
        return
    warnings.warn(message, FitWarning, stacklevel=stacklevel)
