"""Difference hashes and groups of near-duplicates."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.datasets.duplicates import HASH_GRID, NEAR, difference_hash, near_duplicates
from tests.examples import examples


def test_hash_by_hand_and_that_it_ignores_exposure():
    grey = np.zeros(HASH_GRID, dtype=np.uint8)
    grey[:, 1] = 5
    bits = np.unpackbits(difference_hash(grey).view(np.uint8)).reshape(16, 16)
    assert bits[:, 0].all()
    assert not bits[:, 1:].any()
    grey = np.random.default_rng(0).integers(0, 100, HASH_GRID, dtype=np.uint8)
    assert np.array_equal(difference_hash(grey), difference_hash(2 * grey + 20))


@given(st.integers(0, 10**6), st.integers(4, 40))
@settings(deadline=None, max_examples=examples(50))
def test_copies_are_found_only_with_their_twins(seed, count):
    rng = np.random.default_rng(seed)
    bits = rng.random((count, 256)) < 0.5
    copied = rng.permutation(count)[: count // 4]
    copies = bits[copied] ^ (rng.random((len(copied), 256)) < 0.01)
    hashes = np.packbits(np.concatenate([bits, copies]), axis=1).view(np.uint64)
    expected = [(bits[row] != copy).sum() <= NEAR for row, copy in zip(copied, copies, strict=True)]
    pairs = [[int(row), count + i] for i, row in enumerate(copied) if expected[i]]
    assert near_duplicates(hashes) == sorted(pairs)


def test_parts_of_a_fixture_that_look_alike_are_no_copies():
    rng = np.random.default_rng(1)
    part = rng.random(256) < 0.5
    flips = np.zeros((30, 256), bool)
    for row in flips:
        row[rng.permutation(256)[:4]] = True  # each 6 to 8 bits from its nearest
    hashes = np.packbits(part ^ flips, axis=1).view(np.uint64)
    assert near_duplicates(hashes) == []
    assert near_duplicates(np.concatenate([hashes, hashes[:1]])) == [[0, 30]]
    assert near_duplicates(hashes[:0]) == []


def test_many_rows_are_compared_in_blocks():
    hashes = np.random.default_rng(0).integers(0, 2**63, (700, 4)).astype(np.uint64)
    hashes[650] = hashes[3]
    assert near_duplicates(hashes) == [[3, 650]]
