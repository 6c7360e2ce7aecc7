"""Localized Mahalanobis distances under a semi-orthogonal embedding (Kim et al. 2021)."""

from importlib import import_module

from inspect_core.detectors.mahalanobis.model import Mahalanobis
from inspect_core.detectors.mahalanobis.projections import gaussian, sampled, semi_orthogonal
from inspect_core.detectors.mahalanobis.statistics import LocalGaussian, fit


def __getattr__(name: str) -> object:
    """Find the ablations by their old names: only the studies call them, so they lie there, in a checkout."""
    if name.startswith("fit_"):
        return getattr(import_module("benchmarks.studies.ablations"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
