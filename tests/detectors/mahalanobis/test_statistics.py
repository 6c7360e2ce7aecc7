import functools
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from inspect_core.detectors.mahalanobis import LocalGaussian, Mahalanobis, fit, gaussian, sampled, semi_orthogonal
from inspect_core.detectors.mahalanobis.statistics import GATHERED
from tests.examples import examples

H, W, D = 3, 4, 36


def correlated(n: int, *, seed: int = 0, d: int = D, grid: tuple[int, int] = (H, W), scale: float = 1.0) -> np.ndarray:
    """Features (n, h, w, d) with a falling spectrum and a mean of their own at every location."""
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).standard_normal((d, d)) / np.sqrt(np.arange(1, d + 1))[:, None]
    centre = np.random.default_rng(98).standard_normal((*grid, d))
    return (scale * (centre + rng.standard_normal((n, *grid, d)) @ mixing)).astype(np.float32)


def squared_distances(train: np.ndarray, test: np.ndarray, w: np.ndarray, ridge: float) -> np.ndarray:
    """The squared Mahalanobis distance at every location in plain float64, by inverting the covariance."""
    train, test, w = (np.asarray(a, dtype=np.float64) for a in (train, test, w))
    distances = np.empty(test.shape[:3])
    for row, column in np.ndindex(*test.shape[1:3]):
        z = train[:, row, column] @ w
        covariance = np.cov(z.T, bias=True).reshape(z.shape[1], -1) + ridge * np.eye(z.shape[1])
        delta = test[:, row, column] @ w - z.mean(0)
        distances[:, row, column] = np.einsum("ni,ij,nj->n", delta, np.linalg.inv(covariance), delta)
    return distances


@pytest.mark.parametrize("draw", [semi_orthogonal, sampled, gaussian])
def test_distances_of_every_k_equal_separate_float64_fits(draw) -> None:
    train, test = correlated(90), correlated(4, seed=1)
    w = draw(D, 30, seed=2)
    swept = fit(train, projection=w).sweep(test, range(1, 31))
    for k in (1, 2, 19, 20, 21, 30):
        expected = squared_distances(train, test, w[:, :k].numpy(), 0.01)
        np.testing.assert_allclose(swept[k - 1].numpy() ** 2, expected, rtol=2e-5)


