import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.detectors.nearest_patch import (
    NearestPatch,
    fit,
    sketched,
    spread_out,
    weight_of_surround,
    with_surround,
)

GRID = (5, 6)


def photos(n, k, seed=0):
    """(n, 5, 6, k) float32 near a subspace of half of the features."""
    rng = np.random.default_rng(seed)
    half = max(1, k // 2)
    mixed = rng.standard_normal((n, *GRID, half)) @ np.random.default_rng(7).standard_normal((half, k))
    return torch.from_numpy((mixed + 0.2 * rng.standard_normal((n, *GRID, k)) + 1.0).astype(np.float32))


def bank_of(n, k, seed=0):
    """(30 n, 2 k)."""
    return with_surround(photos(n, k, seed)).flatten(0, 2)


def neighbourhoods(x):
    """(n, h, w, k) float64: the mean of 3 x 3 patches, those beyond the border zero."""
    wider = np.pad(x.astype(float), ((0, 0), (1, 1), (1, 1), (0, 0)))
    height, width = x.shape[1:3]
    return sum(wider[:, i : i + height, j : j + width] for i in range(3) for j in range(3)) / 9


def distances(x, bank):
    """(n, m) float64."""
    return np.sqrt(((x[:, None].astype(float) - bank[None].astype(float)) ** 2).sum(-1))


def test_the_score_is_the_distance_to_the_nearest_by_sketch():
    bank, x = bank_of(8, 6).numpy(), photos(3, 6, seed=1).numpy()
    _, axes = np.linalg.eigh(bank.astype(float).T @ bank.astype(float))
    basis = axes[:, ::-1][:, :5]
    rows = np.concatenate([0.5 * x, 2 * neighbourhoods(x)], axis=-1).reshape(-1, 12)

    def sketches(rows):
        z = rows @ basis
        return np.c_[z, np.linalg.norm(rows - z @ basis.T, axis=1)]

    nearest = distances(sketches(rows), sketches(bank)).argmin(1)
    actual = fit(bank, centre=0.5, surround=2, components=5).score(x)
    assert actual.dtype == torch.float32
    np.testing.assert_allclose(actual.flatten(), distances(rows, bank)[np.arange(len(rows)), nearest], rtol=1e-5)


def test_with_all_components_it_is_the_nearest_patch():
    bank, x = bank_of(8, 6), photos(3, 6, seed=1)
    rows = np.concatenate([x, neighbourhoods(x.numpy())], axis=-1).reshape(-1, 12)
    np.testing.assert_allclose(fit(bank).score(x).flatten(), distances(rows, bank.numpy()).min(1), rtol=1e-5)


def test_without_the_patch_alone_it_is_the_published_one():
    """PatchCore compares neighbourhoods."""
    good, x = photos(8, 6), photos(3, 6, seed=1)
    published = fit(with_surround(good, 0, 1).flatten(0, 2), centre=0, surround=1).score(x)
    surround, of_good = (neighbourhoods(values.numpy()).reshape(-1, 6) for values in (x, good))
    np.testing.assert_allclose(published.flatten(), distances(surround, of_good).min(1), rtol=1e-5)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 8), st.integers(1, 8))
def test_sketches_are_no_farther_apart_than_patches(seed, width, components):
    bank, x = bank_of(1, width, seed), photos(1, width, seed + 1)
    detector = fit(bank, components=components)
    rows = with_surround(x).flatten(0, 2)
    apart = distances(rows.numpy(), bank.numpy())
    of_sketches = [sketched(values, detector.columns).numpy() for values in (rows, bank)]
    assert bool((distances(*of_sketches) <= apart * (1 + 1e-4) + 1e-3).all())
    assert bool((detector.score(x).flatten().numpy() >= apart.min(1) * (1 - 1e-5)).all())


def test_what_lies_outside_the_sketch_counts_in_full():
    """A defect that differs only where good patches never do is as far as it is."""
    good = photos(10, 10)
    detector = fit(with_surround(good).flatten(0, 2), components=6)
    outside = torch.linalg.svd(detector.columns[:10].T)[2][-1]
    defective = good.clone()
    defective[:, 2, 3] += 9 * outside
    assert float(detector.score(defective)[:, 2, 3].min()) > 8
    assert float(detector.score(good).max()) < 0.5, "a patch of the bank is its own neighbour, or has one as near"


def test_a_defect_of_one_patch_is_not_averaged_away():
    good, x = photos(10, 6), photos(1, 6, seed=1)
    defective = x.clone()
    defective[:, 2, 3] += 5

    def rise(centre):
        detector = fit(with_surround(good, centre, 1).flatten(0, 2), centre=centre, surround=1)
        return float((detector.score(defective) - detector.score(x))[:, 2, 3])

    assert rise(centre=1) > 2 * rise(centre=0)


def test_neighbourhoods_weigh_as_much_as_patches():
    rows = bank_of(20, 6)
    weight = weight_of_surround(rows)
    assert weight > 1
    assert float((weight * rows[:, 6:]).var(0).sum()) == pytest.approx(float(rows[:, :6].var(0).sum()), rel=1e-5)
    assert weight_of_surround(torch.ones(9, 6)) == 1


def test_an_image_scores_the_same_alone_and_in_a_batch():
    detector, images = fit(bank_of(4, 6)), photos(2, 6, seed=1)
    scores = detector.score(images)
    assert scores.shape == (2, *GRID)
    assert torch.equal(detector.score(images[1:])[0], scores[1])


def test_it_is_stored_and_read_back():
    detector = fit(bank_of(4, 6), centre=0.5, surround=1.5, components=3)
    restored = NearestPatch.from_arrays(detector.arrays(), detector.params())
    assert torch.equal(restored.score(photos(2, 6, seed=1)), detector.score(photos(2, 6, seed=1)))


def test_what_cannot_be_compared_is_refused():
    bank = bank_of(2, 5)
    with pytest.raises(ValueError, match="empty"):
        fit(bank[:0])
    with pytest.raises(ValueError, match="row 11"):
        fit(bank.where(torch.arange(60)[:, None] != 11, torch.nan))
    with pytest.raises(ValueError, match="expects 5"):
        fit(bank).score(photos(1, 4))
    with pytest.raises(ValueError, match="on their grid"):
        fit(bank).score(torch.ones(3, 5))
    detector = fit(bank)
    with pytest.raises(ValueError, match="bank and basis have shapes"):
        NearestPatch(detector.bank[:, :1], detector.basis, 1.0, 1.0)


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
