"""Patches as rows, in blocks that respect images."""

from collections.abc import Iterator

from torch import Tensor


def blocks(x: Tensor, *, rows: int) -> Iterator[tuple[slice, Tensor]]:
    """Yield the rows of x (..., d) in blocks of at most `rows`, each with its place among all rows: (slice, (b, d)).

    With more than one leading axis no block spans two entries of the first, so an image goes through the same matrix
    products, and scores the same to the bit, alone and in a batch.
    """
    start = 0
    for image in x.unsqueeze(0) if x.ndim == 2 else x:
        for block in image.reshape(-1, x.shape[-1]).split(rows):
            yield slice(start, start + len(block)), block
            start += len(block)
