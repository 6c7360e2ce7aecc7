import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.detectors.nearest_patch import NearestPatch, fit, sketched, spread_out


def patches(n, d, seed=0):
    """(n, d) float32 near a subspace of half of the dimensions."""
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((n, max(1, d // 2))) @ np.random.default_rng(7).standard_normal((max(1, d // 2), d))
    return (mixed + 0.2 * rng.standard_normal((n, d)) + 1.0).astype(np.float32)


def distances(x, bank):
    """(n, m) float64."""
    return np.sqrt(((x[:, None].astype(float) - bank[None].astype(float)) ** 2).sum(-1))


def test_the_score_is_the_distance_to_the_nearest_by_sketch():
    bank, x = patches(200, 12), patches(40, 12, seed=1)
    _, axes = np.linalg.eigh(bank.astype(float).T @ bank.astype(float))
    basis = axes[:, ::-1][:, :5]

    def sketches(rows):
        z = rows @ basis
        return np.c_[z, np.linalg.norm(rows - z @ basis.T, axis=1)]

    nearest = distances(sketches(x), sketches(bank)).argmin(1)
    actual = fit(bank, components=5).score(x)
    assert actual.dtype == torch.float32
    np.testing.assert_allclose(actual.numpy(), distances(x, bank)[np.arange(len(x)), nearest], rtol=1e-6)


def test_with_all_components_it_is_the_nearest_patch():
    bank, x = patches(200, 12), patches(40, 12, seed=1)
    np.testing.assert_allclose(fit(bank).score(x).numpy(), distances(x, bank).min(1), rtol=1e-6)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 12), st.integers(1, 8))
def test_sketches_are_no_farther_apart_than_patches(seed, width, components):
    bank, x = patches(30, width, seed), patches(9, width, seed + 1)
    detector = fit(bank, components=components)
    apart = distances(x, bank)
    of_sketches = [sketched(torch.from_numpy(rows), detector.basis).numpy() for rows in (x, bank)]
    assert bool((distances(*of_sketches) <= apart * (1 + 1e-4) + 1e-3).all())
    assert bool((detector.score(x).numpy() >= apart.min(1) * (1 - 1e-5)).all())


def test_what_lies_outside_the_sketch_counts_in_full():
    """A defect that differs only where good patches never do is as far as it is."""
    bank = patches(300, 20)
    detector = fit(bank, components=4)
    outside = np.linalg.svd(detector.basis.numpy().T)[2][-1]
    defect = bank[:50] + 9 * outside
    np.testing.assert_array_less(8.0, detector.score(defect).numpy())
    assert float(detector.score(bank).max()) < 0.5, "a patch of the bank is its own neighbour, or has one as near"


def test_an_image_scores_the_same_alone_and_in_a_batch():
    detector, images = fit(patches(100, 6)), patches(24, 6, seed=1).reshape(2, 3, 4, 6)
    scores = detector.score(images)
    assert scores.shape == (2, 3, 4)
    assert torch.equal(detector.score(images[1:])[0], scores[1])


def test_it_is_stored_and_read_back():
    detector = fit(patches(60, 6), components=3)
    restored = NearestPatch.from_arrays(detector.arrays(), detector.params())
    assert torch.equal(restored.score(patches(9, 6, seed=1)), detector.score(patches(9, 6, seed=1)))


def test_what_cannot_be_compared_is_refused():
    bank = patches(30, 5)
    with pytest.raises(ValueError, match="empty"):
        fit(bank[:0])
    with pytest.raises(ValueError, match="row 11"):
        fit(np.where(np.arange(30)[:, None] == 11, np.nan, bank))
    with pytest.raises(ValueError, match="expects 5"):
        fit(bank).score(patches(3, 4))
    detector = fit(bank)
    with pytest.raises(ValueError, match="bank and basis have shapes"):
        NearestPatch(detector.bank[:, :3], detector.basis)


def test_spread_out_is_greedy_k_centre_selection():
    x = np.random.default_rng(3).standard_normal((60, 5))
    chosen = [int(np.linalg.norm(x - x.mean(0), axis=1).argmin())]
    while len(chosen) < 12:
        apart = np.linalg.norm(x[:, None] - x[chosen], axis=2).min(1)
        chosen.append(int(apart.argmax()))
    rows = torch.from_numpy(x).float()
    chosen = spread_out(rows, 12)
    bank = rows[chosen]
    np.testing.assert_array_equal(bank.numpy(), x[chosen].astype(np.float32))
    assert spread_out(bank, 12) == list(range(12))
    assert spread_out(rows, 12, chosen[:5]) == chosen, "what was begun is gone on with"
    with pytest.raises(ValueError, match="finite"):
        spread_out(torch.full((20, 2), torch.nan), 3)
