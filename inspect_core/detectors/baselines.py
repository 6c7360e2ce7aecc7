"""Baselines that every other detector is compared with: PCA error, nearest neighbour, Parzen window, one-class SVM."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_positive, require_samples
from inspect_core.detectors.cop_corp import covariance
from inspect_core.detectors.cop_corp.feature_maps import cosine, identity_map, precision_of
from inspect_core.detectors.cop_corp.residual import KernelPCAMap
from inspect_core.detectors.kernels import squared_distances
from inspect_core.detectors.patch_rows import score_rows
from inspect_core.runtime.stored import Stored

_WIDTH_CURE = "give a kernel width above 0, in units of the features, such as that of suggest_sigma"


@dataclass(frozen=True, eq=False)
class NearestNeighbour(Stored):
    """Distance to the k-th nearest training sample.

    bank: (n, d) training samples, divided by their length when `unit`. Memory and time per sample grow with n.
    """

    bank: Tensor
    k: int
    unit: bool

    def __post_init__(self) -> None:
        if self.k != int(self.k) or not 1 <= self.k <= len(self.bank):
            raise ValueError(f"k is {self.k}; choose a neighbour from 1 to the {len(self.bank)} training samples")

    def score(self, x: Tensor | np.ndarray) -> Tensor:
        """Euclidean distance to the k-th nearest training sample, (..., d) -> (...). Higher is more anomalous.

        One matrix product ranks the neighbours; the distance of those that matter is then taken from coordinate
        differences, so that a training sample scores 0 and no small distance is lost to cancellation.
        Raises ValueError for non-finite features or a wrong width.
        """
        x = as_features(x, name="x", width=self.bank.shape[-1], dtype=self.bank.dtype).to(self.bank.device)
        x = cosine(x) if self.unit else x
        return score_rows(x, self._distances)

    def _distances(self, block: Tensor) -> Tensor:
        nearness = torch.addmm(self._half_squares, block - self._centre, self._centred.T)
        nearest = nearness.topk(self.k, dim=1).indices
        return torch.stack([(block - self.bank[column]).norm(dim=-1) for column in nearest.T]).amax(0)

    @cached_property
    def _centre(self) -> Tensor:
        return self.bank.mean(0)

    @cached_property
    def _centred(self) -> Tensor:
        return self.bank - self._centre

    @cached_property
    def _half_squares(self) -> Tensor:
        return -self._centred.square().sum(1) / 2


@dataclass(frozen=True, eq=False)
class ParzenWindow(Stored):
    """Minus the log of the Gaussian kernel density estimate, without its constant. x: (n, d) float64."""

    x: Tensor
    sigma: float

    def score(self, z: Tensor | np.ndarray) -> Tensor:
        """-log(1/n Σ_i exp(-‖z - x_i‖² / (2 σ²))), in nats, (..., d) -> (...) float64. Higher is more anomalous.

        The logarithm keeps the order of samples that are far from all training samples, where densities underflow.
        Raises ValueError for non-finite features or a wrong width.
        """
        z = as_features(z, name="z", width=self.x.shape[-1], dtype=torch.float64).to(self.x.device)

        def score(block: Tensor) -> Tensor:
            exponents = squared_distances(block, self.x).mul_(-0.5 / self.sigma**2)
            return math.log(len(self.x)) - exponents.logsumexp(dim=-1)

        return score_rows(z, score)


@dataclass(frozen=True, eq=False)
class OneClassMachine(Stored):
    """One-class SVM with a Gaussian kernel, as its support vectors (s, d), dual coefficients (s,) and offset."""

    support: Tensor
    dual: Tensor
    offset: float
    sigma: float

    def score(self, z: Tensor | np.ndarray) -> Tensor:
        """offset - Σ_i dual_i k(z, support_i), (..., d) -> (...) float64: above 0 outside the learned region.

        Raises ValueError for non-finite features or a wrong width.
        """
        z = as_features(z, name="z", width=self.support.shape[-1], dtype=torch.float64).to(self.support.device)

        def score(block: Tensor) -> Tensor:
            return self.offset - squared_distances(block, self.support).mul_(-0.5 / self.sigma**2).exp_() @ self.dual

        return score_rows(z, score)


def fit_pca(x: Tensor | np.ndarray, *, explained_variance: float = 0.9) -> KernelPCAMap:
    """Reconstruction error of plain PCA, in units of the features.

    x: (..., d). Raises ValueError for non-finite or empty features, or a fraction outside (0, 1].
    """
    return covariance.fit(x, identity_map(x.shape[-1]), explained_variance=explained_variance)


def fit_nearest_neighbour(x: Tensor | np.ndarray, *, k: int = 1) -> NearestNeighbour:
    """Nearest neighbour in units of the features, exhaustive search. x: (..., d).

    Raises ValueError for non-finite or empty features, or k outside 1 .. n.
    """
    return NearestNeighbour(_bank(x), k, unit=False)


def fit_nearest_neighbour_unit(x: Tensor | np.ndarray) -> NearestNeighbour:
    """As `fit_nearest_neighbour`, on features divided by their length; scores 0 to 2. Source: Sun et al. 2022."""
    return NearestNeighbour(cosine(_bank(x)), 1, unit=True)


def fit_parzen(x: Tensor | np.ndarray, *, sigma: float) -> ParzenWindow:
    """Parzen window with a Gaussian of standard deviation sigma. x: (..., d).

    Raises ValueError for non-finite or empty features, or sigma not positive.
    """
    require_positive(sigma, name="sigma", cure=_WIDTH_CURE)
    return ParzenWindow(_rows(x, torch.float64).clone(), float(sigma))


def fit_one_class_svm(x: Tensor | np.ndarray, *, sigma: float, nu: float) -> OneClassMachine:
    """One-class SVM (Schölkopf et al. 2001) with the kernel exp(-‖a - b‖² / (2 σ²)), solved by scikit-learn.

    x: (..., d), a few thousand rows at most. nu: upper bound on the fraction of training samples outside, in (0, 1).
    Raises ValueError for non-finite or empty features, sigma not positive, or nu not between 0 and 1.
    """
    require_positive(sigma, name="sigma", cure=_WIDTH_CURE)
    if not 0.0 < nu < 1.0:
        raise ValueError(f"nu is {nu}; give the fraction of training samples that may lie outside, between 0 and 1")
    rows = _rows(x, torch.float64)
    from sklearn.svm import OneClassSVM

    machine = OneClassSVM(kernel="rbf", gamma=0.5 / sigma**2, nu=nu).fit(rows.cpu().numpy())
    return OneClassMachine(
        support=torch.from_numpy(machine.support_vectors_).to(rows.device),
        dual=torch.from_numpy(machine.dual_coef_[0].copy()).to(rows.device),
        offset=float(machine.offset_[0]),
        sigma=float(sigma),
    )


def _rows(x: Tensor | np.ndarray, dtype: torch.dtype) -> Tensor:
    x = as_features(x, name="x", dtype=dtype)
    require_samples(x, name="x")
    return x.reshape(-1, x.shape[-1])


def _bank(x: Tensor | np.ndarray) -> Tensor:
    return _rows(x, precision_of(x)).clone()
