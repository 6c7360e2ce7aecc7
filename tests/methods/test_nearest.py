import numpy as np
import torch

from inspect_core.methods.method import Patches
from inspect_core.methods.registry import METHODS

METHOD = METHODS["nearest"]
GRID, WIDTH = (5, 6), 4


def learned(photos: torch.Tensor, **chosen: float):
    """The detector of photos (n, 5, 6, 4)."""
    parameters = {**METHOD.defaults, "patches": 60, **chosen}
    statistics = METHOD.begin(Patches(len(photos), GRID, WIDTH), None, 0, parameters)
    METHOD.update(statistics, photos, range(len(photos)))
    return METHOD.finish(statistics, 0, parameters, lambda fraction: None)


def test_as_published_scores_are_distances_of_neighbourhoods():
    """In the unit of the features, whatever patches and neighbourhoods vary by."""
    drawn = torch.from_numpy(np.random.default_rng(0).standard_normal((3, *GRID, WIDTH)).astype(np.float32))
    good, new = drawn[:2], drawn[2:]
    detector = learned(good, centre_weight=METHOD.published["centre_weight"])
    around, of_good = (
        torch.nn.functional.avg_pool2d(photos.movedim(3, 1), 3, 1, 1).movedim(1, 3).reshape(-1, WIDTH)
        for photos in (new, good)
    )
    torch.testing.assert_close(
        detector.score(new).flatten(), torch.cdist(around, of_good).amin(1), rtol=1e-4, atol=1e-4
    )


def test_patches_and_neighbourhoods_weigh_alike_by_default():
    drawn = torch.from_numpy(np.random.default_rng(0).standard_normal((4, *GRID, WIDTH)).astype(np.float32))
    detector = learned(drawn)
    assert detector.centre == 1
    assert detector.surround > 1.5, "the mean of nine independent patches varies less"
