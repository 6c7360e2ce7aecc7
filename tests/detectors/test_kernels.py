import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.detectors.kernels import GaussianKernel, PolynomialKernel, squared_distances
from tests.examples import examples


def points(n, d, seed):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, d)))


@settings(deadline=None, max_examples=examples(30))
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 6), st.floats(-1e3, 1e3))
def test_squared_distances_are_those_of_differences(n, m, d, offset):
    a, b = points(n, d, 0) + offset, points(m, d, 1) + offset
    expected = ((a[:, None] - b[None]) ** 2).sum(-1)
    torch.testing.assert_close(squared_distances(a, b), expected, rtol=1e-12, atol=1e-12)


def test_gaussian_is_the_kernel_less_one_down_to_tiny_distances():
    a, b = torch.zeros(1, 1, dtype=torch.float64), torch.tensor([[0.0], [3e-6], [1.0], [1e3]], dtype=torch.float64)
    result = GaussianKernel(2.0)(a, b)[0]
    torch.testing.assert_close(result[2:], torch.exp(-(b[2:, 0] ** 2) / 8) - 1)
    torch.testing.assert_close(result[:2], torch.tensor([0.0, -9e-12 / 8], dtype=torch.float64), rtol=1e-3, atol=1e-9)
    near = GaussianKernel(1000.0)(b[:1], b[1:2])
    torch.testing.assert_close(near, torch.tensor([[-4.5e-18]], dtype=torch.float64), rtol=1e-9, atol=0.0)


def test_diagonal_is_the_kernel_of_a_point_with_itself():
    a = points(5, 3, 0)
    for kernel in (GaussianKernel(0.7), PolynomialKernel(1, 0.0), PolynomialKernel(3, 0.5)):
        torch.testing.assert_close(kernel.diagonal(a), kernel(a, a).diagonal(), rtol=1e-12, atol=1e-14)
