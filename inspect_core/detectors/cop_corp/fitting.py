"""CoP and CoRP: kernel PCA of deep features by an explicit map, scored by the reconstruction error.

CoP   Φ(z) = z / ‖z‖                          inner products are the cosine kernel
CoRP  Φ(z) = √(2/M) cos(√(2γ) w0 z/‖z‖ + u)   inner products approximate exp(-γ ‖a/‖a‖ - b/‖b‖‖²)
e(z) = ‖(I - U_q U_qᵀ)(Φ(z) - μ)‖             time per sample independent of the number of training samples

Source: Fang et al., "Kernel PCA for out-of-distribution detection". Scores of different draws (seed or M) are equally
good but rank samples differently: never compare them with each other or use the limit of one for another.
"""

import numpy as np
from torch import Tensor

from inspect_core.detectors.cop_corp import covariance
from inspect_core.detectors.cop_corp.feature_maps import cosine_fourier_map, cosine_map
from inspect_core.detectors.cop_corp.residual import KernelPCAMap


def fit_cop(x: Tensor | np.ndarray, *, explained_variance: float = 0.9) -> KernelPCAMap:
    """CoP: PCA of the features divided by their length.

    x: (..., m) good samples. Raises ValueError for non-finite or empty features, or a fraction outside (0, 1].
    """
    return covariance.fit(x, cosine_map(x.shape[-1]), explained_variance=explained_variance)


def fit_corp(
    x: Tensor | np.ndarray, *, gamma: float, M: int, explained_variance: float = 0.9, seed: int = 0
) -> KernelPCAMap:
    """CoRP: PCA of M random Fourier features of the features divided by their length.

    x: (..., m) good samples. gamma: of the kernel exp(-γ d²). More patches than fit in memory go through
    `MappedCovariance(cosine_fourier_map(...))` batch by batch.
    Raises ValueError for non-finite or empty features, gamma not positive, M < 2, or a fraction outside (0, 1].
    """
    feature_map = cosine_fourier_map(x.shape[-1], gamma=gamma, M=M, seed=seed)
    return covariance.fit(x, feature_map, explained_variance=explained_variance)
