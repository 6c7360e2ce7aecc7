"""Kernel PCA for novelty detection: the squared distance to the principal subspace in the kernel's own feature space.

p(z) = k(z,z) - 2/n Σ_i k(z,x_i) + 1/n² Σ_ij k(x_i,x_j) - Σ_{l<=q} f_l(z)²
f_l(z) = Σ_i α_li [k(z,x_i) - 1/n Σ_r k(x_i,x_r) - 1/n Σ_r k(z,x_r) + 1/n² Σ_rs k(x_r,x_s)]

Source: Hoffmann, "Kernel PCA for novelty detection", Pattern Recognition 40 (2007), eqs. 6 to 11. All of it is float64:
p is a difference of nearly equal numbers. Fitting costs n³, so patches are subsampled (`methods.patch_sampling`).
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Self

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_samples
from inspect_core.detectors.cop_corp.feature_maps import precision_of
from inspect_core.detectors.kernels import GaussianKernel, Kernel, PolynomialKernel
from inspect_core.detectors.patch_rows import score_rows
from inspect_core.detectors.warned import FitWarning
from inspect_core.runtime.json_record import WIDTH, Rules, whole
from inspect_core.runtime.stored import Stored, floats

LARGEST_TRAINING_SET = 20_000
LARGEST_ALPHA = 1e18
"""Of a recipe. Alphas are divided by roots of eigenvalues, which may be small; all arithmetic with them is float64."""
_COLUMNS = 128
_TIES = (0.01, 1e-12, 1e-9)


@dataclass(frozen=True, eq=False)
class KernelPCA(Stored):
    """Reconstruction error in kernel space for any number of components up to the rank.

    kernel: k. x: (n, d) training samples. alpha: (n, rank), column l is the eigenvector v_l / sqrt(λ_l), largest first.
    row_mean: (n,) mean of each row of the kernel matrix. eigenvalues: (rank,) of the centred kernel matrix. q: the
    components in use when a call names none, at most the rank. All float64.
    """

    kernel: Kernel
    x: Annotated[Tensor, floats("n k")]
    alpha: Annotated[Tensor, floats("n r", -LARGEST_ALPHA, LARGEST_ALPHA)]
    row_mean: Annotated[Tensor, floats("n", -1.01, 0)]
    eigenvalues: Annotated[Tensor, floats("r", 0)]
    q: Annotated[int, whole(0)]

    @property
    def rank(self) -> int:
        """Number of components whose eigenvalue stands above the rounding of the kernel matrix."""
        return len(self.eigenvalues)

    def score(self, z: Tensor | np.ndarray, *, q: int | None = None) -> Tensor:
        """p(z), eq. 11: a squared distance, unclipped, so it may be slightly below 0. Higher is more anomalous.

        z: (..., d) -> (...) float64. q: 0 .. rank, a larger one is taken as the rank with a warning; q = 0 ranks as
        minus the Parzen density does. Bit-equal to the same q of any `sweep`. Warns when more than 1 % of the scores
        tie at the maximum of the Gaussian kernel: far from all training samples or, with sigma too small, everywhere.
        Raises ValueError for non-finite features, a wrong width or a negative q.
        """
        scores = self._scores(z, [self.q if q is None else self._effective(q)])[0]
        if isinstance(self.kernel, GaussianKernel):
            _warn_of_ties(scores)
        return scores

    def sweep(self, z: Tensor | np.ndarray, qs: Sequence[int]) -> Tensor:
        """p(z) for every q of `qs` from one set of kernel values: (..., d) -> (len(qs), ...) float64.

        A q above the rank scores as the rank. Memory beyond the result is 1,024 x n.
        """
        for q in qs:
            _require_count(q)
        return self._scores(z, [min(int(q), self.rank) for q in qs])

    def ceiling(self, q: int) -> float:
        """The value that p tends to under a Gaussian kernel for a patch far from every training sample."""
        grand_mean = self.row_mean.mean()
        components = (grand_mean - self.row_mean) @ self.alpha[:, : min(q, self.rank)]
        return float(2 + grand_mean - components.square().sum())

    def params(self) -> dict:
        """q with sigma of the Gaussian kernel, or with degree and offset of the polynomial one."""
        return asdict(self.kernel) | {"q": self.q}

    @classmethod
    def rules(cls) -> Rules:
        """Those with the Gaussian kernel."""
        return {"sigma": WIDTH, "q": whole(0)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], params: Mapping[str, Any]) -> Self:
        """The model that `arrays` and `params` describe; its scores are bit-equal on the same device.

        Raises ValueError for a q above the rank.
        """
        if params["q"] > len(arrays["eigenvalues"]):
            raise ValueError(f"q is {params['q']}, above the rank {len(arrays['eigenvalues'])} of the fit")
        if "sigma" in params:
            kernel: Kernel = GaussianKernel(params["sigma"])
        else:
            kernel = PolynomialKernel(params["degree"], params["offset"])
        return cls(kernel, arrays["x"], arrays["alpha"], arrays["row_mean"], arrays["eigenvalues"], params["q"])

    def _effective(self, q: int) -> int:
        _require_count(q)
        if q > self.rank:
            warnings.warn(
                f"q = {q} exceeds the rank {self.rank} of the {len(self.x)} training samples; {self.rank} components "
                "are used",
                FitWarning,
                stacklevel=3,
            )
        return min(int(q), self.rank)

    def _scores(self, z: Tensor | np.ndarray, qs: Sequence[int]) -> Tensor:
        z = as_features(z, name="z", width=self.x.shape[-1], dtype=torch.float64).to(self.x.device)
        return score_rows(z, lambda block: self._score_block(block, qs))

    def _score_block(self, block: Tensor, qs: Sequence[int]) -> Tensor:
        """(len(qs), b). Components are taken in groups of fixed width, so every q sums them in one order."""
        out = block.new_empty(len(qs), len(block))
        values = self.kernel(block, self.x)
        mean = values.mean(dim=-1, keepdim=True)
        grand_mean = self.row_mean.mean()
        spread = self.kernel.diagonal(block) - 2.0 * mean[:, 0] + grand_mean
        centred = values.sub_(self.row_mean - grand_mean).sub_(mean)
        projected = torch.zeros_like(spread)
        for first in range(0, max(qs, default=0) + 1, _COLUMNS):
            group = (centred @ self.alpha[:, first : first + _COLUMNS]).square_()
            sums = torch.cat([projected[:, None], group], dim=-1).cumsum_(-1)
            for row, q in enumerate(qs):
                if first <= q <= first + group.shape[1]:
                    out[row] = spread - sums[:, q - first]
            projected = sums[:, -1]
        return out


def fit(x: Tensor | np.ndarray, *, sigma: float, q: int | None = None) -> KernelPCA:
    """Kernel PCA with the Gaussian kernel exp(-‖a - b‖² / (2 σ²)).

    x: (..., d) good samples, at most 20,000 rows. sigma: in units of the features (`suggest_sigma`). q: components
    kept, at most the rank; None takes `suggest_q` of the spectrum.
    Raises ValueError for non-finite, empty or too many samples, sigma not positive or q negative.
    """
    return _fit(x, GaussianKernel(float(sigma)), q=q)


def fit_linear(x: Tensor | np.ndarray, *, q: int | None = None) -> KernelPCA:
    """Kernel PCA with k(a, b) = a · b: PCA's squared reconstruction error. Arguments and errors as `fit`."""
    return _fit(x, PolynomialKernel(degree=1, offset=0.0), q=q)


