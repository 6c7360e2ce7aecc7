import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.detectors.cop_corp.feature_maps import (
    cosine,
    cosine_fourier_map,
    cosine_map,
    draw,
    draw_orthogonal,
    identity_map,
    precision_of,
    random_fourier,
)
from tests.examples import examples


def test_cosine_divides_by_the_length_plus_the_offset():
    z = np.array([[3.0, 4.0], [0.0, 0.0], [3e-10, 4e-10]])
    expected = z / (np.linalg.norm(z, axis=1, keepdims=True) + 1e-10)
    np.testing.assert_allclose(cosine(torch.from_numpy(z)).numpy(), expected, rtol=1e-14)


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(-37, 37), st.integers(0, 1000))
def test_cosine_in_float32_holds_at_every_scale(exponent, seed):
    z = np.random.default_rng(seed).uniform(0.5, 2.0, (3, 7)) * 10.0**exponent
    z32 = torch.from_numpy(z).float()
    exact = z32.double().numpy()
    expected = exact / (np.linalg.norm(exact, axis=1, keepdims=True) + 1e-10)
    actual = cosine(z32).numpy()
    assert np.isfinite(actual).all()
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-38)


def test_cosine_is_blind_to_length():
    z = torch.from_numpy(np.random.default_rng(0).standard_normal((5, 6)))
    torch.testing.assert_close(cosine(z), cosine(17.0 * z), rtol=1e-9, atol=0.0)


def test_fourier_features_are_the_formula():
    rng = np.random.default_rng(0)
    z, w0, u = rng.standard_normal((4, 3)), rng.standard_normal((5, 3)), rng.uniform(0, 6, 5)
    expected = np.sqrt(2 / 5) * np.cos(np.sqrt(2 * 1.7) * z @ w0.T + u)
    actual = random_fourier(torch.from_numpy(z), torch.from_numpy(w0), torch.from_numpy(u), gamma=1.7)
    np.testing.assert_allclose(actual.numpy(), expected, atol=1e-14)


@pytest.mark.parametrize("gamma", [0.5, 1.5, 4.0])
def test_kernel_error_falls_as_one_over_root_2m(gamma):
    x = cosine(torch.from_numpy(np.random.default_rng(1).standard_normal((60, 10))))
    kernel = torch.exp(-gamma * torch.cdist(x, x) ** 2)
    for M in (64, 1024):
        errors = []
        for seed in range(5):
            mapped = random_fourier(x, *draw(10, M, seed=seed), gamma=gamma)
            errors.append(float((mapped @ mapped.T - kernel).abs().mean()))
        assert 0.5 < np.mean(errors) * np.sqrt(2 * M) < 1.5


@pytest.mark.parametrize("drawn", [draw, draw_orthogonal])
def test_a_larger_draw_extends_a_smaller_one(drawn):
    w0, u = drawn(6, 40, seed=3)
    small_w0, small_u = drawn(6, 12, seed=3)
    assert torch.equal(w0[:12], small_w0)
    assert torch.equal(u[:12], small_u)
    assert not torch.equal(drawn(6, 12, seed=4)[0], small_w0)


def test_orthogonal_frequencies_have_normal_lengths_and_pairs():
    w0, u = (values.numpy() for values in draw_orthogonal(40, 4000, seed=0))
    np.testing.assert_array_equal(w0[::2], w0[1::2])
    np.testing.assert_allclose((u[1::2] - u[::2]) % (2 * np.pi), np.pi / 2)
    block = w0[:80:2]
    np.testing.assert_allclose(block @ block.T, np.diag(np.square(block).sum(axis=1)), atol=1e-10)
    assert abs(w0.std() - 1.0) < 0.02
    lengths = np.linalg.norm(w0[::2], axis=1)
    assert abs(np.square(lengths).mean() - 40) < 1
    assert abs(np.square(lengths).std() - np.sqrt(80)) < 1


@pytest.mark.parametrize(("M", "orthogonal"), [(2, False), (9, False), (2, True), (16, True)])
def test_the_map_takes_each_frequency_with_its_own_phase(M, orthogonal):
    x = torch.from_numpy(np.random.default_rng(2).standard_normal((20, 7)))
    mapped = cosine_fourier_map(7, gamma=0.7, M=M, seed=5, orthogonal=orthogonal)
    w0, u = (draw_orthogonal if orthogonal else draw)(7, M, seed=5)
    unit = x.numpy() / np.linalg.norm(x.numpy(), axis=1, keepdims=True)
    angles = np.sqrt(1.4) * unit @ w0.numpy().T + u.numpy()
    np.testing.assert_allclose(mapped(x).numpy(), np.sqrt(2 / M) * np.cos(angles), atol=1e-6)


