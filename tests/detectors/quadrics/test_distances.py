"""Distances to quadrics: closed forms, bounds, invariance and the limits of the formula."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.detectors.quadrics.algebraic import monomials
from inspect_core.detectors.quadrics.distances import distance_1, distance_2, distance_algebraic, monomial_coefficients
from tests.examples import examples


def random_quadrics(seed, *, m=3, d=4):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, d, d))
    return (A + A.transpose(0, 2, 1)) / 2, rng.standard_normal((m, d)), rng.standard_normal(m), rng


def unit_sphere(d=3):
    return np.eye(d)[None], np.zeros((1, d)), -np.ones(1)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_one_product_gives_values_and_squared_half_gradients(dtype, tolerance):
    A, b, c, rng = random_quadrics(1)
    x = rng.standard_normal((20, 4))
    coefficients = monomial_coefficients(*(torch.from_numpy(part) for part in (A, b, c))).to(dtype)
    values, squares = (coefficients @ monomials(torch.from_numpy(x).to(dtype))).chunk(2)
    half_gradient = np.einsum("kij,nj->kni", A, x) + b[:, None] / 2
    expected = np.einsum("ni,kij,nj->kn", x, A, x) + b @ x.T + c[:, None]
    np.testing.assert_allclose(values.numpy(), expected, atol=tolerance * np.abs(expected).max())
    np.testing.assert_allclose(squares.numpy(), np.square(half_gradient).sum(-1), rtol=tolerance, atol=tolerance)


def test_distances_follow_their_formulas():
    A, b, c, rng = random_quadrics(0)
    x = rng.standard_normal((2, 5, 4))
    f = np.abs(np.einsum("...i,kij,...j->...k", x, A, x) + x @ b.T + c)
    gradient = np.linalg.norm(2 * np.einsum("kij,...j->...ki", A, x) + b, axis=-1)
    n = np.linalg.norm(A, axis=(1, 2))
    np.testing.assert_allclose(distance_algebraic(A, b, c, x), f, rtol=1e-12)
    np.testing.assert_allclose(distance_1(A, b, c, x), f / gradient, rtol=1e-12)
    expected = (np.sqrt(gradient**2 / 4 + f * n) - gradient / 2) / n
    np.testing.assert_allclose(distance_2(A, b, c, x), expected, rtol=1e-10)
    assert distance_2(A, b, c, x).shape == (2, 5, 3)
    assert distance_2(A, b, c, x).dtype == torch.float64
    assert distance_2(*(a.astype(np.float32) for a in (A, b, c, x))).dtype == torch.float32


@settings(deadline=None, max_examples=examples(50))
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 8))
def test_second_order_distance_is_at_most_that_to_a_sphere(seed, d):
    x = np.random.default_rng(seed).standard_normal((50, d))
    distance = np.abs(np.linalg.norm(x, axis=1) - 1)
    assert (distance_2(*unit_sphere(d), x)[:, 0].numpy() <= distance * (1 + 1e-12) + 1e-15).all()


@settings(deadline=None, max_examples=examples(50))
@given(seed=st.integers(0, 2**32 - 1), log_scale=st.floats(-3, 3), factor=st.floats(1e-3, 1e3))
def test_second_order_distance_moves_with_the_quadric(seed, log_scale, factor):
    A, b, c, rng = random_quadrics(seed)
    x = rng.standard_normal((10, 4))
    rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    shift, s = rng.standard_normal(4), 10.0**log_scale
    # y = s R x + shift, so f(x) as a function of y has A' = R A R' / s^2 and so on.
    moved_A = rotation @ A @ rotation.T / s**2
    moved_b = b @ rotation.T / s - 2 * moved_A @ shift
    moved_c = c - (b @ rotation.T / s) @ shift + np.einsum("i,kij,j->k", shift, moved_A, shift)
    y = s * x @ rotation.T + shift
    before = distance_2(A, b, c, x).numpy()
    after = distance_2(factor * moved_A, factor * moved_b, factor * moved_c, y).numpy()
    np.testing.assert_allclose(after, s * before, rtol=1e-6, atol=1e-9 * s / min(s, 1) ** 2)


def test_centre_of_a_sphere_and_points_on_it():
    centre = np.zeros((1, 3))
    assert distance_1(*unit_sphere(), centre).item() == np.inf
    assert distance_2(*unit_sphere(), centre).item() == pytest.approx(3**-0.25)
    on_it = np.array([[0.0, 1.0, 0.0]])
    for distance in (distance_algebraic, distance_1, distance_2):
        assert distance(*unit_sphere(), on_it).item() == 0


def test_a_plane_has_its_exact_distance():
    A, b, c = np.zeros((1, 2, 2)), np.array([[3.0, 4.0]]), np.array([-5.0])
    assert distance_2(A, b, c, np.array([[3.0, 4.0]])).item() == pytest.approx(4.0)


def test_zero_gradient_gives_zero_on_a_quadric_else_infinity():
    cone = np.array([[[1.0, 0.0], [0.0, -1.0]]]), np.zeros((1, 2)), np.zeros(1)
    for distance in (distance_1, distance_2):
        assert distance(*cone, np.zeros((1, 2))).item() == 0
        assert distance(np.zeros((1, 2, 2)), np.zeros((1, 2)), np.ones(1), np.zeros((1, 2))).item() == np.inf


def test_values_too_small_to_multiply_keep_their_distance():
    A = np.full((1, 1, 1), 1e-30, np.float32)
    b, c, x = np.zeros((1, 1), np.float32), np.full(1, -1e-30, np.float32), np.zeros((1, 1), np.float32)
    assert distance_2(A, b, c, x).item() == pytest.approx(1.0, rel=1e-5)


def test_float32_stays_within_2e_6_of_the_largest_distance():
    A, b, c, rng = random_quadrics(1, m=20, d=64)
    x = rng.standard_normal((100, 64))
    exact = distance_2(A, b, c, x)
    single = distance_2(*(a.astype(np.float32) for a in (A, b, c, x)))
    assert (single - exact).abs().max() < 2e-6 * exact.max()


def test_shapes_that_do_not_fit_are_named():
    A, b, c, _ = random_quadrics(0)
    with pytest.raises(ValueError, match="A has shape"):
        distance_2(A[0], b, c, np.zeros((1, 4)))
    with pytest.raises(ValueError, match="b has shape"):
        distance_2(A, b[:2], c, np.zeros((1, 4)))
    with pytest.raises(ValueError, match="x has shape"):
        distance_2(A, b, c, np.zeros((1, 3)))
