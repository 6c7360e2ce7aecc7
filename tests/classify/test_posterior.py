"""Posterior, constant and calibration error by hand."""

import numpy as np
import pytest

from inspect_core.classify.posterior import calibrated_constant, calibration_error, fixed_constant, posterior

PRIOR = np.array([0.25, 0.75])


def test_posterior_by_hand():
    density, constant = np.array([[3.0, 0.5]]), 0.5
    joint = (density + constant) * PRIOR
    np.testing.assert_allclose(posterior(np.log(density), np.log(constant), PRIOR), joint / joint.sum(), rtol=1e-14)


@pytest.mark.parametrize("shift", [-1e9, 0.0, 1e9])
def test_posterior_does_not_overflow(shift):
    log_density = np.array([[0.0, 1.0]]) + shift
    expected = posterior(np.array([[0.0, 1.0]]), -np.inf, PRIOR)
    np.testing.assert_allclose(posterior(log_density, -np.inf, PRIOR), expected, rtol=1e-6)


def test_posterior_is_the_prior_where_nothing_is_left():
    log_density = np.array([[-np.inf, -np.inf], [-1e12, -np.inf]])
    np.testing.assert_array_equal(posterior(log_density, -np.inf, PRIOR), [PRIOR, [1, 0]])
    np.testing.assert_allclose(posterior(log_density, -1e7, PRIOR), [PRIOR, PRIOR], rtol=1e-8)


@pytest.mark.parametrize(
    ("n", "expected"), [(1, -1e7), (2, -1e7), (3, -1e7 - np.log(np.log(3))), (10_000, -1e7 - 2.2203)]
)
def test_the_papers_constant_is_divided_by_log_n(n, expected):
    assert fixed_constant(-1e7, n) == pytest.approx(expected, abs=1e-4)


def test_calibrated_constant_is_a_tenth_of_the_least_likeliest():
    log_density = np.log(
        [[5.0, 1.0], [2.0, 4.0], [0.0, 3.0]],
        where=np.array([[1, 1], [1, 1], [0, 1]], dtype=bool),
        out=np.full((3, 2), -np.inf),
    )
    assert calibrated_constant(log_density) == pytest.approx(np.log(0.3), rel=1e-12)
    lost = np.full((1, 2), -np.inf)
    assert calibrated_constant(np.concatenate([log_density, lost])) == pytest.approx(np.log(0.3), rel=1e-12)
    assert calibrated_constant(lost) == -np.inf


def test_calibration_error_by_hand():
    proba = np.array([[0.9, 0.1], [0.92, 0.08], [0.3, 0.7], [0.55, 0.45]])
    right = np.array([0, 1, 1, 0])
    # Bins (.85, .9], (.9, .95], (.65, .7] and (.5, .55] hold one sample each.
    assert calibration_error(proba, right) == pytest.approx((0.1 + 0.92 + 0.3 + 0.45) / 4, rel=1e-12)


def test_a_bin_holds_its_upper_edge_and_not_its_lower():
    # .95 and .9 lie in different bins; in one bin their errors would cancel.
    proba = np.array([[0.95, 0.05]] * 20 + [[0.9, 0.1]] * 20)
    right = np.array([1] * 1 + [0] * 19 + [1] * 2 + [0] * 18)
    assert calibration_error(proba, right) == pytest.approx(0, abs=1e-12)


def test_a_calibrated_coin_has_a_small_error_in_20_bins():
    rng = np.random.default_rng(0)
    heads = rng.uniform(0, 1, 200_000)
    fell = (rng.uniform(0, 1, 200_000) < heads).astype(int)
    proba = np.stack([1 - heads, heads], axis=1)
    assert calibration_error(proba, fell) < 0.01
    assert calibration_error(proba, 1 - fell) == pytest.approx(0.5, abs=0.01)