@pytest.mark.parametrize(("n", "scale", "tolerance"), [(60, 1.0, 5e-4), (100, 0.3, 5e-4), (209, 1.0, 2e-5)])
def test_float32_scores_keep_their_precision_for_few_images(n: int, scale: float, tolerance: float) -> None:
    rng = np.random.default_rng(3)
    mixing = rng.standard_normal((250, 250)) / np.sqrt(250)
    train, test = np.split((scale * rng.standard_normal((n + 20, 2, 3, 250)) @ mixing).astype(np.float32), [n])
    w = semi_orthogonal(250, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        actual = fit(train, projection=w).score(test).numpy() ** 2
    expected = squared_distances(train, test, w.numpy(), 0.01)
    np.testing.assert_allclose(actual, expected, rtol=tolerance)
    assert spearmanr(actual.ravel(), expected.ravel())[0] >= 0.9999


def test_one_location_in_two_dimensions_by_hand() -> None:
    train = np.array([[1.0, 0], [-1, 0], [0, 2], [0, -2]], dtype=np.float32).reshape(4, 1, 1, 2)
    model = fit(train, ridge=0.5, projection=np.eye(2))
    # Variances 2/4 and 8/4 with the ridge are 1 and 2.5.
    assert model.score(np.array([[[[3.0, 5.0]]]])).item() == pytest.approx(np.sqrt(9 + 10), rel=1e-6)
    assert model.score(np.array([[[[3.0, 5.0]]]]), k=1).item() == pytest.approx(3, rel=1e-6)


@pytest.mark.parametrize("k", [1, 7, 20, 21, D])
def test_score_at_k_is_any_sweeps_entry_to_the_bit(k: int) -> None:
    model = fit(correlated(80))
    for test in (correlated(1, seed=5), correlated(9, seed=6)):
        single = model.score(test, k=k)
        assert torch.equal(single, model.sweep(test, [k])[0])
        assert torch.equal(single, model.sweep(test, [3, k, 3, D])[1])
        assert torch.equal(single, model.sweep(test, range(1, D + 1))[k - 1])
    assert torch.equal(model.score(test), model.score(test, k=D))


def test_projected_features_score_as_features_do() -> None:
    train, test = correlated(60), torch.from_numpy(correlated(3, seed=1))
    model = fit(train, k=12)
    projected = test @ model.projection
    assert torch.equal(model.score_projected(projected, k=5), model.score(test, k=5))
    assert torch.equal(model.sweep_projected(projected, [2, 9]), model.sweep(test, [2, 9]))


def test_a_batch_scores_as_its_rows_and_an_image_always_the_same() -> None:
    model = fit(correlated(60))
    batch = correlated(17, seed=4)
    together = model.score(batch)
    for index, image in enumerate(batch):
        single = model.score(image[None])
        assert torch.equal(single, model.score(image[None].copy()))
        np.testing.assert_allclose(single[0], together[index], rtol=1e-5)
    np.testing.assert_allclose(model.score(batch[::-1].copy()), together.flip(0), rtol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_mean_training_distance_is_the_rank_without_a_ridge(seed: int) -> None:
    train = correlated(200, seed=seed)
    squared = fit(train, k=20, ridge=0.0).score(train).double() ** 2
    np.testing.assert_allclose(squared.mean(0), 20, rtol=2e-5)


def test_mean_training_distance_is_bounded_by_the_images() -> None:
    train = correlated(10)
    with pytest.warns(UserWarning, match="N = 10 photos, no more than k = 20"):
        squared = fit(train, k=20, ridge=1e-5).score(train).double() ** 2
    np.testing.assert_allclose(squared.mean(0), 9, rtol=1e-2)


@settings(deadline=None, max_examples=20)
@given(sizes=st.lists(st.integers(1, 45), min_size=1, max_size=5), cut=st.integers(0, 5))
def test_batches_and_merges_give_one_model(sizes: list[int], cut: int) -> None:
    n = sum(sizes)
    projected = torch.from_numpy(correlated(n, d=6, grid=(2, 2)))
    batches = projected.split(sizes)
    at_once = LocalGaussian(torch.eye(6), (2, 2)).update_projected(projected)
    streamed, first, second = (LocalGaussian(torch.eye(6), (2, 2)) for _ in range(3))
    for index, batch in enumerate(batches):
        assert streamed.update_projected(batch) is streamed
        (first if index < cut else second).update_projected(batch)
    assert first.merge(second) is first
    assert at_once.images == streamed.images == first.images == n
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        a, b, c = (statistics.finish().arrays() for statistics in (at_once, streamed, first))
    for name in a:
        assert torch.equal(a[name], b[name])
        np.testing.assert_allclose(c[name], a[name], rtol=1e-5, atol=1e-6)


def test_merged_moments_agree_in_float64_far_from_the_origin() -> None:
    features = correlated(3 * GATHERED + 5) + np.float32(500)
    whole = LocalGaussian(semi_orthogonal(D, 8), (H, W)).update(features)
    parts = [LocalGaussian(semi_orthogonal(D, 8), (H, W)).update(part) for part in np.split(features, [1, 40, 77])]
    merged = parts[0].merge(parts[1]).merge(parts[2].merge(parts[3]))
    whole.finish()
    np.testing.assert_allclose(merged._mean, whole._mean, rtol=1e-7)
    np.testing.assert_allclose(merged._scatter, whole._scatter, rtol=2e-4, atol=1e-2)
    z = torch.from_numpy(features) @ semi_orthogonal(D, 8)
    exact = LocalGaussian(semi_orthogonal(D, 8), (H, W)).update_projected(z)
    halves = [LocalGaussian(semi_orthogonal(D, 8), (H, W)).update_projected(half) for half in z.split(50)]
    exact.finish()
    joined = functools.reduce(LocalGaussian.merge, halves)
    joined.finish()
    centred = z.double().flatten(1, 2) - z.double().flatten(1, 2).mean(0)
    row, column = np.tril_indices(8)
    expected = torch.einsum("npi,npj->pij", centred, centred)[:, row, column]
    np.testing.assert_allclose(exact._scatter, expected, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(joined._scatter, expected, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("images", [0, 1, 40, 64, 70])
def test_merging_a_restored_state_is_equal_to_the_bit(images: int) -> None:
    z = torch.from_numpy(correlated(100 + images, d=6))

    def gathered_rows(rows: torch.Tensor) -> LocalGaussian:
        return LocalGaussian(torch.eye(6), (H, W)).update_projected(rows)

    state = gathered_rows(z[100:]).state()
    direct, restored = (
        gathered_rows(z[:100]).merge(gathered_rows(z[100:])),
        LocalGaussian(torch.eye(6), (H, W)).restore(state),
    )
    repeated = gathered_rows(z[:100]).merge(restored)
    assert repeated.images == direct.images == 100 + images
    for name, values in direct.finish().arrays().items():
        assert torch.equal(values, repeated.finish().arrays()[name])
    if images:
        with pytest.raises(ValueError, match="another fit"):
            LocalGaussian(torch.eye(5), (H, W)).restore(state)


def test_finish_keeps_the_stream_and_merge_keeps_the_other() -> None:
    features = correlated(80)
    w = semi_orthogonal(D, 8)
    first, second = LocalGaussian(w, (H, W)).update(features[:50]), LocalGaussian(w, (H, W)).update(features[50:])
    half = first.finish()
    first.merge(second)
    repeated = second.update(features[:50]).finish()
    assert half.images == 50
    np.testing.assert_allclose(half.cholesky, fit(features[:50], k=8).cholesky, atol=1e-6)
    for model in (first.finish(), repeated):
        np.testing.assert_allclose(model.cholesky, fit(features, k=8).cholesky, atol=1e-6)


def test_a_caller_may_reuse_the_array_it_streamed() -> None:
    z = torch.from_numpy(correlated(40, d=6))
    statistics, buffer = LocalGaussian(torch.eye(6), (H, W)), torch.empty(1, H, W, 6)
    for image in z:
        statistics.update_projected(buffer.copy_(image[None]))
    assert torch.equal(statistics.finish().cholesky, fit(z, projection=torch.eye(6)).cholesky)


def test_refit_and_round_trip_are_equal_to_the_bit() -> None:
    train, test = correlated(70), correlated(5, seed=1)
    model, refit = fit(train, k=25, seed=7), fit(train, k=25, seed=7)
    assert all(torch.equal(value, refit.arrays()[name]) for name, value in model.arrays().items())
    for fitted in (model, model.rounded()):
        copied = {name: value.numpy().copy() for name, value in fitted.arrays().items()}
        loaded = Mahalanobis.from_arrays(copied, fitted.params())
        assert loaded.params() == fitted.params()
        assert torch.equal(loaded.sweep(test, [3, 25]), fitted.sweep(test, [3, 25]))
    assert not torch.equal(fit(train, k=25, seed=8).score(test), model.score(test))


def test_arrays_have_the_documented_shapes_and_a_lower_factor() -> None:
    model = fit(correlated(70), k=25)
    arrays = model.arrays()
    assert {name: tuple(value.shape) for name, value in arrays.items()} == {
        "projection": (D, 25),
        "mean": (H, W, 25),
        "cholesky": (H, W, 25, 25),
    }
    assert torch.equal(arrays["cholesky"], arrays["cholesky"].tril())
    assert model.params() == {"ridge": 0.01, "images": 70, "storage": "float32"}


def test_scores_ignore_a_common_shift_and_the_image_order() -> None:
    train, test = correlated(90), correlated(6, seed=1)
    expected = fit(train).score(test)
    np.testing.assert_allclose(fit(train + 3).score(test + 3), expected, rtol=1e-4)
    np.testing.assert_allclose(fit(train[::-1].copy()).score(test), expected, rtol=1e-4)
    np.testing.assert_allclose(fit(10 * train, ridge=1.0).score(10 * test), expected, rtol=1e-4)


def test_spectrum_is_that_of_the_embedded_covariance() -> None:
    train = correlated(90)
    w = semi_orthogonal(D, 12)
    spectrum = fit(train, projection=w, ridge=0.3).spectrum()
    z = (train.astype(np.float64) @ w.double().numpy())[:, 2, 1]
    np.testing.assert_allclose(spectrum[2, 1], np.linalg.eigvalsh(np.cov(z.T, bias=True))[::-1], rtol=1e-4)


def test_rank_collapses_for_sampled_features_only() -> None:
    rng = np.random.default_rng(0)
    train = rng.standard_normal((200, 2, 2, 60))[..., np.arange(120) % 60]
    for seed in range(10):
        for draw in (semi_orthogonal, gaussian):
            assert (fit(train, projection=draw(120, 40, seed=seed)).spectrum() > 1e-4).all()
        picked = np.random.default_rng(seed).permutation(120)[:40]
        distinct = len(set(picked % 60))
        assert distinct < 40
        rank = (fit(train, projection=sampled(120, 40, seed=seed)).spectrum() > 1e-4).sum(-1)
        assert (rank == distinct).all()


def test_float16_factors_change_scores_by_less_than_a_thousandth() -> None:
    train, test = correlated(60), correlated(40, seed=1)
    model = fit(train)
    small = model.rounded()
    assert small.params()["storage"] == "float16"
    assert small.arrays()["cholesky"].dtype == torch.float16
    full, rounded = model.score(test).numpy(), small.score(test).numpy()
    assert np.abs(rounded / full - 1).max() < 1e-3
    assert not np.array_equal(rounded, full)
    np.testing.assert_allclose(small.spectrum(), model.spectrum(), atol=1e-3 * model.spectrum().max().item())


@pytest.mark.parametrize("scale", [1e7, 1e-6])
def test_sixteen_bits_are_refused_beyond_their_range(scale: float) -> None:
    with pytest.raises(ValueError, match="float16 holds"):
        fit(correlated(60, d=6, scale=scale), ridge=0).rounded()


def test_one_image_gives_the_scaled_euclidean_distance() -> None:
    train, test = correlated(1), correlated(3, seed=1)
    with pytest.warns(UserWarning, match="N = 1 photo"):
        model = fit(train, k=10)
    delta = (test.astype(np.float64) - train) @ model.projection.double().numpy()
    np.testing.assert_allclose(model.score(test), np.linalg.norm(delta, axis=-1) / 0.1, rtol=1e-5)


@pytest.mark.parametrize("n", [2, 20])
def test_constant_and_duplicated_features_leave_the_ridge_alone(n: int) -> None:
    train = np.ones((n, H, W, D), dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = fit(train, ridge=0.25, k=8)
    test = train[:1] + correlated(1)
    delta = (test.astype(np.float64) - 1) @ model.projection.double().numpy()
    np.testing.assert_allclose(model.score(test), np.linalg.norm(delta, axis=-1) / 0.5, rtol=1e-5)
    assert model.score(train[:1]).max() < 1e-5
    assert model.score(np.zeros((0, H, W, D))).shape == (0, H, W)


def test_two_images_and_zero_vectors_are_legal() -> None:
    train = correlated(2)
    train[:, 0, 0] = 0
    with pytest.warns(UserWarning, match="N = 2 photos"):
        model = fit(train)
    np.testing.assert_allclose(
        model.score(train).numpy() ** 2,
        squared_distances(train, train, model.projection.numpy(), 0.01),
        rtol=1e-3,
        atol=1e-6,
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_named(value: float) -> None:
    bad = correlated(5)
    bad[3, 1, 2, 0] = value
    with pytest.raises(ValueError, match=r"row 3, location \(1, 2\)"):
        fit(bad)
    with pytest.raises(ValueError, match=r"row 3, location \(1, 2\)"):
        fit(correlated(60)).score(bad)
    with pytest.raises(ValueError, match="projected is not finite"):
        LocalGaussian(torch.eye(D), (H, W)).update_projected(bad)


def test_wrong_sizes_are_refused_with_both_numbers() -> None:
    model = fit(correlated(60), k=8)
    statistics = LocalGaussian(semi_orthogonal(D, 8), (H, W))
    for take in (model.score, statistics.update):
        with pytest.raises(ValueError, match=f"{D - 1} wide, the fitted model expects {D}"):
            take(np.zeros((1, H, W, D - 1)))
        with pytest.raises(ValueError, match=r"\(1, 4, 3, 36\), not \(n, 3, 4, features\)"):
            take(np.zeros((1, W, H, D)))
    for take in (model.score_projected, statistics.update_projected):
        with pytest.raises(ValueError, match="9 wide, the fitted model expects 8"):
            take(np.zeros((1, H, W, 9)))
        with pytest.raises(ValueError, match="use the grid of the fit"):
            take(np.zeros((H, W, 8)))
    with pytest.raises(ValueError, match=r"give \(n, h, w, d\)"):
        fit(np.zeros((5, D)))


def test_settings_outside_their_range_are_refused() -> None:
    train = correlated(60)
    with pytest.raises(ValueError, match="k is 37, outside 1 to 36"):
        fit(train, k=37)
    with pytest.raises(ValueError, match="k is 9, the projection is 8 wide"):
        fit(train, k=9, projection=semi_orthogonal(D, 8))
    model = fit(train, k=8)
    for k in (0, 9, -1):
        with pytest.raises(ValueError, match=f"k is {k}, outside 1 to 8"):
            model.score(train, k=k)
    with pytest.raises(ValueError, match="grid is"):
        LocalGaussian(torch.eye(3), (0, 4))


@pytest.mark.parametrize("ridge", [0.0, -1e-9, np.nan, np.inf])
def test_a_ridge_that_cannot_help_is_refused(ridge: float) -> None:
    with pytest.raises(ValueError, match="ridge is"):
        fit(correlated(8), k=8, ridge=ridge)


def test_singular_covariance_names_its_location() -> None:
    train = correlated(60, d=5)
    train[:, 1, 2, 4] = 1
    with pytest.raises(ValueError, match=r"location \(row 1, column 2\).*raise ridge"):
        fit(train, ridge=0, projection=torch.eye(5))


def test_nothing_to_learn_from_is_an_error() -> None:
    with pytest.raises(ValueError, match="empty"):
        fit(np.zeros((0, H, W, D)))
    with pytest.raises(ValueError, match="at least one good photo"):
        LocalGaussian(torch.eye(3), (H, W)).finish()


def test_statistics_of_another_projection_or_grid_are_not_merged() -> None:
    statistics = LocalGaussian(semi_orthogonal(D, 8), (H, W))
    for other in (LocalGaussian(semi_orthogonal(D, 8, seed=1), (H, W)), LocalGaussian(semi_orthogonal(D, 8), (W, H))):
        with pytest.raises(ValueError, match="cannot merge"):
            statistics.merge(other)


def test_damaged_arrays_are_refused() -> None:
    model = fit(correlated(60), k=8)
    arrays, params = model.arrays(), model.params()
    with pytest.raises(ValueError, match="no 'mean'"):
        Mahalanobis.from_arrays({name: arrays[name] for name in ("projection", "cholesky")}, params)
    with pytest.raises(ValueError, match="do not belong together"):
        Mahalanobis.from_arrays(arrays | {"mean": arrays["mean"][:, 1:]}, params)
    with pytest.raises(ValueError, match="mean is not finite"):
        Mahalanobis.from_arrays(arrays | {"mean": arrays["mean"] / 0}, params)
    with pytest.raises(ValueError, match="pivot"):
        Mahalanobis.from_arrays(arrays | {"cholesky": -arrays["cholesky"]}, params)
    with pytest.raises(ValueError, match="storage says float16"):
        Mahalanobis.from_arrays(arrays, params | {"storage": "float16"})


def test_results_carry_no_gradient() -> None:
    train = torch.from_numpy(correlated(60)).requires_grad_()
    model = fit(train, k=8)
    assert not model.score(train).requires_grad
    assert not model.mean.requires_grad


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_gives_the_same_scores() -> None:
    train, test = torch.from_numpy(correlated(90)), torch.from_numpy(correlated(5, seed=1))
    on_gpu = fit(train.cuda(), k=20)
    assert on_gpu.cholesky.is_cuda
    expected = fit(train, k=20).score(test)
    np.testing.assert_allclose(on_gpu.score(test.cuda()).cpu(), expected, rtol=2e-5)
    assert not on_gpu.score(test).is_cuda


@settings(deadline=None, max_examples=examples(25))
@given(left=st.integers(1, 40), removed=st.integers(0, 40), seed=st.integers(0, 99))
def test_images_that_were_merged_can_be_taken_away_again(left: int, removed: int, seed: int) -> None:
    x, projection = correlated(left + removed, seed=seed, d=6), semi_orthogonal(6, 3, seed=1)
    first, other = (LocalGaussian(projection, (H, W)).update(part) for part in (x[:left], x[left:]))
    first.merge(other)
    actual, expected = (
        first.without(other),
        x[:left].reshape(left, H * W, 6).astype(float) @ projection.double().numpy(),
    )
    state = actual.state()
    assert int(state["images"]) == left
    np.testing.assert_allclose(state["mean"].numpy(), expected.mean(axis=0), rtol=1e-6, atol=1e-6)
    scatter = LocalGaussian(projection, (H, W)).update(x[:left]).state()["scatter"].numpy()
    np.testing.assert_allclose(
        state["scatter"].numpy(), scatter, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(scatter).max())
    )
    assert first.images == left + removed, "both stay as they are"
    with pytest.raises(ValueError, match="leave at least one"):
        first.without(first)
