"""What the methods that learn components take of many patches."""

import numpy as np
import pytest
import torch

from inspect_core.methods.method import Patches
from inspect_core.methods.registry import METHODS

GRID, WIDTH = (4, 5), 6


@pytest.mark.parametrize("name", ["corp", "cop", "pca"])
@pytest.mark.parametrize("most", [None, 1000, 20])
def test_patches_are_taken_evenly_from_all_photos_and_places(name, most):
    row, photos = METHODS[name], 12
    features = torch.from_numpy(np.random.default_rng(0).standard_normal((photos, *GRID, WIDTH)).astype(np.float32))
    parameters = {**row.defaults, "most_patches": most}
    statistics = row.begin(Patches(photos, GRID, WIDTH), None, 0, parameters)
    for first in range(0, photos, 5):
        numbers = range(photos)[first : first + 5]
        row.update(statistics, features[first : first + 5], numbers)
    every = 1 if most != 20 else 12
    assert statistics.every == every
    sampled = [patches[i % every :: every][: 20 // every] for i, patches in enumerate(features.flatten(1, 2))]
    plain = row.begin(Patches(photos, GRID, WIDTH), None, 0, {**parameters, "most_patches": None})
    plain.update(torch.cat(sampled))
    assert statistics.count == plain.count == photos * (20 // every)
    ours, other = (fitted.finish().eigenvalues for fitted in (statistics, plain))
    torch.testing.assert_close(ours, other, rtol=1e-4, atol=1e-5)