def fit_polynomial(x: Tensor | np.ndarray, *, degree: int, offset: float = 1.0, q: int | None = None) -> KernelPCA:
    """Kernel PCA with k(a, b) = (a · b + offset)^degree. Raises as `fit`, and for degree < 1 or offset < 0."""
    return _fit(x, PolynomialKernel(degree, float(offset)), q=q)


def suggest_sigma(x: Tensor | np.ndarray, *, seed: int = 0) -> float:
    """A starting kernel width: a third of the median distance between pairs of 1,000 samples drawn without
    replacement, or, if that is larger, their median distance to the nearest other.

    x: (..., d). A narrower kernel finds a strange sample like none of them, and all such have one score. Raises
    ValueError for a single sample, or when half of the pairs coincide.
    """
    x = as_features(x, name="x", dtype=precision_of(x)).reshape(-1, x.shape[-1])
    require_samples(x, name="x")
    drawn = np.random.default_rng(seed).permutation(len(x))[:1000]
    subset = x[torch.from_numpy(drawn).to(x.device)].double()
    median = float(torch.pdist(subset).quantile(0.5)) if len(subset) > 1 else 0.0
    if median == 0.0:
        raise ValueError(f"x has {len(x)} samples, one alone or mostly equal; give more varied ones, or sigma itself")
    apart = torch.cdist(subset, subset, compute_mode="donot_use_mm_for_euclid_dist").fill_diagonal_(torch.inf)
    return max(median / 3.0, float(apart.amin(dim=1).quantile(0.5)))


