"""Kernel functions in float64, written so that wide kernels keep their small differences."""

from dataclasses import dataclass

import torch
from torch import Tensor

from inspect_core.detectors.checks import require_positive


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """‖a_i - b_j‖² as (n_a, n_b) for a (n_a, d) and b (n_b, d), one matrix product, about the mean of b.

    Centring keeps the rounding to that of the spread of the points, not of their distance from the origin; what is left
    of it is below 1e-15 of the largest square.
    """
    origin = b.mean(dim=0)
    a, b = a - origin, b - origin
    squares = b.square().sum(dim=-1) + a.square().sum(dim=-1, keepdim=True)
    return torch.addmm(squares, a, b.T, alpha=-2.0).clamp_(min=0.0)


@dataclass(frozen=True)
class GaussianKernel:
    """exp(-‖a - b‖² / (2 σ²)) - 1. The constant cancels in every centred formula; without it expm1 is exact.

    sigma: in units of the features. Raises ValueError when it is not positive.
    """

    sigma: float

    def __post_init__(self) -> None:
        require_positive(self.sigma, name="sigma", cure="give a kernel width above 0, such as that of suggest_sigma")

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        return squared_distances(a, b).mul_(-0.5 / self.sigma**2).expm1_()

    def diagonal(self, a: Tensor) -> Tensor:
        """k(a_i, a_i), (n,)."""
        return a.new_zeros(len(a))


@dataclass(frozen=True)
class PolynomialKernel:
    """(a · b + offset)^degree; degree 1 is the linear kernel, whose kernel PCA is PCA.

    Raises ValueError when degree is below 1 or offset negative.
    """

    degree: int
    offset: float

    def __post_init__(self) -> None:
        if self.degree < 1 or self.degree != int(self.degree):
            raise ValueError(f"degree is {self.degree}; give a whole number of at least 1")
        if not 0.0 <= self.offset < float("inf"):
            raise ValueError(f"offset is {self.offset}; give a finite number of at least 0")

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        return (a @ b.T).add_(self.offset).pow_(self.degree)

    def diagonal(self, a: Tensor) -> Tensor:
        """k(a_i, a_i), (n,)."""
        return a.square().sum(dim=-1).add_(self.offset).pow_(self.degree)


Kernel = GaussianKernel | PolynomialKernel
