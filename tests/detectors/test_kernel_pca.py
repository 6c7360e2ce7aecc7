import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from benchmarks.studies.cancer_table import cancer
from inspect_core.detectors import kernel_pca
from inspect_core.detectors.baselines import fit_parzen, fit_pca
from inspect_core.detectors.kernel_pca import KernelPCA, fit, fit_linear, fit_polynomial, suggest_q, suggest_sigma
from inspect_core.playgrounds import planar_sets


def features(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) / np.arange(1, d + 1)


def gaussian(a, b, sigma):
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * sigma**2))


def reference(kernel, x, z, q):
    """Eq. 11 from the full kernel matrix, double centred, and the projections of eqs. 6 to 10."""
    n = len(x)
    K, Kz = kernel(x, x), kernel(z, x)
    centring = np.eye(n) - 1 / n
    eigenvalues, vectors = np.linalg.eigh(centring @ K @ centring)
    eigenvalues, vectors = eigenvalues[::-1][:q], vectors[:, ::-1][:, :q]
    centred = Kz - K.mean(axis=0) - Kz.mean(axis=1, keepdims=True) + K.mean()
    diagonal = np.array([kernel(row[None], row[None])[0, 0] for row in z])
    f = centred @ (vectors / np.sqrt(eigenvalues))
    return diagonal - 2 * Kz.mean(axis=1) + K.mean() - (f**2).sum(axis=1)


@pytest.mark.parametrize("q", [0, 1, 7, 30])
def test_score_is_equation_11(q):
    x, z = features(50, 4), features(30, 4, seed=1)
    expected = reference(lambda a, b: gaussian(a, b, 0.7), x, z, q)
    np.testing.assert_allclose(fit(x, sigma=0.7, q=q).score(z).numpy(), expected, atol=1e-10 * expected.max())


@pytest.mark.parametrize(("degree", "offset"), [(1, 0.0), (2, 1.0), (3, 0.5)])
def test_polynomial_score_is_equation_11(degree, offset):
    x, z = features(50, 4), features(30, 4, seed=1)
    expected = reference(lambda a, b: (a @ b.T + offset) ** degree, x, z, 3)
    actual = fit_polynomial(x, degree=degree, offset=offset, q=3).score(z).numpy()
    np.testing.assert_allclose(actual, expected, atol=1e-10 * expected.max())


def test_two_points_by_hand():
    model = fit(np.array([[0.0], [2.0]]), sigma=1.0, q=1)
    k = np.exp(-2.0)
    assert model.rank == 1
    np.testing.assert_allclose(model.eigenvalues.numpy(), [1 - k])
    middle = np.exp(-0.5)
    np.testing.assert_allclose(model.score(np.array([[1.0]])).numpy(), [1 - 2 * middle + (1 + k) / 2])
    assert abs(float(model.score(np.array([[0.0]])))) < 1e-15


def test_linear_kernel_is_the_squared_pca_error():
    x, z = features(60, 6) + 1.0, features(20, 6, seed=1)
    model = fit_linear(x, q=3)
    assert model.rank == 6
    expected = fit_pca(x).sweep(z, [1, 3, 5]).square()
    torch.testing.assert_close(model.sweep(z, [1, 3, 5]), expected, rtol=1e-11, atol=1e-13)


def test_wide_kernels_tend_to_pca():
    x, z = features(40, 2), features(15, 2, seed=1)
    pca = fit_pca(x).score(z, q=1).square().numpy()
    gaps = [np.abs(s**2 * fit(x, sigma=s, q=1).score(z).numpy() / pca - 1).max() for s in (10.0, 100.0, 1000.0)]
    assert gaps[1] < 0.02 * gaps[0]
    assert gaps[2] < 0.02 * gaps[1]


def test_wide_kernels_keep_no_noise_directions():
    x = np.random.default_rng(0).uniform(0, 3, (120, 2))
    assert fit(x, sigma=1000.0, q=1).rank == 5


def test_far_offset_adds_no_noise_to_the_linear_kernel():
    assert fit_linear(features(100, 3) + 1e5, q=1).rank == 3


def test_q_0_ranks_as_minus_the_parzen_density():
    x, _ = planar_sets.square(200, 1)
    z = np.random.default_rng(0).uniform(0, 3, (300, 2))
    assert spearmanr(fit(x, sigma=0.2, q=0).score(z), fit_parzen(x, sigma=0.2).score(z)).statistic > 0.999999


def test_cancer_auc_of_the_paper():
    aucs = []
    for seed in range(3):
        train, test, malignant = cancer(seed)
        aucs.append(roc_auc_score(malignant, fit(train, sigma=2.0, q=190).score(test).numpy()))
    assert abs(np.mean(aucs) - 0.9970) <= 0.0002


