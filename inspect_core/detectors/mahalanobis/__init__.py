"""Localized Mahalanobis distances under a semi-orthogonal embedding (Kim et al. 2021)."""

from inspect_core.detectors.mahalanobis.model import Mahalanobis
from inspect_core.detectors.mahalanobis.projections import gaussian, sampled, semi_orthogonal
from inspect_core.detectors.mahalanobis.statistics import LocalGaussian, fit
