import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.detectors.mahalanobis import projections
from inspect_core.detectors.mahalanobis.projections import choose_projection, gaussian, sampled, semi_orthogonal
from tests.examples import examples

MAPS = [semi_orthogonal, sampled, gaussian]


@settings(deadline=None, max_examples=examples(25))
@given(d=st.integers(1, 60), k=st.integers(1, 60), seed=st.integers(0, 9))
def test_semi_orthogonal_has_orthonormal_columns(d: int, k: int, seed: int) -> None:
    k = min(d, k)
    w = semi_orthogonal(d, k, seed=seed)
    assert w.dtype == torch.float32
    assert w.shape == (d, k)
    assert (w.T @ w - torch.eye(k)).abs().max() < 1e-6


def test_semi_orthogonal_is_the_signed_q_factor_of_the_draw() -> None:
    omega = np.random.default_rng(5).standard_normal((12, 40)).T
    q, r = np.linalg.qr(omega)
    expected = q @ np.diag(np.sign(np.diag(r)))
    w = semi_orthogonal(40, 12, seed=5)
    np.testing.assert_allclose(w, expected, atol=2e-6)
    assert (np.diag(w.numpy().T @ omega) > 0).all()


def test_semi_orthogonal_is_uniform() -> None:
    draws = np.stack([semi_orthogonal(6, 2, seed=seed).numpy() for seed in range(4000)])
    assert np.abs(draws.mean(0)).max() < 0.015
    assert np.abs((draws @ draws.transpose(0, 2, 1)).mean(0) - 2 / 6 * np.eye(6)).max() < 0.01


@pytest.mark.parametrize("draw", MAPS)
def test_a_larger_k_extends_a_smaller_one(draw) -> None:
    assert torch.allclose(draw(80, 60, seed=3)[:, :17], draw(80, 17, seed=3), atol=1.2e-7)
    assert torch.equal(draw(80, 17, seed=3), draw(80, 17, seed=3))
    assert not torch.equal(draw(80, 17, seed=3), draw(80, 17, seed=4))


def test_sampled_picks_distinct_features() -> None:
    w = sampled(30, 12, seed=1)
    order = np.random.default_rng(1).permutation(30)[:12]
    x = np.arange(30.0, dtype=np.float32)
    np.testing.assert_array_equal(x @ w.numpy(), order)
    assert len(set(order)) == 12


def test_gaussian_is_the_draw_itself() -> None:
    np.testing.assert_array_equal(
        gaussian(9, 4, seed=2), np.random.default_rng(2).standard_normal((4, 9)).T.astype("f4")
    )


@pytest.mark.parametrize("draw", MAPS)
@pytest.mark.parametrize("k", [0, 6, -1])
def test_k_outside_the_features_is_refused(draw, k: int) -> None:
    with pytest.raises(ValueError, match=f"k is {k}, outside 1 to 5"):
        draw(5, k)


def test_choose_projection_defaults_and_errors() -> None:
    assert choose_projection(7, k=None, seed=0, projection=None).shape == (7, 7)
    assert choose_projection(300, k=None, seed=0, projection=None).shape == (300, projections.DEFAULT_K)
    given_one = sampled(7, 3)
    assert torch.equal(choose_projection(7, k=3, seed=9, projection=given_one.numpy()), given_one)
    with pytest.raises(ValueError, match="k is 2, the projection is 3 wide"):
        choose_projection(7, k=2, seed=0, projection=given_one)
    with pytest.raises(ValueError, match="takes 7 features, these are 8 wide"):
        choose_projection(8, k=None, seed=0, projection=given_one)
    with pytest.raises(ValueError, match="k is 4, outside 1 to 3"):
        choose_projection(3, k=None, seed=0, projection=np.zeros((3, 4)))
    with pytest.raises(ValueError, match="not finite"):
        choose_projection(2, k=None, seed=0, projection=np.array([[1.0], [np.nan]]))