def test_square_of_the_paper_encloses_its_area():
    points, is_inside = planar_sets.square(400, 1)
    model = fit(points, sigma=0.4, q=40)
    grid = np.stack(np.meshgrid(np.arange(-0.2, 3.2, 0.04), np.arange(-0.2, 3.2, 0.04)), -1).reshape(-1, 2)
    enclosed, true = (model.score(grid) <= model.score(points).max()).numpy(), is_inside(grid)
    assert abs((enclosed & true).sum() / (enclosed | true).sum() - 0.81) <= 0.03
    assert enclosed[true].mean() > 0.96
    assert suggest_q(model.eigenvalues) == 53
    assert abs(float(model.score(np.array([[1e3, -1e3]]))) - 1.115) < 0.003


def test_noise_in_training_is_left_outside_with_few_components():
    points, _ = planar_sets.square_noise(400, 50, 1)
    scores = fit(points, sigma=0.3, q=20).score(points)
    is_inside = (scores <= scores.sort().values[399]).numpy()
    assert is_inside[:400].mean() > 0.95
    assert is_inside[400:].mean() < 0.3


def test_far_points_score_the_constant_above_all_near_ones():
    x, _ = planar_sets.square(150, 0)
    model = fit(x, sigma=0.4, q=30)
    K = gaussian(x, x, 0.4)
    row_mean = K.mean(axis=1)
    constant = 1 + K.mean() - ((row_mean @ model.alpha[:, :30].numpy()) ** 2).sum()
    far = model.score(np.array([[1e4, 1e4]]))
    np.testing.assert_allclose([*far, model.ceiling(30)], constant, rtol=1e-12)
    assert float(model.score(x).max()) < constant


def test_a_score_is_bit_equal_to_every_sweep():
    model, z = fit(features(300, 4), sigma=0.4, q=150), features(40, 4, seed=1)
    everything = model.sweep(z, range(model.rank + 1))
    for q in (0, 1, 127, 128, 129, model.rank):
        assert torch.equal(model.score(z, q=q), everything[q])
        assert torch.equal(model.sweep(z, [q, 128, 0]), everything[[q, 128, 0]])
    assert torch.equal(model.score(z), everything[150])


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.floats(0.2, 20.0))
def test_scores_fall_with_q_and_never_far_below_zero(seed, sigma):
    x, z = features(30, 3, seed), features(10, 3, seed + 1)
    model = fit(x, sigma=sigma, q=1)
    scores = model.sweep(z, range(model.rank + 1)).numpy()
    assert (np.diff(scores, axis=0) <= 0).all()
    assert scores.min() > -1e-9


def test_shift_and_rotation_and_order_do_not_matter():
    x, z = features(40, 3), features(10, 3, seed=1)
    expected = fit(x, sigma=0.8, q=10).score(z).numpy()
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    np.testing.assert_allclose(
        fit(x @ rotation + 5, sigma=0.8, q=10).score(z @ rotation + 5).numpy(), expected, rtol=1e-9
    )
    np.testing.assert_allclose(fit(x[::-1].copy(), sigma=0.8, q=10).score(z).numpy(), expected, rtol=1e-9)
    np.testing.assert_allclose(fit(3 * x, sigma=2.4, q=10).score(3 * z).numpy(), expected, rtol=1e-9)


def test_every_leading_shape_scores_as_its_rows():
    model, z = fit(features(60, 4), sigma=0.7, q=20), features(24, 4, seed=1)
    rows = torch.cat([model.score(row[None]) for row in z])
    torch.testing.assert_close(model.score(z), rows, rtol=1e-5, atol=0.0)
    images = z.reshape(2, 3, 4, 4)
    torch.testing.assert_close(model.score(images).reshape(-1), rows, rtol=1e-5, atol=0.0)
    assert torch.equal(model.score(images[1:])[0], model.score(images)[1])
    assert model.sweep(images, [0, 5]).shape == (2, 2, 3, 4)


@pytest.mark.parametrize(
    "fitted", [lambda x: fit(x, sigma=0.7, q=9), lambda x: fit_polynomial(x, degree=2, q=4), lambda x: fit_linear(x)]
)
def test_refit_is_bit_equal_and_round_trip_keeps_scores(fitted):
    x, z = features(40, 5), features(12, 5, seed=1)
    model, refit = fitted(x), fitted(x)
    assert set(model.arrays()) == {"x", "alpha", "row_mean", "eigenvalues"}
    assert all(torch.equal(value, refit.arrays()[name]) for name, value in model.arrays().items())
    restored = KernelPCA.from_arrays(model.arrays(), model.params())
    assert torch.equal(restored.score(z), model.score(z))
    assert restored.params() == model.params()


def test_float32_features_are_scored_in_float64():
    x, z = features(40, 5).astype(np.float32), features(12, 5, seed=1).astype(np.float32)
    result = fit(x, sigma=0.7, q=9).score(z)
    assert result.dtype == torch.float64
    assert torch.equal(result, fit(x.astype(np.float64), sigma=0.7, q=9).score(torch.from_numpy(z).double()))


