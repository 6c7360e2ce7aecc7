import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import OneClassSVM

from inspect_core.detectors.baselines import (
    NearestNeighbour,
    OneClassMachine,
    ParzenWindow,
    fit_nearest_neighbour,
    fit_nearest_neighbour_unit,
    fit_one_class_svm,
    fit_parzen,
    fit_pca,
)
from inspect_core.detectors.cop_corp.residual import KernelPCAMap


def features(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) + 1.0


def distances(a, b):
    return np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))


FITS = {
    "pca": (fit_pca, KernelPCAMap),
    "nearest_neighbour": (lambda x: fit_nearest_neighbour(x, k=2), NearestNeighbour),
    "nearest_neighbour_unit": (fit_nearest_neighbour_unit, NearestNeighbour),
    "parzen": (lambda x: fit_parzen(x, sigma=0.8), ParzenWindow),
    "one_class_svm": (lambda x: fit_one_class_svm(x, sigma=0.8, nu=0.2), OneClassMachine),
}


@pytest.fixture(params=FITS)
def baseline(request):
    return FITS[request.param]


def test_pca_error_is_the_residual_by_svd():
    x, z = features(40, 6), features(9, 6, seed=1)
    mean = x.mean(axis=0)
    _, singular, rows = np.linalg.svd(x - mean, full_matrices=False)
    q = int(np.searchsorted(np.cumsum(singular**2) / (singular**2).sum(), 0.8)) + 1
    residual = (z - mean) - (z - mean) @ rows[:q].T @ rows[:q]
    result = fit_pca(x, explained_variance=0.8).score(z)
    np.testing.assert_allclose(result.numpy(), np.linalg.norm(residual, axis=1), rtol=1e-10)


@pytest.mark.parametrize("k", [1, 3, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_neighbour_is_the_kth_smallest_distance(k, dtype):
    x, z = features(40, 6).astype(dtype), features(9, 6, seed=1).astype(dtype)
    actual = fit_nearest_neighbour(x, k=k).score(z)
    expected = np.sort(distances(z.astype(float), x.astype(float)), axis=1)[:, k - 1]
    assert actual.dtype == torch.from_numpy(z).dtype
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-6 if dtype == np.float32 else 1e-12)


def test_unit_nearest_neighbour_compares_directions():
    x, z = features(40, 6), features(9, 6, seed=1)
    unit = [a / np.linalg.norm(a, axis=1, keepdims=True) for a in (x, z)]
    result = fit_nearest_neighbour_unit(x).score(z).numpy()
    np.testing.assert_allclose(result, distances(unit[1], unit[0]).min(axis=1), rtol=1e-9)
    np.testing.assert_allclose(fit_nearest_neighbour_unit(5 * x).score(0.1 * z).numpy(), result, rtol=1e-6)


def test_a_training_sample_is_its_own_neighbour():
    x = (features(300, 20) + 1000.0).astype(np.float32)
    assert float(fit_nearest_neighbour(x).score(x).max()) == 0.0


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000), st.integers(1, 10))
def test_neighbour_distances_grow_with_k_and_fall_with_the_bank(seed, k):
    x, z = features(12, 3, seed), features(5, 3, seed + 1)
    nearer, farther = fit_nearest_neighbour(x, k=k).score(z), fit_nearest_neighbour(x, k=k + 1).score(z)
    assert bool((nearer <= farther).all())
    larger = np.concatenate([x, features(8, 3, seed + 2)])
    assert bool((fit_nearest_neighbour(larger, k=k).score(z) <= nearer).all())


def test_parzen_is_minus_the_log_of_the_mean_kernel():
    x, z = features(40, 6), features(9, 6, seed=1)
    density = np.exp(-(distances(z, x) ** 2) / (2 * 0.8**2)).mean(axis=1)
    np.testing.assert_allclose(fit_parzen(x, sigma=0.8).score(z).numpy(), -np.log(density), rtol=1e-10)


def test_parzen_keeps_the_order_of_far_points():
    far = np.array([[1e3], [2e3], [1e5]])
    scores = fit_parzen(np.zeros((1, 1)), sigma=1.0).score(far).numpy()
    np.testing.assert_allclose(scores, far[:, 0] ** 2 / 2)


