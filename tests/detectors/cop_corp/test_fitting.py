import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.detectors.baselines import fit_pca
from inspect_core.detectors.cop_corp import KernelPCAMap, cosine_fourier_map, covariance, fit_cop, fit_corp


def features(n, m, seed=0):
    """(n, m) float64 with a falling spectrum, away from the origin."""
    rng = np.random.default_rng(seed)
    mix = np.random.default_rng(99).standard_normal((m, m)) / np.arange(1, m + 1)[:, None]
    return rng.standard_normal((n, m)) @ mix + 0.5


def without_cosine(x, gamma, M, seed=0):
    fourier = replace(cosine_fourier_map(x.shape[-1], gamma=gamma, M=M, seed=seed), cosine=False)
    return covariance.fit(x, fourier, explained_variance=0.9)


def reference_errors(phi_train, phi_test, qs):
    """The plain derivation: eigenvectors of the covariance, residual vector, norm."""
    mean = phi_train.mean(axis=0)
    _, vectors = np.linalg.eigh((phi_train - mean).T @ (phi_train - mean))
    vectors = vectors[:, ::-1]
    centred = phi_test - mean
    return np.stack([np.linalg.norm(centred - centred @ vectors[:, :q] @ vectors[:, :q].T, axis=1) for q in qs])


def reference_map(z, w0, u, gamma):
    unit = z / (np.linalg.norm(z, axis=1, keepdims=True) + 1e-10)
    return np.sqrt(2 / len(u)) * np.cos(np.sqrt(2 * gamma) * unit @ w0.T + u)


FITS = {
    "cop": fit_cop,
    "corp": lambda x: fit_corp(x, gamma=1.0, M=24, seed=5),
    "corp_with_few_samples": lambda x: fit_corp(x[:12], gamma=1.0, M=64, seed=5),
    "plain": fit_pca,
    "fourier": lambda x: without_cosine(x, gamma=0.05, M=24, seed=5),
}


@pytest.fixture(params=FITS)
def fit(request):
    return FITS[request.param]


def test_cop_is_the_residual_of_normalised_features():
    x, z = features(60, 10), features(20, 10, seed=1)
    unit = [a / np.linalg.norm(a, axis=1, keepdims=True) for a in (x, z)]
    qs = range(1, 10)
    np.testing.assert_allclose(fit_cop(x).sweep(z, qs).numpy(), reference_errors(*unit, qs), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n", [200, 20])
def test_corp_is_the_residual_of_the_fourier_features(n):
    x, z = features(n, 10), features(20, 10, seed=1)
    model = fit_corp(x, gamma=1.5, M=64, seed=7)
    w0, u = (model.arrays()[name].double().numpy() for name in ("w0", "u"))
    qs = [1, 5, 15, 19]
    expected = reference_errors(reference_map(x, w0, u, 1.5), reference_map(z, w0, u, 1.5), qs)
    np.testing.assert_allclose(model.sweep(z, qs).numpy(), expected, rtol=1e-8)


def test_plain_and_fourier_without_cosine_leave_out_a_map():
    x, z = features(50, 8), features(9, 8, seed=1)
    np.testing.assert_allclose(fit_pca(x).sweep(z, [3]).numpy(), reference_errors(x, z, [3]), rtol=1e-9)
    model = without_cosine(x, gamma=0.1, M=16)
    w0, u = (model.arrays()[name].double().numpy() for name in ("w0", "u"))
    phi = [np.sqrt(2 / 16) * np.cos(np.sqrt(0.2) * a @ w0.T + u) for a in (x, z)]
    np.testing.assert_allclose(model.sweep(z, [3]).numpy(), reference_errors(*phi, [3]), rtol=1e-9)


def test_cop_with_two_samples_by_hand():
    model = fit_cop(np.array([[2.0, 0.0, 0.0], [0.0, 5.0, 0.0]]))
    z = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [4.0, 4.0, 0.0]])
    mean = np.array([0.5, 0.5, 0.0])
    direction = np.array([1.0, -1.0, 0.0]) / np.sqrt(2)
    unit = np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0], [np.sqrt(0.5), np.sqrt(0.5), 0]]) - mean
    expected = np.linalg.norm(unit - np.outer(unit @ direction, direction), axis=1)
    np.testing.assert_allclose(model.score(z).numpy(), expected, atol=1e-9)
    np.testing.assert_allclose(model.eigenvalues.numpy(), [0.5])


def test_q_is_the_smallest_count_that_reaches_the_share():
    model = fit_cop(features(80, 12))
    ratio = model.explained_variance_ratio.numpy()
    assert abs(ratio.sum() - 1.0) < 1e-12
    assert (np.diff(ratio) <= 0).all()
    for fraction in (0.01, 0.5, 0.9, 0.99, 0.999):
        q = model.components_for(fraction)
        assert ratio[:q].sum() >= fraction - 1e-12
        assert q == 1 or ratio[: q - 1].sum() < fraction
    assert model.components_for(1.0) <= 12


