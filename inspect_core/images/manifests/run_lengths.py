"""Masks as COCO writes them: lengths of runs, column by column, the first of pixels that are not marked.

Compressed, the lengths are text (`rleToString` in cocoapi, common/maskApi.c): from the fourth on each is the difference
to the last but one, in groups of five bits, least significant first, a sixth bit saying that more follow, 48 added.
"""

from collections.abc import Sequence

import numpy as np


def decoded(counts: Sequence[int] | str, size: tuple[int, int]) -> np.ndarray:
    """(H, W) bool of uncompressed or compressed lengths. size: (height, width).

    Raises ValueError for lengths that are not whole numbers from 0, or do not add up to all pixels.
    """
    lengths = _uncompressed(counts) if isinstance(counts, str) else list(counts)
    height, width = size
    if not all(type(length) is int and 0 <= length <= height * width for length in lengths):
        raise ValueError("a run length is not between 0 and the number of pixels")
    if sum(lengths) != height * width:
        raise ValueError(f"the runs cover {sum(lengths):,} pixels of {height * width:,}")
    marked = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
    return marked.reshape(width, height).T


def _uncompressed(text: str) -> list[int]:
    lengths: list[int] = []
    value = shift = 0
    for sign in text:
        group = ord(sign) - 48
        if not 0 <= group < 64 or shift > 60:
            raise ValueError("the runs are not in COCO's compressed format")
        value |= (group & 31) << shift
        shift += 5
        if group & 32:
            continue
        if group & 16:
            value -= 1 << shift
        lengths.append(value + (lengths[-2] if len(lengths) > 2 else 0))
        value = shift = 0
    if shift:
        raise ValueError("the runs end in the middle of one")
    return lengths