@pytest.mark.parametrize("gamma", [0.01, 0.1, 0.5])
def test_orthogonal_features_equal_twice_as_many_independent(gamma):
    x = cosine(torch.from_numpy(np.random.default_rng(1).standard_normal((60, 100))))
    kernel = torch.exp(-gamma * torch.cdist(x, x) ** 2)

    def error(drawn, M: int) -> float:
        maps = (random_fourier(x, *drawn(100, M, seed=seed), gamma=gamma) for seed in range(5))
        return float(np.mean([(mapped @ mapped.T - kernel).square().mean() for mapped in maps]))

    assert error(draw_orthogonal, 512) <= error(draw, 1024)


def test_an_odd_number_of_orthogonal_features_is_refused():
    with pytest.raises(ValueError, match="come in pairs"):
        draw_orthogonal(6, 7)


def test_draw_uses_two_child_streams_of_the_seed():
    first, second = (np.random.default_rng(child) for child in np.random.SeedSequence(8).spawn(2))
    w0, u = draw(3, 5, seed=8)
    np.testing.assert_array_equal(w0.numpy(), first.standard_normal((5, 3)))
    np.testing.assert_array_equal(u.numpy(), second.uniform(0, 2 * np.pi, 5))


def test_draw_is_standard_normal_and_uniform_on_the_circle():
    w0, u = draw(10, 4000, seed=0)
    assert w0.dtype == u.dtype == torch.float64
    assert abs(float(w0.mean())) < 0.02
    assert abs(float(w0.std()) - 1.0) < 0.02
    assert 0.0 <= float(u.min()) < 0.02
    assert 2 * np.pi - 0.02 < float(u.max()) < 2 * np.pi
    assert abs(float(u.mean()) - np.pi) < 0.1


def test_the_first_rows_of_a_map_are_a_valid_smaller_map():
    z = torch.from_numpy(np.random.default_rng(0).standard_normal((9, 6)))
    large, small = (cosine_fourier_map(6, gamma=1.0, M=M)(z) for M in (64, 16))
    torch.testing.assert_close(large[:, :16] * np.sqrt(64 / 16), small, rtol=1e-12, atol=1e-14)


def test_maps_know_their_width_and_compose():
    z = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 5)))
    corp = cosine_fourier_map(5, gamma=2.0, M=32, seed=1)
    assert (identity_map(5).D, cosine_map(5).D, corp.D) == (5, 5, 32)
    assert torch.equal(identity_map(5)(z), z)
    assert torch.equal(cosine_map(5)(z), cosine(z))
    assert torch.equal(corp(z), random_fourier(cosine(z), corp.w0, corp.u, gamma=2.0))


def test_matching_asks_for_one_draw_and_one_gamma():
    corp = cosine_fourier_map(5, gamma=2.0, M=32, seed=1)
    assert corp.matches(cosine_fourier_map(5, gamma=2.0, M=32, seed=1))
    others = [
        cosine_fourier_map(5, gamma=1.0, M=32, seed=1),
        cosine_fourier_map(5, gamma=2.0, M=32, seed=2),
        cosine_fourier_map(5, gamma=2.0, M=33, seed=1),
        cosine_fourier_map(6, gamma=2.0, M=32, seed=1),
        cosine_map(5),
        cosine_map(32),
    ]
    assert not any(corp.matches(other) or other.matches(corp) for other in others)


def test_precision_follows_float64_only():
    assert precision_of(np.zeros(2)) == torch.float64
    assert precision_of(torch.zeros(2, dtype=torch.float64)) == torch.float64
    assert precision_of(np.zeros(2, np.float32)) == precision_of(np.zeros(2, np.int64)) == torch.float32


def test_errors_name_argument_and_value():
    with pytest.raises(ValueError, match="M is 1;"):
        draw(4, 1)
    with pytest.raises(ValueError, match="m is 0;"):
        draw(0, 8)
    for gamma in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="gamma is"):
            cosine_fourier_map(4, gamma=gamma, M=8)