def test_explained_variance_of_the_fit_decides_unless_overridden():
    x, z = features(80, 12), features(7, 12, seed=1)
    model = fit_cop(x, explained_variance=0.8)
    assert torch.equal(model.score(z), model.score(z, q=model.components_for(0.8)))
    assert torch.equal(model.score(z, explained_variance=0.95), fit_cop(x, explained_variance=0.95).score(z))


def test_a_score_is_bit_equal_to_every_sweep(fit):
    x = features(40, 9).astype(np.float32)
    model, z = fit(x), features(33, 9, seed=2).astype(np.float32)
    last = model.components.shape[1] - 1
    everything = model.sweep(z, range(1, last + 1))
    for q in (1, 3, last):
        assert torch.equal(model.score(z, q=q), everything[q - 1])
        assert torch.equal(model.sweep(z, [q, 2]), everything[[q - 1, 1]])


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000))
def test_errors_fall_with_q_and_scores_ignore_the_length(seed):
    x, z = features(30, 6, seed), features(8, 6, seed + 1)
    model = fit_corp(x, gamma=1.0, M=16, seed=seed)
    errors = model.sweep(z, range(1, 17)).numpy()
    assert (np.diff(errors, axis=0) <= 0).all()
    np.testing.assert_allclose(model.score(3.0 * z).numpy(), model.score(z).numpy(), rtol=1e-6, atol=1e-12)


def test_plain_pca_is_equivariant_under_shift_and_rotation():
    x, z = features(50, 6), features(9, 6, seed=1)
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    moved = fit_pca(x @ rotation + 3.0).score(z @ rotation + 3.0)
    np.testing.assert_allclose(moved.numpy(), fit_pca(x).score(z).numpy(), rtol=1e-10)


def test_training_order_does_not_matter():
    x, z = features(50, 6), features(9, 6, seed=1)
    np.testing.assert_allclose(fit_cop(x[::-1].copy()).score(z).numpy(), fit_cop(x).score(z).numpy(), rtol=1e-10)


def test_every_leading_shape_scores_as_its_rows(fit):
    model = fit(features(60, 9).astype(np.float32))
    z = features(24, 9, seed=2).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = torch.cat([model.score(z[i : i + 1], q=4) for i in range(24)])
    scale = float(rows.max())
    torch.testing.assert_close(model.score(z, q=4), rows, rtol=1e-5, atol=1e-6 * scale)
    images = model.score(z.reshape(2, 3, 4, 9), q=4)
    assert images.shape == (2, 3, 4)
    torch.testing.assert_close(images.reshape(-1), rows, rtol=1e-5, atol=1e-6 * scale)
    assert model.sweep(z.reshape(2, 3, 4, 9), [1, 4, 2]).shape == (3, 2, 3, 4)


def test_image_scores_the_same_to_the_bit_alone_and_in_a_batch(fit):
    model = fit(features(60, 9).astype(np.float32))
    images = features(5 * 7 * 11, 9, seed=3).astype(np.float32).reshape(5, 7, 11, 9)
    batch = model.score(images, q=3)
    for index in range(5):
        assert torch.equal(model.score(images[index : index + 1], q=3)[0], batch[index])


def test_refit_is_bit_equal_and_round_trip_keeps_scores(fit):
    x, z = features(50, 9).astype(np.float32), features(13, 9, seed=1).astype(np.float32)
    model, refit = fit(x), fit(x)
    assert all(torch.equal(value, refit.arrays()[name]) for name, value in model.arrays().items())
    restored = KernelPCAMap.from_arrays(model.arrays(), model.params())
    assert torch.equal(restored.score(z), model.score(z))
    assert torch.equal(restored.sweep(z, [1, 2]), model.sweep(z, [1, 2]))
    assert restored.params() == model.params()


def test_arrays_have_the_agreed_names_and_shapes():
    x = features(50, 9)
    assert {k: tuple(v.shape) for k, v in fit_cop(x).arrays().items()} == {
        "mean": (9,),
        "components": (9, 9),
        "eigenvalues": (9,),
    }
    shapes = {k: tuple(v.shape) for k, v in fit_corp(x, gamma=1.0, M=16).arrays().items()}
    assert shapes == {"mean": (16,), "components": (16, 16), "eigenvalues": (16,), "w0": (16, 9), "u": (16,)}


@pytest.mark.parametrize("n", [300, 20])
def test_float32_stays_within_its_tolerance_of_float64(n):
    x, z = features(n, 24).astype(np.float32), features(40, 24, seed=1).astype(np.float32)
    qs = [1, 4, 10, 18]
    for fit in (fit_cop, lambda a: fit_corp(a, gamma=1.0, M=96, seed=2)):
        exact, actual = fit(x.astype(np.float64)).sweep(z, qs), fit(x).sweep(z, qs)
        assert actual.dtype == torch.float32
        assert exact.dtype == torch.float64
        assert float((actual - exact).abs().max()) < 5e-6 * float(exact.max())


def test_small_residuals_keep_their_relative_precision():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 40)) * np.r_[np.full(20, 100.0), np.full(20, 1e-2)]
    z = (rng.standard_normal((30, 40)) * np.r_[np.full(20, 100.0), np.full(20, 1e-2)]).astype(np.float32)
    model = fit_pca(x)
    exact = model.score(z, q=20)
    result = model.to(torch.float32).score(z, q=20)
    assert float(((result - exact).abs() / exact).max()) < 5e-3


