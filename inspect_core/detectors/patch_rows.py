"""Patches as rows, scored in blocks that respect images."""

from collections.abc import Callable

import torch
from torch import Tensor

from inspect_core.runtime.threads import map_on

ROWS = 512
"""Rows of a block on a CPU: the matrices of one photo on a 32 x 32 grid are shared by two cores."""
ROWS_ON_GPU = 4096


def score_rows(x: Tensor, score: Callable[[Tensor], Tensor]) -> Tensor:
    """`score` of all rows of x (..., d): it takes (b, d) and gives (..., b); the result ends in x.shape[:-1].

    Memory beyond the result is bounded by a block for each core. With more than one leading axis no block spans two
    entries of the first, so an image goes through the same matrix products, and scores the same to the bit, alone and
    in a batch. On a CPU the cores share the blocks.
    """
    most = ROWS if x.device.type == "cpu" else ROWS_ON_GPU
    images = x.unsqueeze(0) if x.ndim == 2 else x
    blocks = [block for image in images for block in image.reshape(-1, x.shape[-1]).split(most)]
    scores = map_on(x.device)(score, blocks or [x.reshape(-1, x.shape[-1])])
    return torch.cat(list(scores), dim=-1).unflatten(-1, x.shape[:-1])
