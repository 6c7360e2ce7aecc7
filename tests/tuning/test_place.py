"""How fixed places are, against its definition, and what follows from it."""

import numpy as np
import pytest
import torch

from inspect_core.methods.registry import ANYWHERE, FIXED, IN_TILES, LOOSE
from inspect_core.tuning.place import PLACED, SCATTERED, explained_by_place, preferred, preferred_in_tiles

H, W = 4, 3


def explained(x: np.ndarray) -> float:
    return explained_by_place(torch.from_numpy(x)[:, None])


@pytest.mark.parametrize(("spread", "n"), [(0.0, 30), (0.5, 30), (5.0, 4), (5.0, 300)])
def test_the_share_that_places_explain_is_leave_one_out(spread, n):
    """spread: of the means of places, in spreads of what is seen at one of them."""
    rng = np.random.default_rng(0)
    x = (spread * rng.standard_normal((H, W, 5)) + rng.standard_normal((n, H, W, 5))).astype(np.float32)
    total = ((x - x.mean(axis=(0, 1, 2))) ** 2).sum(axis=-1).mean()
    left = sum(((photo - np.delete(x, i, axis=0).mean(axis=0)) ** 2).sum() for i, photo in enumerate(x))
    assert explained(x) == pytest.approx(1 - left / (total * n * H * W), abs=1e-6)


def test_one_photo_or_equal_features_explain_nothing():
    for x in (np.random.default_rng(0).standard_normal((1, H, W, 5)), np.ones((9, H, W, 5))):
        assert explained(x.astype(np.float32)) == -np.inf


def test_it_names_the_detector_to_begin_with():
    every = ("nearest", FIXED, LOOSE, ANYWHERE)
    places = (PLACED, PLACED - 0.01, SCATTERED + 0.01, SCATTERED, -np.inf, None)
    assert [preferred(place, every) for place in places] == [FIXED, LOOSE, LOOSE, ANYWHERE, ANYWHERE, LOOSE]
    assert preferred(PLACED, ("nearest", LOOSE)) == LOOSE
    fixed, loose, scattered = IN_TILES
    assert [preferred_in_tiles(place) for place in (PLACED, 0.3, 0.0, None)] == [fixed, loose, scattered, fixed]
    assert preferred(0.9, ("nearest", "quadrics")) == "nearest"
