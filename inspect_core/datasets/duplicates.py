"""Images that are nearly the same: copies, and photographs of a part that did not move in between."""

from collections.abc import Callable, Iterator

import numpy as np

HASH_GRID = (16, 17)  # thumbnail rows and columns: 16 × 16 comparisons, 256 bits
HASH_BITS = 256
BLOCK = 256  # rows compared with all others at a time
NEAR, EXACT = 10, 1  # bits
FEWEST = 4
"""Photos from which on it is known how near they usually are."""
_THUMBNAIL_LEVELS = 2
"""Grey levels by which a thumbnail changes at most where its photo is saved once more."""
_MOST_USUAL = 8
"""Good photos of which it is measured how far they are from their nearest other."""


def difference_hash(thumbnail: np.ndarray) -> np.ndarray:
    """The hash `(4,)` uint64 of a `HASH_GRID` thumbnail: for each pixel, is its right neighbour brighter?

    A change of exposure, size or compression alters few of the 256 bits.
    """
    return np.packbits(thumbnail[:, 1:] > thumbnail[:, :-1]).view(np.uint64)


def near_duplicates(hashes: np.ndarray) -> list[list[int]]:
    """The groups, of two rows and more, in which every row is nearly another one, in memory that grows as the rows.

    hashes: (n, 4) uint64. Of 256 bits, halved, brightened and strongly compressed copies differ by 5 to 17, most by
    less than 10. Parts in one fixture may be as near without being copies, so what counts is also how near the photos
    usually are: two are copies when they differ by at most NEAR bits and by no more than a third of the usual distance
    of a photo from its nearest other.
    """
    if not len(hashes):
        return []
    distinct, row_to_distinct, counts = np.unique(hashes, axis=0, return_inverse=True, return_counts=True)
    nearest = np.zeros(len(distinct), int)
    for first, apart in _distances(distinct):
        nearest[first : first + len(apart)] = apart.min(axis=1)
    nearest[counts > 1] = 0
    usual = float(np.median(np.repeat(nearest, counts))) / 3
    most = max(min(NEAR, usual) if len(hashes) >= FEWEST else 0, EXACT)
    group = np.arange(len(distinct))
    for first, apart in _distances(distinct):
        near = apart <= most
        lowest, highest = (reduced.reduce(np.where(near, group, ends), axis=1) for reduced, ends in
                           ((np.minimum, len(group)), (np.maximum, -1)))  # fmt: skip
        of_rows = group[first : first + len(apart)]
        for row in np.flatnonzero(np.minimum(lowest, of_rows) != np.maximum(highest, of_rows)):
            groups = np.append(group[near[row]], group[first + row])
            if (groups != groups[0]).any():  # all that is near one row is one group with it
                group[np.isin(group, groups)] = groups.min()
    of_row = group[row_to_distinct.ravel()]
    order = np.argsort(of_row, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(of_row[order])) + 1)
    return sorted(rows.tolist() for rows in members if len(rows) > 1)


def _distances(hashes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (first row, (BLOCK, n) of bits by which these rows differ from all), a row from itself by HASH_BITS."""
    words = np.ascontiguousarray(hashes.T)
    for first in range(0, len(hashes), BLOCK):
        apart = np.zeros((len(hashes[first : first + BLOCK]), len(hashes)), np.int16)
        for word in words:
            apart += np.bitwise_count(word[first : first + BLOCK, None] ^ word)
        rows = np.arange(len(apart))
        apart[rows, first + rows] = HASH_BITS
        yield first, apart


def same_pictures(
    good: np.ndarray, defective: np.ndarray, difference: Callable[[bool, int, int], float]
) -> dict[int, int]:
    """The good photos that are defective ones saved once more, by their rows: those that differ from the defective one
    that is most like them by a third at most of what good photos differ by from their nearest other.

    good, defective: thumbnails (n, rows, columns); difference(is_good, row, other): the mean difference in grey levels
    of a good photo from another good one, or from a defective one; infinite for photos of different sizes.
    """
    if not len(good) or not len(defective):
        return {}
    like = {}
    for row, thumbnail in enumerate(good.astype(np.int32)):
        apart = np.abs(defective - thumbnail).max(axis=(1, 2))
        if apart.min() <= _THUMBNAIL_LEVELS:
            like[row] = int(apart.argmin())
    if not like:
        return {}
    usual = []
    for row in np.linspace(0, len(good) - 1, min(len(good), _MOST_USUAL)).round().astype(int):
        apart = np.abs(good.astype(np.int32) - good[row].astype(np.int32)).sum(axis=(1, 2))
        apart[row] = np.iinfo(apart.dtype).max
        usual.append(difference(True, int(row), int(apart.argmin())) if len(good) > 1 else 0.0)
    finite = [value for value in usual if np.isfinite(value)]
    most = float(np.median(finite)) / 3 if finite else 0.0
    return {row: other for row, other in like.items() if difference(False, row, other) <= most}