def test_one_sample_and_equal_samples_have_rank_0():
    z = features(4, 3, seed=1)
    for x in (features(1, 3), np.repeat(features(1, 3), 9, axis=0)):
        with pytest.warns(UserWarning, match="rank 0"):
            model = fit(x, sigma=1.0, q=5)
        assert (model.rank, model.q) == (0, 0)
        np.testing.assert_allclose(model.score(z).numpy(), 2 - 2 * gaussian(z, x[:1], 1.0)[:, 0], atol=1e-13)


def test_duplicates_lower_the_rank_and_move_no_score():
    x, z = features(20, 3), features(8, 3, seed=1)
    doubled = fit(np.concatenate([x, x]), sigma=0.7, q=10)
    assert doubled.rank == fit(x, sigma=0.7, q=10).rank <= 19
    np.testing.assert_allclose(doubled.score(z).numpy(), fit(x, sigma=0.7, q=10).score(z).numpy(), rtol=1e-8)


def test_q_above_the_rank_becomes_the_rank_with_a_warning():
    x, z = features(12, 3), features(5, 3, seed=1)
    with pytest.warns(UserWarning, match="q = 40 exceeds the rank 11 of the 12 training samples"):
        model = fit(x, sigma=0.7, q=40)
    assert model.q == 11
    with pytest.warns(UserWarning, match="q = 12 exceeds the rank 11"):
        assert torch.equal(model.score(z, q=12), model.score(z, q=11))
    assert torch.equal(model.sweep(z, [11, 500])[0], model.sweep(z, [11, 500])[1])


def test_too_small_a_sigma_is_warned_of():
    x, z = features(100, 4), features(200, 4, seed=1)
    with pytest.warns(UserWarning, match="200 of 200 scores tie at the maximum"):
        fit(x, sigma=1e-3, q=20).score(z)


def test_scores_that_are_all_rounding_are_not_called_ties(recwarn):
    x = features(40, 3)
    fit_linear(x, q=3).score(x)
    fit(x, sigma=0.5, q=39).score(x)
    assert not [w for w in recwarn.list if "tie" in str(w.message)]


def test_an_ordinary_sigma_is_not_warned_of(recwarn):
    fit(features(100, 4), sigma=0.5, q=20).score(features(200, 4, seed=1))
    assert not recwarn.list


def test_sigma_is_a_third_of_the_median_or_the_nearest_distance():
    for width in (3, 60):
        x = features(61, width)
        apart = np.linalg.norm(x[:, None] - x[None], axis=-1) + np.diag(np.full(61, np.inf))
        third, nearest = np.median(apart[np.triu_indices(61, 1)]) / 3, np.median(apart.min(axis=1))
        assert (nearest > third) == (width == 60), "in many dimensions all are far apart"
        np.testing.assert_allclose(suggest_sigma(x), max(third, nearest), rtol=1e-6)
    large = features(5000, 3)
    assert suggest_sigma(large, seed=1) == suggest_sigma(large, seed=1) != suggest_sigma(large, seed=2)
    assert abs(suggest_sigma(large, seed=1) / suggest_sigma(large, seed=2) - 1) < 0.1


def test_q_is_suggested_as_the_smallest_that_reaches_the_share():
    assert suggest_q(np.array([9.0, 0.9, 0.09, 0.01]), fraction=0.9) == 1
    assert suggest_q(np.array([9.0, 0.9, 0.09, 0.01]), fraction=0.99) == 2
    assert suggest_q(np.array([9.0, 0.9, 0.09, 0.01])) == 4
    assert suggest_q(np.array([])) == 0
    model = fit(features(80, 3), sigma=0.7)
    assert model.q == suggest_q(model.eigenvalues)


def test_errors_name_argument_and_value(monkeypatch):
    x = features(20, 3)
    for sigma in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="sigma is"):
            fit(x, sigma=sigma, q=2)
    for q in (-1, 2.5):
        with pytest.raises(ValueError, match="q is"):
            fit(x, sigma=1.0, q=q)
        with pytest.raises(ValueError, match="q is"):
            fit(x, sigma=1.0, q=2).score(x, q=q)
    with pytest.raises(ValueError, match="degree is 0"):
        fit_polynomial(x, degree=0)
    with pytest.raises(ValueError, match="offset is -1"):
        fit_polynomial(x, degree=2, offset=-1.0)
    with pytest.raises(ValueError, match="empty"):
        fit(x[:0], sigma=1.0, q=2)
    with pytest.raises(ValueError, match="expects 3"):
        fit(x, sigma=1.0, q=2).score(features(4, 5))
    with pytest.raises(ValueError, match="fraction is 0"):
        suggest_q(np.ones(3), fraction=0.0)
    for few in (x[:1], np.ones((9, 3))):
        with pytest.raises(ValueError, match="or sigma itself"):
            suggest_sigma(few)
    broken = x.copy()
    broken[3] = np.inf
    with pytest.raises(ValueError, match="row 3"):
        fit(broken, sigma=1.0, q=2)
    monkeypatch.setattr(kernel_pca, "LARGEST_TRAINING_SET", 19)
    with pytest.raises(ValueError, match="x has 20 samples, more than the 19"):
        fit(x, sigma=1.0, q=2)
