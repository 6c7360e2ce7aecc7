import warnings

import numpy as np
import pytest
import torch
from sklearn.covariance import ledoit_wolf

from benchmarks.studies.ablations import (
    EigenMahalanobis,
    GlobalMahalanobis,
    fit_eigen_largest,
    fit_eigen_smallest,
    fit_eigen_smallest_of_all,
    fit_full,
    fit_global,
    fit_shrunk,
)
from inspect_core.detectors.mahalanobis import Mahalanobis, fit, semi_orthogonal

pytestmark = pytest.mark.slow

H, W, D = 3, 4, 15
RIDGE = 0.02
EIGEN = [fit_eigen_largest, fit_eigen_smallest, fit_eigen_smallest_of_all]
ALL = [fit_full, fit_global, fit_shrunk, *EIGEN]


def correlated(n: int, *, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).standard_normal((D, D)) / np.sqrt(np.arange(1, D + 1))[:, None]
    mixing = mixing * np.random.default_rng(97).uniform(0.5, 2, (H, W, 1, 1))
    centre = np.random.default_rng(98).standard_normal((H, W, D))
    return (centre + np.einsum("nhwd,hwde->nhwe", rng.standard_normal((n, H, W, D)), mixing)).astype(np.float32)


def moments(train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    train = train.astype(np.float64)
    centred = train - train.mean(0)
    return train.mean(0), np.einsum("nhwi,nhwj->hwij", centred, centred) / len(train)


def distances(delta: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("nhwi,hwij,nhwj->nhw", delta, np.linalg.inv(covariance), delta))


def quiet(call, *args, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return call(*args, **settings)


def test_full_uses_every_feature_of_the_location() -> None:
    train, test = correlated(60), correlated(5, seed=1)
    mean, covariance = moments(train)
    expected = distances(test - mean, covariance + RIDGE * np.eye(D))
    model = fit_full(train, ridge=RIDGE)
    np.testing.assert_allclose(model.score(test), expected, rtol=2e-5)
    np.testing.assert_allclose(model.score(test), fit(train, ridge=RIDGE, projection=np.eye(D)).score(test), rtol=1e-5)


def test_global_covariance_is_the_mean_of_local_ones() -> None:
    train, test = correlated(60), correlated(5, seed=1)
    mean, covariance = moments(train)
    shared = np.broadcast_to(covariance.mean((0, 1)) + RIDGE * np.eye(D), (H, W, D, D))
    model = fit_global(train, ridge=RIDGE)
    np.testing.assert_allclose(model.score(test), distances(test - mean, shared), rtol=2e-5)
    assert model.cholesky.shape == (D, D)


@pytest.mark.parametrize("n", [60, 9])
def test_eigenvectors_are_chosen_as_named(n: int) -> None:
    train = correlated(n)
    # With fewer images than features the vectors of the null space are arbitrary, but no training image leaves it.
    test = correlated(5, seed=1) if n > D else train
    mean, covariance = moments(train)
    values, vectors = np.linalg.eigh(covariance + RIDGE * np.eye(D))
    parts = np.einsum("hwdj,nhwd->nhwj", vectors, test - mean) ** 2 / values
    for fit_eigen, order in (
        (fit_eigen_largest, range(D - 1, -1, -1)),
        (fit_eigen_smallest, range(D - min(D, n - 1), D)),
        (fit_eigen_smallest_of_all, range(D)),
    ):
        model = quiet(fit_eigen, train, k=8, ridge=RIDGE)
        for k in (1, 3, 8):
            expected = parts[..., list(order)[:k]].sum(-1)
            np.testing.assert_allclose(model.score(test, k=k) ** 2, expected, rtol=1e-3, atol=1e-6)


def test_smallest_eigenvectors_omit_unseen_directions() -> None:
    train = correlated(9)
    null = np.linalg.eigh(moments(train)[1])[1][..., : D - 8]
    outside = train[:1] + null.sum(-1).astype(np.float32)
    model = quiet(fit_eigen_smallest, train, k=8, ridge=RIDGE)
    np.testing.assert_allclose(model.score(outside), model.score(train[:1]), rtol=1e-2, atol=1e-3)


def test_smallest_of_all_eigenvectors_omit_unseen_directions() -> None:
    train = correlated(9)
    null = np.linalg.eigh(moments(train)[1])[1][..., 0]
    outside = train[:1] + null.astype(np.float32)
    model = quiet(fit_eigen_smallest_of_all, train, k=D - 8, ridge=RIDGE)
    assert model.score(train).max() < 1e-3
    np.testing.assert_allclose(model.score(outside), 1 / np.sqrt(RIDGE), rtol=1e-4)


def test_all_eigenvectors_give_the_full_distance() -> None:
    train, test = correlated(60), correlated(5, seed=1)
    expected = fit_full(train, ridge=RIDGE).score(test)
    for name in EIGEN:
        np.testing.assert_allclose(name(train, k=D, ridge=RIDGE).score(test), expected, rtol=2e-5)


@pytest.mark.parametrize("n", [3, 20, 200])
def test_shrinkage_is_ledoit_and_wolfs_with_the_ridge_as_a_floor(n: int) -> None:
    train, test = correlated(n), correlated(5, seed=1)
    model = quiet(fit_shrunk, train, k=10, ridge=RIDGE, seed=4)
    w = semi_orthogonal(D, 10, seed=4).double().numpy()
    z, tested = train @ w, test @ w
    for row, column in np.ndindex(H, W):
        covariance = ledoit_wolf(z[:, row, column])[0] + RIDGE * np.eye(10)
        delta = tested[:, row, column] - z[:, row, column].mean(0)
        expected = np.sqrt(np.einsum("ni,ij,nj->n", delta, np.linalg.inv(covariance), delta))
        np.testing.assert_allclose(model.score(test)[:, row, column], expected, rtol=1e-4)


@pytest.mark.parametrize("n", [1, 2])
def test_shrinkage_stays_invertible_for_one_and_two_images(n: int) -> None:
    with pytest.warns(UserWarning, match=f"N = {n} photo"):
        model = fit_shrunk(correlated(n))
    assert model.score(correlated(2, seed=3)).isfinite().all()


@pytest.mark.parametrize("name", ALL)
def test_round_trip_refit_and_rows_alone(name) -> None:
    train, test = correlated(60), correlated(5, seed=1)
    model, repeated = name(train), name(train)
    assert all(torch.equal(value, repeated.arrays()[key]) for key, value in model.arrays().items())
    loaded = type(model).from_arrays(model.arrays(), model.params())
    assert isinstance(loaded, Mahalanobis | GlobalMahalanobis | EigenMahalanobis)
    assert torch.equal(loaded.score(test), model.score(test))
    single = torch.cat([model.score(image[None]) for image in test])
    np.testing.assert_allclose(single, model.score(test), rtol=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_more_than_the_memory_limit_is_refused_with_the_figure(name) -> None:
    with pytest.raises(ValueError, match=r"needs [\d,]+ MB, memory_limit is 0 MB"):
        name(correlated(20), memory_limit=100)


@pytest.mark.parametrize("name", ALL)
def test_bad_features_are_refused(name) -> None:
    bad = correlated(20)
    bad[2, 1, 0, 3] = np.nan
    with pytest.raises(ValueError, match=r"row 2, location \(1, 0\)"):
        name(bad)
    with pytest.raises(ValueError, match="empty"):
        name(bad[:0])
    with pytest.raises(ValueError, match=r"give \(n, h, w, d\)"):
        name(np.zeros((6, D)))
    with pytest.raises(ValueError, match="use the grid of the fit"):
        name(correlated(20)).score(np.zeros((1, W, H, D)))


@pytest.mark.parametrize("name", ALL)
def test_constant_features_leave_the_ridge_alone(name) -> None:
    train = np.ones((20, H, W, D), dtype=np.float32)
    model = name(train, ridge=0.25)
    shifted = train[:1] + correlated(1)
    expected = np.linalg.norm(shifted - 1, axis=-1) / 0.5
    np.testing.assert_allclose(model.score(shifted), expected, rtol=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_a_singular_covariance_needs_a_ridge(name) -> None:
    train = correlated(40)
    train[..., 1] = train[..., 0]
    with pytest.raises(ValueError, match="ridge"):
        name(train, k=D, ridge=0) if name in EIGEN else name(np.zeros_like(train), ridge=0)


def test_eigenvectors_asked_for_must_exist() -> None:
    with pytest.raises(ValueError, match="k is 9, outside 1 to 8"):
        quiet(fit_eigen_smallest, correlated(9), k=9)
    with pytest.raises(ValueError, match="k is 16, outside 1 to 15"):
        fit_eigen_largest(correlated(40), k=16)
    with pytest.raises(ValueError, match="k is 5, outside 1 to 4"):
        fit_eigen_largest(correlated(40), k=4).score(correlated(1), k=5)