def test_scores_of_the_zero_vector_are_those_of_the_point_zero():
    x = features(60, 9)
    cop = fit_cop(x)
    expected = reference_errors(x / np.linalg.norm(x, axis=1, keepdims=True), np.zeros((1, 9)), [3])[0]
    np.testing.assert_allclose(cop.score(np.zeros((1, 9)), q=3).numpy(), expected, rtol=1e-9)
    assert torch.isfinite(fit_corp(x, gamma=1.0, M=16).score(np.zeros((1, 9)))).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_sample_scores_by_distance(dtype):
    x, z = features(1, 5).astype(dtype), features(4, 5, seed=1).astype(dtype)
    with pytest.warns(UserWarning, match="fitted on 1 sample"):
        model = fit_cop(x)
    unit = [a / np.linalg.norm(a, axis=1, keepdims=True) for a in (x, z)]
    np.testing.assert_allclose(model.score(z).numpy(), np.linalg.norm(unit[1] - unit[0], axis=1), rtol=1e-5)
    assert float(model.score(x)) < 1e-6
    with pytest.warns(UserWarning, match="exceeds the 0 components"):
        assert torch.equal(model.score(z, q=2), model.score(z))


@pytest.mark.parametrize("n", [3, 500, 3000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_features_score_by_distance(n, dtype):
    x = np.repeat(features(1, 6), n, axis=0).astype(dtype)
    for fit in (fit_cop, fit_pca, lambda a: fit_corp(a, gamma=50.0, M=32)):
        with pytest.warns(UserWarning, match="samples are alike"):
            model = fit(x)
        assert model.components.shape[1] == 0
        assert float(model.score(x).max()) < 1e-5
        assert float(model.score(features(2, 6, seed=4)).min()) > 1e-3


def test_a_constant_feature_among_others_is_no_obstacle():
    x = features(50, 6)
    x[:, 2] = 4.0
    model = fit_pca(x)
    off = x[:1].copy()
    off[0, 2] += 1.0
    np.testing.assert_allclose(model.score(off, q=5).numpy(), [1.0], rtol=1e-9)


def test_few_samples_keep_only_what_they_determine():
    x = features(5, 8)
    model = fit_corp(np.concatenate([x, x]), gamma=1.0, M=64)
    assert model.components.shape == (64, 4)
    z = features(3, 8, seed=1)
    with pytest.warns(UserWarning, match="exceeds the 4 components"):
        assert torch.equal(model.score(z, q=30), model.score(z, explained_variance=1.0))
    torch.testing.assert_close(
        model.score(x, explained_variance=1.0), torch.zeros(5, dtype=torch.float64), atol=1e-7, rtol=0
    )


def test_keeping_every_dimension_is_allowed_with_a_warning():
    model = fit_cop(features(50, 6))
    with pytest.warns(UserWarning, match="every error is 0"):
        assert float(model.score(features(4, 6, seed=1), q=6).abs().max()) == 0.0


@pytest.mark.parametrize("bad", [0, -1, 10, 2.5, float("nan")])
def test_q_outside_its_range_is_refused(bad):
    model = fit_cop(features(50, 9))
    with pytest.raises(ValueError, match="q is"):
        model.score(features(2, 9), q=bad)
    with pytest.raises(ValueError, match="q is"):
        model.sweep(features(2, 9), [1, bad])


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.1, float("nan")])
def test_a_share_outside_its_range_is_refused(fraction):
    x = features(20, 5)
    with pytest.raises(ValueError, match="explained_variance is"):
        fit_cop(x, explained_variance=fraction)
    with pytest.raises(ValueError, match="explained_variance is"):
        fit_corp(x, gamma=1.0, M=8, explained_variance=fraction)
    with pytest.raises(ValueError, match="explained_variance is"):
        fit_cop(x).score(x, explained_variance=fraction)


def test_other_errors_name_argument_and_value():
    x = features(20, 5)
    model = fit_cop(x)
    with pytest.raises(ValueError, match="give one of the two"):
        model.score(x, q=2, explained_variance=0.5)
    with pytest.raises(ValueError, match="expects 5"):
        model.score(features(3, 6))
    with pytest.raises(ValueError, match="M is 1"):
        fit_corp(x, gamma=1.0, M=1)
    with pytest.raises(ValueError, match="gamma is -1"):
        fit_corp(x, gamma=-1.0, M=8)
    with pytest.raises(ValueError, match="empty"):
        fit_cop(x[:0])
    for value in (np.nan, np.inf):
        broken = x.copy()
        broken[7, 1] = value
        with pytest.raises(ValueError, match="row 7"):
            fit_cop(broken)
        with pytest.raises(ValueError, match="row 7"):
            model.score(broken)


def test_no_gradient_and_no_change_of_the_input():
    x = torch.from_numpy(features(30, 5)).requires_grad_()
    before = x.detach().clone()
    model = fit_corp(x, gamma=1.0, M=16)
    assert not model.score(x).requires_grad
    assert torch.equal(x, before)