def test_one_class_svm_scores_as_minus_the_decision_function():
    x, z = features(80, 4), features(30, 4, seed=1)
    machine = OneClassSVM(kernel="rbf", gamma=1 / (2 * 1.3**2), nu=0.15).fit(x)
    result = fit_one_class_svm(x, sigma=1.3, nu=0.15).score(z)
    np.testing.assert_allclose(result.numpy(), -machine.decision_function(z), atol=1e-12)


def test_one_class_svm_leaves_about_nu_outside():
    x = features(300, 3)
    outside = float((fit_one_class_svm(x, sigma=2.0, nu=0.2).score(x) > 1e-6).double().mean())
    assert abs(outside - 0.2) < 0.03


def test_far_scores_above_near(baseline):
    fit, _ = baseline
    model = fit(features(60, 5))
    foreign = np.random.default_rng(3).standard_normal((20, 5)) * 4 - 6.0
    assert float(model.score(foreign).median()) > float(model.score(features(60, 5, seed=1)).median())


def test_every_leading_shape_scores_as_its_rows(baseline):
    fit, _ = baseline
    model, z = fit(features(60, 5).astype(np.float32)), features(24, 5, seed=1).astype(np.float32)
    rows = torch.cat([model.score(row[None]) for row in z])
    torch.testing.assert_close(model.score(z), rows, rtol=1e-5, atol=1e-6)
    images = z.reshape(2, 3, 4, 5)
    torch.testing.assert_close(model.score(images).reshape(-1), rows, rtol=1e-5, atol=1e-6)
    assert torch.equal(model.score(images[1:])[0], model.score(images)[1])


def test_refit_is_bit_equal_and_round_trip_keeps_scores(baseline):
    fit, kind = baseline
    x, z = features(60, 5), features(9, 5, seed=1)
    model, refit = fit(x), fit(x)
    assert all(torch.equal(value, refit.arrays()[name]) for name, value in model.arrays().items())
    restored = kind.from_arrays(model.arrays(), model.params())
    assert torch.equal(restored.score(z), model.score(z))
    assert restored.params() == model.params()


def test_the_bank_is_a_copy():
    x = torch.from_numpy(features(9, 3))
    model = fit_nearest_neighbour(x)
    x.zero_()
    assert float(model.bank.abs().min()) > 0.0


def test_one_sample_is_enough():
    x, z = np.array([[1.0, 2.0]]), np.array([[4.0, 6.0]])
    assert float(fit_nearest_neighbour(x).score(z)) == 5.0
    np.testing.assert_allclose(fit_parzen(x, sigma=5.0).score(z).numpy(), [0.5])
    np.testing.assert_allclose(fit_one_class_svm(x, sigma=5.0, nu=0.5).score(z).numpy(), [0.5 * (1 - np.exp(-0.5))])


def test_errors_common_to_all(baseline):
    fit, _ = baseline
    x = features(30, 5)
    with pytest.raises(ValueError, match="empty"):
        fit(x[:0])
    broken = x.copy()
    broken[11, 2] = np.nan
    with pytest.raises(ValueError, match="row 11"):
        fit(broken)
    model = fit(x)
    with pytest.raises(ValueError, match="row 11"):
        model.score(broken)
    with pytest.raises(ValueError, match="expects 5"):
        model.score(features(3, 4))


def test_parameters_outside_their_range_are_refused():
    x = features(8, 3)
    for k in (0, 9, 1.5):
        with pytest.raises(ValueError, match=f"k is {k}"):
            fit_nearest_neighbour(x, k=k)
    for sigma in (0.0, -2.0, float("inf")):
        with pytest.raises(ValueError, match="sigma is"):
            fit_parzen(x, sigma=sigma)
        with pytest.raises(ValueError, match="sigma is"):
            fit_one_class_svm(x, sigma=sigma, nu=0.1)
    for nu in (0.0, 1.0, 1.1):
        with pytest.raises(ValueError, match="nu is"):
            fit_one_class_svm(x, sigma=1.0, nu=nu)
