"""Difference hashes and groups of near-duplicates."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.images.duplicates import HASH_GRID, NEAR, difference_hash, near_duplicates


def test_hash_by_hand_and_that_it_ignores_exposure():
    grey = np.zeros(HASH_GRID, dtype=np.uint8)
    grey[:, 1] = 5
    bits = np.unpackbits(difference_hash(grey).view(np.uint8)).reshape(16, 16)
    assert bits[:, 0].all()
    assert not bits[:, 1:].any()
    grey = np.random.default_rng(0).integers(0, 100, HASH_GRID, dtype=np.uint8)
    assert np.array_equal(difference_hash(grey), difference_hash(2 * grey + 20))


@given(st.integers(0, 10**6), st.integers(0, 30))
@settings(deadline=None, max_examples=50)
def test_groups_are_the_connected_components(seed, count):
    rng = np.random.default_rng(seed)
    bits = rng.random((count, 256)) < 0.5
    for row in range(count):
        if rng.random() < 0.6:
            bits[row] = bits[rng.integers(count)] ^ (rng.random(256) < 0.02)
    near = (bits[:, None] != bits).sum(axis=-1) <= NEAR
    reach = near
    for _ in range(count):
        reach = reach @ near
    expected = sorted({tuple(np.flatnonzero(row).tolist()) for row in reach})
    hashes = np.packbits(bits, axis=1).view(np.uint64).reshape(count, 4)
    assert near_duplicates(hashes) == [list(group) for group in expected if len(group) > 1]
