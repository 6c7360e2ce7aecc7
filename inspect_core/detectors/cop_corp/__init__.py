"""CoP and CoRP: kernel PCA with cosine and random-Fourier maps (Fang et al. 2024)."""

from importlib import import_module

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


def __getattr__(name: str) -> object:
    """Find the scores of a classifier and their fusion by their old names: they lie with the studies, in a checkout."""
    if name in {"regularised_error", "fuse", "msp", "energy", "react", "bats"}:
        return getattr(import_module("benchmarks.studies.ood_scores"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
