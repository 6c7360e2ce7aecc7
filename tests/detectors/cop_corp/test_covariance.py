import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.detectors.cop_corp import fit_corp
from inspect_core.detectors.cop_corp.covariance import MappedCovariance
from inspect_core.detectors.cop_corp.feature_maps import cosine_fourier_map, cosine_map, identity_map
from tests.examples import examples


def features(n, m, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m)) / np.arange(1, m + 1) + 2.0


def covariance(model):
    vectors = model.components.double().numpy()
    return (vectors * model.eigenvalues.numpy()) @ vectors.T


def test_stream_gives_mean_and_covariance_of_all_rows():
    x = features(500, 6)
    model = MappedCovariance(identity_map(6), dtype=torch.float64).update(x[:30]).update(x[30:]).finish()
    np.testing.assert_allclose(model.mean.numpy(), x.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(covariance(model), np.cov(x.T, ddof=0), rtol=1e-10, atol=1e-14)


@settings(deadline=None, max_examples=examples(25))
@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(0, 1000))
def test_any_split_and_any_merge_give_one_result(sizes, seed):
    x = features(sum(sizes) + 8, 5, seed)
    whole = MappedCovariance(cosine_map(5), dtype=torch.float64).update(x).finish()
    merged = MappedCovariance(cosine_map(5), dtype=torch.float64).update(x[:8])
    start = 8
    for size in sizes:
        part, half = x[start : start + size], size // 2
        merged.merge(MappedCovariance(cosine_map(5), dtype=torch.float64).update(part[:half]).update(part[half:]))
        start += size
    result = merged.finish()
    assert merged.count == len(x)
    np.testing.assert_allclose(result.mean.numpy(), whole.mean.numpy(), atol=1e-13)
    np.testing.assert_allclose(covariance(result), covariance(whole), atol=1e-13)


@settings(deadline=None, max_examples=examples(25))
@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 1000))
def test_what_was_merged_can_be_taken_away_again(left, removed, seed):
    x = features(left + removed, 5, seed)
    first, other = (MappedCovariance(cosine_map(5), dtype=torch.float64).update(rows) for rows in (x[:left], x[left:]))
    first.merge(other)
    result, before = first.without(other), first.state()["sum"].clone()
    mapped = x[:left] / np.linalg.norm(x[:left], axis=1, keepdims=True)
    state = {name: values.numpy() for name, values in result.state().items()}
    mean = state["shift"] + state["sum"] / left
    scatter = state["products"] - np.outer(state["sum"], state["sum"]) / left
    assert result.count == left
    np.testing.assert_allclose(mean, mapped.mean(axis=0), rtol=1e-9)
    centred = mapped - mapped.mean(axis=0)
    np.testing.assert_allclose(scatter, centred.T @ centred, atol=1e-9 * (left + removed))
    assert torch.equal(first.state()["sum"], before), "both stay as they are"


def test_merging_with_an_empty_side_changes_nothing():
    x = features(40, 5)
    filled = MappedCovariance(cosine_map(5)).update(x)
    empty = MappedCovariance(cosine_map(5))
    expected = filled.finish()
    assert torch.equal(filled.merge(empty).finish().components, expected.components)
    assert torch.equal(empty.merge(filled).finish().components, expected.components)


def test_merging_leaves_the_other_side_alone():
    x = features(80, 5)
    first, other = MappedCovariance(cosine_map(5)).update(x[:40]), MappedCovariance(cosine_map(5)).update(x[40:])
    before = other.finish().components
    first.merge(other).update(x)
    assert torch.equal(other.finish().components, before)


def test_float32_products_stay_accurate_over_many_patches():
    x = features(20_000, 12).astype(np.float32)
    feature_map = cosine_fourier_map(12, gamma=1.0, M=64, seed=1)
    exact = MappedCovariance(feature_map, dtype=torch.float64).update(x).finish()
    actual = MappedCovariance(feature_map).update(x.reshape(20, 25, 40, 12)).finish()
    qs = [2, 5, 10]
    expected = exact.sweep(x[:500], qs)
    assert float((actual.sweep(x[:500], qs) - expected).abs().max()) < 1e-5 * float(expected.max())


def test_a_far_offset_costs_no_precision():
    x = features(3000, 6).astype(np.float32)
    near = MappedCovariance(identity_map(6)).update(x).finish()
    far = MappedCovariance(identity_map(6)).update(x + np.float32(1024.0)).finish()
    np.testing.assert_allclose(far.eigenvalues.numpy(), near.eigenvalues.numpy(), rtol=2e-3)


def test_stream_equals_the_fit_of_samples_at_hand():
    x = features(300, 9)
    stream = MappedCovariance(cosine_fourier_map(9, gamma=1.0, M=32, seed=4), dtype=torch.float64)
    actual = stream.update(x[:100]).update(x[100:]).finish(explained_variance=0.8)
    expected = fit_corp(x, gamma=1.0, M=32, seed=4, explained_variance=0.8)
    torch.testing.assert_close(actual.score(x), expected.score(x), rtol=1e-9, atol=1e-12)


def test_few_samples_by_stream_and_by_svd_agree():
    x, z = features(15, 9), features(6, 9, seed=1)
    stream = MappedCovariance(cosine_fourier_map(9, gamma=1.0, M=32, seed=4), dtype=torch.float64).update(x).finish()
    direct = fit_corp(x, gamma=1.0, M=32, seed=4)
    assert stream.components.shape == direct.components.shape == (32, 14)
    torch.testing.assert_close(stream.sweep(z, [1, 5]), direct.sweep(z, [1, 5]), rtol=1e-6, atol=0.0)


def test_finish_can_be_followed_by_more():
    x = features(100, 5)
    statistics = MappedCovariance(identity_map(5), dtype=torch.float64).update(x[:50])
    statistics.finish()
    np.testing.assert_allclose(
        covariance(statistics.update(x[50:]).finish()), np.cov(x.T, ddof=0), rtol=1e-10, atol=1e-14
    )


def test_one_sample_and_none():
    with pytest.raises(ValueError, match="features is empty"):
        MappedCovariance(identity_map(5)).finish()
    with pytest.raises(ValueError, match="features is empty"):
        MappedCovariance(identity_map(5)).update(np.empty((0, 5))).finish()
    with pytest.warns(UserWarning, match="fitted on 1 sample"):
        model = MappedCovariance(identity_map(5)).update(np.full((1, 5), 3.0)).finish()
    np.testing.assert_allclose(model.score(np.full((1, 5), 4.0)).numpy(), [5**0.5], rtol=1e-6)


def test_errors():
    statistics = MappedCovariance(cosine_map(5)).update(features(9, 5))
    with pytest.raises(ValueError, match="another feature map"):
        statistics.merge(MappedCovariance(cosine_fourier_map(5, gamma=1.0, M=5)).update(features(9, 5)))
    with pytest.raises(ValueError, match="expects 5"):
        statistics.update(features(9, 6))
    with pytest.raises(ValueError, match="explained_variance is 0"):
        statistics.finish(explained_variance=0.0)
