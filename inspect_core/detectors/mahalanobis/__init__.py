"""Localized Mahalanobis distances under a semi-orthogonal embedding (Kim et al. 2021), and their ablations."""

from inspect_core.detectors.mahalanobis.ablations import (
    EigenMahalanobis,
    GlobalMahalanobis,
    fit_eigen_largest,
    fit_eigen_smallest,
    fit_eigen_smallest_of_all,
    fit_full,
    fit_global,
    fit_shrunk,
)
from inspect_core.detectors.mahalanobis.model import Mahalanobis
from inspect_core.detectors.mahalanobis.projections import gaussian, sampled, semi_orthogonal
from inspect_core.detectors.mahalanobis.statistics import LocalGaussian, fit

__all__ = [
    "EigenMahalanobis",
    "GlobalMahalanobis",
    "LocalGaussian",
    "Mahalanobis",
    "fit",
    "fit_eigen_largest",
    "fit_eigen_smallest",
    "fit_eigen_smallest_of_all",
    "fit_full",
    "fit_global",
    "fit_shrunk",
    "gaussian",
    "sampled",
    "semi_orthogonal",
]
