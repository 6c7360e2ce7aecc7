import numpy as np
import pytest
import torch

from inspect_core.detectors.patch_rows import blocks


@pytest.mark.parametrize("shape", [(10, 3), (4, 5, 3), (2, 3, 4, 3), (0, 3), (0, 2, 2, 3)])
def test_blocks_cover_all_rows_once_in_order(shape):
    x = torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(shape)
    out = torch.full((x.shape[:-1].numel(), 3), -1.0)
    for place, block in blocks(x, rows=4):
        assert len(block) <= 4
        out[place] = block
    assert torch.equal(out, x.reshape(-1, 3))


def test_no_block_spans_two_images():
    sizes = [len(block) for _, block in blocks(torch.zeros(3, 5, 2, 7), rows=8)]
    assert sizes == [8, 2] * 3