def suggest_q(eigenvalues: Tensor | np.ndarray, *, fraction: float = 0.9999) -> int:
    """The fewest components whose eigenvalues reach `fraction` of their sum; 0 for an empty spectrum.

    eigenvalues: (rank,) largest first. Raises ValueError when fraction is not in (0, 1].
    """
    if not 0.0 < fraction <= 1.0:
        raise ValueError(f"fraction is {fraction}; give one in (0, 1], such as 0.9999")
    sums = torch.as_tensor(eigenvalues, dtype=torch.float64).cumsum(0)
    return int((sums < (fraction - 1e-12) * sums[-1]).sum()) + 1 if len(sums) else 0


def _fit(x: Tensor | np.ndarray, kernel: Kernel, *, q: int | None) -> KernelPCA:
    x = as_features(x, name="x", dtype=torch.float64)
    require_samples(x, name="x")
    x = x.reshape(-1, x.shape[-1]).clone()
    if len(x) > LARGEST_TRAINING_SET:
        raise ValueError(
            f"x has {len(x)} samples, more than the {LARGEST_TRAINING_SET} that an exact kernel matrix is built for; "
            "give a sample of them"
        )
    if q is not None:
        _require_count(q)
    matrix = kernel(x, x)
    row_mean = matrix.mean(dim=-1)
    largest = matrix.abs().max()
    centred = matrix.sub_(row_mean).sub_(row_mean[:, None]).add_(row_mean.mean())
    eigenvalues, vectors = torch.linalg.eigh(centred)
    eigenvalues, vectors = eigenvalues.flip(-1), vectors.flip(-1)
    # A relative cut alone would keep directions that are only the rounding of a wide kernel's nearly equal entries.
    rounding = 10.0 * len(x) * torch.finfo(torch.float64).eps * largest
    rank = int((eigenvalues > torch.maximum(1e-12 * eigenvalues[0], rounding)).sum())
    eigenvalues = eigenvalues[:rank].contiguous()
    alpha = (vectors[:, :rank] / eigenvalues.sqrt()).contiguous()
    if rank == 0:
        warnings.warn(
            f"the {len(x)} training samples coincide (rank 0): the score is the squared distance to their one image",
            FitWarning,
            stacklevel=3,
        )
    requested_q = suggest_q(eigenvalues) if q is None else int(q)
    if requested_q > rank > 0:
        warnings.warn(
            f"q = {requested_q} exceeds the rank {rank} of the {len(x)} training samples; {rank} components are used",
            FitWarning,
            stacklevel=3,
        )
    return KernelPCA(kernel, x, alpha, row_mean, eigenvalues, min(requested_q, rank))


def _require_count(q: int) -> None:
    if q < 0 or q != int(q):
        raise ValueError(f"q is {q}; keep a whole number of components, 0 or more")


def _warn_of_ties(scores: Tensor) -> None:
    fraction, tolerance, rounding = _TIES
    if scores.numel() < 2 or scores.max() <= rounding:
        return
    tied = int((scores >= scores.max() - tolerance).sum())
    if tied > max(1, fraction * scores.numel()):
        warnings.warn(
            f"{tied} of {scores.numel()} scores tie at the maximum, so their order is lost: these samples are far from "
            "all training samples; if that is not so, sigma is too small",
            FitWarning,
            stacklevel=3,
        )
