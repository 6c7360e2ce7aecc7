"""Patches as rows, scored in blocks that respect images."""

from collections.abc import Callable

import torch
from torch import Tensor

from inspect_core.runtime.threads import parallel_map

ROWS = 512
"""Rows of a block on a CPU: the matrices of one photo on a 32 x 32 grid are shared by two cores."""
ROWS_ON_GPU = 4096


def score_rows(x: Tensor, score: Callable[[Tensor], Tensor]) -> Tensor:
    """`score` of all rows of x (..., d): it takes (b, d) and gives (..., b); the result ends in x.shape[:-1].

    Memory beyond the result is bounded by a block for each core. With more than one leading axis no block spans two
    entries of the first, so an image goes through the same matrix products, and scores the same to the bit, alone and
    in a batch. On a CPU the cores share the blocks.
    """
    on_gpu = x.device.type != "cpu"
    images = x.unsqueeze(0) if x.ndim == 2 else x
    rows = [image.reshape(-1, x.shape[-1]).split(ROWS_ON_GPU if on_gpu else ROWS) for image in images]
    blocks = [block for of_image in rows for block in of_image] or [x.reshape(-1, x.shape[-1])]
    scores = [score(block) for block in blocks] if on_gpu else parallel_map(score, blocks)
    return torch.cat(scores, dim=-1).unflatten(-1, x.shape[:-1])
