"""Images that are nearly the same: copies, and photographs of a part that did not move in between."""

import numpy as np

HASH_GRID = (16, 17)  # thumbnail rows and columns: 16 × 16 comparisons, 256 bits
HASH_BITS = 256
BLOCK = 256  # rows compared with all others at a time
NEAR, EXACT = 10, 1  # bits
FEWEST = 4
"""Photos from which on it is known how near they usually are."""


def difference_hash(thumbnail: np.ndarray) -> np.ndarray:
    """The hash `(4,)` uint64 of a `HASH_GRID` thumbnail: for each pixel, is its right neighbour brighter?

    A change of exposure, size or compression alters few of the 256 bits.
    """
    return np.packbits(thumbnail[:, 1:] > thumbnail[:, :-1]).view(np.uint64)


def near_duplicates(hashes: np.ndarray) -> list[list[int]]:
    """The groups, of two rows and more, in which every row is nearly another one.

    hashes: (n, 4) uint64. Of 256 bits, halved, brightened and strongly compressed copies differ by 5 to 17, most by
    less than 10. Parts in one fixture may be as near without being copies, so what counts is also how near the photos
    usually are: two are copies when they differ by at most NEAR bits and by no more than a third of the usual distance
    of a photo from its nearest other.
    """
    # Imported here: it takes 0.15 s, and no start of the app needs it.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(hashes)
    nearest = np.full(count, HASH_BITS)
    pairs = [np.zeros((0, 3), int)]
    for first in range(0, count, BLOCK):
        apart = np.bitwise_count(hashes[first : first + BLOCK, None] ^ hashes).sum(axis=2, dtype=int)
        rows = np.arange(len(apart))
        apart[rows, first + rows] = HASH_BITS
        nearest[first : first + BLOCK] = apart.min(axis=1)
        row, other = np.nonzero(apart <= NEAR)
        pairs.append(np.stack([row + first, other, apart[row, other]], axis=1))
    row, other, apart = np.concatenate(pairs).T
    most = min(NEAR, float(np.median(nearest)) / 3) if count >= FEWEST else 0
    near = apart <= max(most, EXACT)
    graph = coo_array((np.ones(near.sum()), (row[near], other[near])), shape=(count, count))
    groups = connected_components(graph, directed=False)[1] if count else np.zeros(0, int)
    return sorted(np.flatnonzero(groups == group).tolist() for group in np.unique(groups[row[near]]))
