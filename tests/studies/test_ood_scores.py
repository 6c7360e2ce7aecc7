import numpy as np
import pytest
import torch

from benchmarks.studies.ood_scores import bats, bats_clip, energy, fuse, msp, react, react_clip, regularised_error

pytestmark = pytest.mark.slow

LOGITS = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])


def test_msp_and_energy_by_hand():
    exponentials = np.exp(LOGITS)
    np.testing.assert_allclose(msp(LOGITS).numpy(), (exponentials / exponentials.sum(1, keepdims=True)).max(1))
    np.testing.assert_allclose(energy(LOGITS).numpy(), np.log(exponentials.sum(1)))


def test_msp_ignores_a_common_offset_and_energy_carries_it():
    np.testing.assert_allclose(msp(LOGITS + 7.0).numpy(), msp(LOGITS).numpy())
    np.testing.assert_allclose(energy(LOGITS + 7.0).numpy(), energy(LOGITS).numpy() + 7.0)


def test_large_logits_do_not_overflow():
    huge = np.array([[1e4, 0.0], [-1e4, -1e4]], np.float32)
    np.testing.assert_allclose(energy(huge).numpy(), [1e4, -1e4 + np.log(2)], rtol=1e-6)
    np.testing.assert_allclose(msp(huge).numpy(), [1.0, 0.5])


def test_react_and_bats_are_the_energy_of_clipped_features():
    rng = np.random.default_rng(0)
    z, weight, bias = rng.standard_normal((7, 5)) * 2, rng.standard_normal((3, 5)), rng.standard_normal(3)
    mean, sd = rng.standard_normal(5), rng.uniform(0.1, 1.0, 5)

    def expected(clipped):
        return np.log(np.exp(clipped @ weight.T + bias).sum(1))

    np.testing.assert_allclose(react(z, weight, bias, clip=0.7).numpy(), expected(np.minimum(z, 0.7)), rtol=1e-12)
    np.testing.assert_allclose(react(z, weight, bias).numpy(), expected(np.minimum(z, 1.0)), rtol=1e-12)
    typical = np.clip(z, mean - 1.05 * sd, mean + 1.05 * sd)
    np.testing.assert_allclose(bats(z, mean, sd, weight, bias).numpy(), expected(typical), rtol=1e-12)
    np.testing.assert_allclose(bats_clip(z, mean, sd, width=0.5).numpy(), np.clip(z, mean - sd / 2, mean + sd / 2))
    np.testing.assert_allclose(react_clip(z, clip=0.5).numpy(), np.minimum(z, 0.5))


def test_regularised_error_is_a_share_of_the_uncentred_length():
    z = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert regularised_error(np.array([2.5, 1.0]), z).tolist() == [0.5, float("inf")]


def test_fusion_is_one_minus_error_times_score():
    result = fuse(np.array([0.0, 0.25, 1.0, 1.5]), np.array([2.0, 4.0, 3.0, 3.0]))
    np.testing.assert_allclose(result.numpy(), [2.0, 3.0, 0.0, 0.0])


def test_fusion_falls_with_the_error_after_the_shift():
    errors = np.linspace(0.0, 1.2, 13)
    result = fuse(errors, np.full(13, -3.0), smallest=-5.0).numpy()
    np.testing.assert_allclose(result, np.clip(1 - errors, 0, None) * 2.0)
    assert (np.diff(result) <= 0).all()
    assert float(fuse(np.array([0.1]), np.array([-6.0]), smallest=-5.0)) == 0.0


def test_fusion_refuses_scores_that_are_not_positive():
    with pytest.raises(ValueError, match=r"ood_score falls to -0\.5.*smallest="):
        fuse(np.array([0.1, 0.1]), np.array([1.0, -0.5]))
    with pytest.raises(ValueError, match="ood_score falls to 0"):
        fuse(np.array([0.1]), np.array([0.0]))


def test_leading_shapes_and_precision_are_kept():
    logits = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    assert msp(logits).shape == energy(logits).shape == (2, 3)
    assert energy(logits).dtype == torch.float32
    assert energy(logits.astype(np.float64)).dtype == torch.float64


def test_errors_name_argument_and_value():
    z, weight, bias = np.ones((2, 3)), np.ones((4, 3)), np.ones(4)
    with pytest.raises(ValueError, match="clip is 0"):
        react(z, weight, bias, clip=0.0)
    with pytest.raises(ValueError, match="width is -1"):
        bats(z, np.zeros(3), np.ones(3), weight, bias, width=-1.0)
    with pytest.raises(ValueError, match="weight is 2 wide"):
        react(z, np.ones((4, 2)), bias)
    with pytest.raises(ValueError, match="row 1"):
        energy(np.array([[0.0, 1.0], [np.nan, 0.0]]))
    with pytest.raises(ValueError, match="error holds NaN"):
        fuse(np.array([np.nan]), np.array([1.0]))
    with pytest.raises(ValueError, match="ood_score is not finite"):
        fuse(np.array([0.1]), np.array([np.inf]))
