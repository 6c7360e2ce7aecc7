"""NearbyPatches against distances taken one by one in float64."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.detectors.nearby_patches import NearbyPatches, fit

GRID = (11, 7)


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def one_by_one(bank: np.ndarray, z: np.ndarray, reach: int) -> np.ndarray:
    """(h, w, n, r) and (n, h, w, r) float64 -> (n, h, w): the least distance to the patches in reach."""
    scores = np.zeros(z.shape[:3])
    for photo, i, j in np.ndindex(scores.shape):
        near = bank[max(0, i - reach) : i + reach + 1, max(0, j - reach) : j + reach + 1]
        scores[photo, i, j] = np.linalg.norm(near - z[photo, i, j], axis=-1).min()
    return scores


@pytest.mark.parametrize("grid", [GRID, (8, 8), (17, 3), (1, 1)])
@pytest.mark.parametrize("reach", [0, 1, 2, 5])
def test_scores_are_least_distances_in_reach(grid, reach):
    bank, x = drawn(*grid, 3, 5), drawn(2, *grid, 5, seed=1)
    detector = NearbyPatches(torch.zeros(5), torch.eye(5), bank, reach)
    expected = one_by_one(bank.double().numpy(), x.double().numpy(), reach)
    np.testing.assert_allclose(detector.score(x).numpy(), expected, atol=5e-6)


def test_the_fit_keeps_principal_components_of_all_patches():
    photos = drawn(6, *GRID, 9) * torch.linspace(1, 3, 9)
    x = drawn(2, *GRID, 9, seed=1)
    rows = photos.double().numpy().reshape(-1, 9)
    axes = np.linalg.eigh(np.cov(rows.T))[1][:, ::-1][:, :4]
    z, of_x = ((values.double().numpy() - rows.mean(0)) @ axes for values in (photos, x))
    detector = fit(photos, components=4, reach=2)
    expected = one_by_one(z.transpose(1, 2, 0, 3), of_x, 2)
    np.testing.assert_allclose(detector.score(x).numpy(), expected, atol=2e-5)
    assert torch.allclose(detector.basis.T @ detector.basis, torch.eye(4), atol=1e-6)


def test_a_good_photo_scores_nothing_also_moved_within_reach():
    photos = drawn(4, *GRID, 6)
    detector = fit(photos, components=6, reach=2)
    lengths = (photos - detector.mean).norm(dim=-1)
    assert (detector.score(photos) / lengths).max() < 0.0101
    moved = torch.roll(photos, (2, -1), dims=(1, 2))
    assert (detector.score(moved) / torch.roll(lengths, (2, -1), dims=(1, 2)))[:, 2:, :-1].max() < 0.0101
    assert torch.roll(photos, (3, 0), dims=(1, 2)).sub(photos).norm(dim=-1).min() > 0
    assert detector.score(torch.roll(photos, (5, 0), dims=(1, 2)))[:, 5:].median() > 1


def test_rounding_is_not_amplified_for_photos_that_were_learned():
    """Else a photo that set the limits scores otherwise on the line, and the export is refused."""
    photos = 30 + drawn(4, *GRID, 64)
    detector = fit(photos, components=48, reach=2)
    apart = detector.score(photos) - detector.score(photos * (1 + 2e-7))
    assert apart.abs().max() < 2e-5 * (photos - detector.mean).norm(dim=-1).max()


@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(0, 3))
def test_a_batch_scores_as_its_photos_alone_to_the_bit(count, reach):
    detector = fit(drawn(3, *GRID, 6), components=4, reach=reach)
    x = drawn(count, *GRID, 6, seed=7)
    singles = torch.cat([detector.score(photo[None]) for photo in x])
    assert torch.equal(detector.score(x), singles)


def test_more_photos_and_more_reach_never_raise_a_score():
    photos, x = drawn(5, *GRID, 6), drawn(2, *GRID, 6, seed=3)
    detector = fit(photos, components=6, reach=1)
    fewer = NearbyPatches(detector.mean, detector.basis, detector.bank[:, :, :3].contiguous(), 1)
    wider = NearbyPatches(detector.mean, detector.basis, detector.bank, 2)
    assert (detector.score(x) <= fewer.score(x) + 1e-6).all()
    assert (wider.score(x) <= detector.score(x) + 1e-6).all()


def test_what_cannot_be_used_is_refused_in_words():
    detector = fit(drawn(3, *GRID, 6), components=4, reach=2)
    for wrong, words in (
        (drawn(2, *GRID, 5), "6"),
        (drawn(2, 7, 11, 6), "learned on a grid of"),
        (drawn(2, *GRID, 6).fill_(torch.nan), "not finite"),
    ):
        with pytest.raises(ValueError, match=words):
            detector.score(wrong)
    with pytest.raises(ValueError, match="at least one good sample"):
        fit(drawn(0, *GRID, 6), components=4, reach=2)
    with pytest.raises(ValueError, match="whole number of cells"):
        NearbyPatches(detector.mean, detector.basis, detector.bank, -1)
    with pytest.raises(ValueError, match="have shapes"):
        NearbyPatches(detector.mean, detector.basis[:, :3], detector.bank, 1)
