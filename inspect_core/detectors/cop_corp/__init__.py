"""CoP and CoRP: kernel PCA with cosine and random-Fourier maps (Fang et al. 2024)."""

from inspect_core.detectors.cop_corp.covariance import MappedCovariance
from inspect_core.detectors.cop_corp.feature_maps import (
    cosine,
    cosine_fourier_map,
    cosine_map,
    draw,
    identity_map,
    random_fourier,
)
from inspect_core.detectors.cop_corp.fitting import fit_cop, fit_corp
from inspect_core.detectors.cop_corp.residual import KernelPCAMap
