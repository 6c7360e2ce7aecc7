"""Colours over the mean of their photo, against a derivation in float64, place by place."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.detectors.mahalanobis import LocalGaussian
from inspect_core.detectors.relative_colour import RelativeColour, fit, over_mean

GRID = (6, 5)
RIDGE = 1e-5


def photos(count: int, seed: int = 0) -> torch.Tensor:
    drawn = np.random.default_rng(seed).uniform(0.2, 0.9, size=(1, *GRID, 3))
    noise = np.random.default_rng(seed + 1).normal(scale=0.02, size=(count, *GRID, 3))
    return torch.from_numpy((drawn + noise).astype(np.float32))


def taught(colours: torch.Tensor) -> RelativeColour:
    return fit(LocalGaussian(torch.eye(3), GRID).update_projected(over_mean(colours)), ridge=RIDGE)


def test_scores_are_distances_under_the_place_and_all_places():
    good, x = photos(12), photos(3, seed=5)
    ratios = good.double().numpy() / good.double().numpy().mean(axis=(1, 2), keepdims=True)
    mean = ratios.mean(axis=0)
    covariances = np.einsum("nhwi,nhwj->hwij", ratios - mean, ratios - mean) / len(good)
    covariances = covariances + covariances.mean(axis=(0, 1)) + RIDGE * np.eye(3)
    of_x = x.double().numpy() / x.double().numpy().mean(axis=(1, 2), keepdims=True)
    expected = np.empty((3, *GRID))
    for photo, i, j in np.ndindex(expected.shape):
        apart = of_x[photo, i, j] - mean[i, j]
        expected[photo, i, j] = np.sqrt(apart @ np.linalg.inv(covariances[i, j]) @ apart)
    np.testing.assert_allclose(taught(good).score(x).numpy(), expected, rtol=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.2, 1.0), st.tuples(*[st.floats(0.5, 1.0)] * 3))
def test_a_dimmer_or_tinted_lamp_changes_no_score(light, tint):
    detector, x = taught(photos(12)), photos(2, seed=5)
    torch.testing.assert_close(detector.score(x * light * torch.tensor(tint)), detector.score(x), rtol=1e-3, atol=1e-3)


def test_a_stain_scores_where_it_lies_and_nowhere_else():
    detector, x = taught(photos(12)), photos(1, seed=0)
    stained = x.clone()
    stained[0, 2:4, 1:3] *= 0.8
    raised = detector.score(stained)[0] - detector.score(x)[0]
    assert raised[2:4, 1:3].min() > 3
    raised[2:4, 1:3] = 0
    assert raised.abs().max() < 1.5


def test_a_photo_scores_the_same_alone_and_in_a_batch():
    detector, x = taught(photos(12)), photos(5, seed=5)
    assert torch.equal(detector.score(x), torch.cat([detector.score(x[i : i + 1]) for i in range(5)]))


def test_a_black_photo_and_one_without_a_colour_score():
    detector = taught(photos(12))
    black = torch.zeros(1, *GRID, 3)
    no_blue = photos(1, seed=5) * torch.tensor([1.0, 1.0, 0.0])
    assert detector.score(black).isfinite().all()
    assert detector.score(no_blue).isfinite().all()


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (torch.zeros(1, *GRID, 2), "x is 2 wide"),
        (torch.zeros(1, 5, 5, 3), "grid of"),
        (torch.full((1, *GRID, 3), torch.nan), "not finite"),
    ],
)
def test_other_colours_and_grids_are_refused(x, words):
    with pytest.raises(ValueError, match=words):
        taught(photos(12)).score(x)


def test_arrays_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match=r"give \(h, w, c\) and \(h, w, c, c\)"):
        RelativeColour(torch.zeros(*GRID, 3), torch.zeros(*GRID, 3, 2))


def test_no_photo_is_refused():
    with pytest.raises(ValueError, match="no photo"):
        fit(LocalGaussian(torch.eye(3), GRID), ridge=RIDGE)
