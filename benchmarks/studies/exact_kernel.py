"""CoP's and CoRP's reconstruction error from kernel values alone: the exact errors that the explicit maps stand for.

The error of CoP is reproduced to rounding; that of CoRP is the limit M -> ∞. Cost and memory grow with the training
set, which is why the detectors themselves use the maps; these functions check them and measure the approximation.
"""

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_between, require_positive
from inspect_core.detectors.cop_corp.feature_maps import cosine
from inspect_core.detectors.kernel_pca import KernelPCA, fit, fit_linear


def cosine_kernel_error(x: Tensor | np.ndarray, z: Tensor | np.ndarray, *, q: int) -> Tensor:
    """Error of CoP with q components by the cosine kernel: training x (n, m), test z (..., m) -> (...) float64.

    e² = k(z,z) - 2 mean_i k(z,x_i) + mean_ij k(x_i,x_j) - Σ_{l<=q} (v_l · k_c(z))² / λ_l, clipped at 0, with
    (λ_l, v_l) of the centred kernel matrix. Raises ValueError as `kernel_pca.fit_linear`.
    """
    x, z = _mapped(x, z)
    return _error(fit_linear(x, q=q), z)


def cosine_gaussian_kernel_error(x: Tensor | np.ndarray, z: Tensor | np.ndarray, *, gamma: float, q: int) -> Tensor:
    """Error that CoRP approximates, by exp(-γ ‖a - b‖²) between features divided by their length; else as above.

    Raises ValueError as `kernel_pca.fit`, or when gamma is not positive.
    """
    require_positive(gamma, name="gamma", cure="give a kernel width parameter above 0, such as 1")
    x, z = _mapped(x, z)
    return _error(fit(x, sigma=(2.0 * gamma) ** -0.5, q=q), z)


def proposition_2_as_printed(x: Tensor | np.ndarray, z: Tensor | np.ndarray, *, q: int) -> Tensor:
    """‖Aᵀ k_z‖ with the cosine kernel, A the eigenvectors of the uncentred kernel matrix after the q leading ones.

    What the paper prints as the kernel form of the error. It is another quantity: it equals √(Σ_{j>q} λ_j p_j²) for the
    uncentred projections p_j, lacks 1/√λ and the centring, and drops what lies outside the training span. For
    comparison only. x: (n, m), z: (..., m) -> (...) float64. Raises ValueError when q is outside 0 .. n.
    """
    x, z = _mapped(x, z)
    require_between(q, 0, len(x), name="q", cure=f"leave out 0 to {len(x)} of the {len(x)} eigenvectors")
    _, vectors = torch.linalg.eigh(x @ x.T)
    return ((z @ x.T) @ vectors[:, : len(x) - q]).norm(dim=-1)


def _mapped(x: Tensor | np.ndarray, z: Tensor | np.ndarray) -> tuple[Tensor, Tensor]:
    x = as_features(x, name="x", dtype=torch.float64)
    z = as_features(z, name="z", width=x.shape[-1], dtype=torch.float64)
    return cosine(x), cosine(z)


def _error(model: KernelPCA, z: Tensor) -> Tensor:
    return model.sweep(z, [model.q])[0].clamp(min=0.0).sqrt()
