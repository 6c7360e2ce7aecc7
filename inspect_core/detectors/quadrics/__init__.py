"""Quadric hypersurface intersection (Pavutnitskiy et al. 2022)."""

from inspect_core.detectors.quadrics.distances import distance_1, distance_2, distance_algebraic
from inspect_core.detectors.quadrics.fitting import fit, fit_algebraic, fit_algebraic_hs, fit_algebraic_quadratic
from inspect_core.detectors.quadrics.model import Quadrics
