"""Patches as rows: in blocks that respect images, and as a seeded subsample drawn evenly over the images."""

from collections.abc import Iterator

import numpy as np
from torch import Tensor


def blocks(x: Tensor, *, rows: int) -> Iterator[tuple[slice, Tensor]]:
    """The rows of x (..., d) in blocks of at most `rows`, each with its place among all rows: (slice, (b, d)).

    With more than one leading axis no block spans two entries of the first, so an image goes through the same matrix
    products, and scores the same to the bit, alone and in a batch.
    """
    start = 0
    for image in x.unsqueeze(0) if x.ndim == 2 else x:
        for block in image.reshape(-1, x.shape[-1]).split(rows):
            yield slice(start, start + len(block)), block
            start += len(block)


def stratified_sample(n_images: int, patches_per_image: int, size: int, *, seed: int = 0) -> np.ndarray:
    """Indices of `size` patches into the (n_images · patches_per_image) patches of all images, sorted.

    Every image gives size // n_images patches or one more, without replacement, so the images of a stream can be
    sampled as they come by: image i owns the indices from i · patches_per_image on. A smaller size is a part of a
    larger one with the same seed. All patches when size reaches their number; int64.
    Raises ValueError when an argument is below 1.
    """
    for name, value in (("n_images", n_images), ("patches_per_image", patches_per_image), ("size", size)):
        if value < 1:
            raise ValueError(f"{name} is {value}; give at least 1")
    size = min(size, n_images * patches_per_image)
    order, *children = np.random.SeedSequence(seed).spawn(n_images + 1)
    counts = np.full(n_images, size // n_images)
    counts[np.random.default_rng(order).permutation(n_images)[: size % n_images]] += 1
    chosen = [
        image * patches_per_image + np.sort(np.random.default_rng(child).permutation(patches_per_image)[:count])
        for image, (child, count) in enumerate(zip(children, counts, strict=True))
    ]
    return np.concatenate(chosen)
