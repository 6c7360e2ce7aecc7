"""Images that are nearly the same: copies, and photographs of a part that did not move in between."""

import numpy as np

HASH_GRID = (16, 17)  # thumbnail rows and columns: 16 × 16 comparisons, 256 bits
NEAR = 10  # bits


def difference_hash(thumbnail: np.ndarray) -> np.ndarray:
    """The hash `(4,)` uint64 of a `HASH_GRID` thumbnail: for each pixel, is its right neighbour brighter?

    A change of exposure, size or compression alters few of the 256 bits.
    """
    return np.packbits(thumbnail[:, 1:] > thumbnail[:, :-1]).view(np.uint64)


def alike(first: np.ndarray, second: np.ndarray) -> float:
    """Share of the 256 bits in which two hashes `(4,)` agree."""
    return 1 - int(np.bitwise_count(first ^ second).sum()) / (64 * len(first))


def near_duplicates(hashes: np.ndarray) -> list[list[int]]:
    """The groups, of two rows and more, in which every row is within NEAR bits of another.

    hashes: (n, 4) uint64. Of 256 bits, halved, brightened and strongly compressed copies differ by 5 to 17, most by
    less than 10, different parts in one fixture by more than 20, one magnetic tile at several exposures by 3 to 20.
    """
    remaining = np.arange(len(hashes))
    groups = []
    while remaining.size:
        group, remaining = [int(remaining[0])], remaining[1:]
        for member in group:  # grows while it is walked: the neighbours of neighbours belong too
            near = np.bitwise_count(hashes[remaining] ^ hashes[member]).sum(axis=1) <= NEAR
            group.extend(remaining[near].tolist())
            remaining = remaining[~near]
        if len(group) > 1:
            groups.append(sorted(group))
    return groups
