import numpy as np
import pytest
import torch

from inspect_core.detectors.patch_rows import ROWS, score_rows


@pytest.mark.parametrize("shape", [(2000, 3), (4, 5, 3), (2, 30, 40, 3), (0, 3), (0, 2, 2, 3)])
def test_all_rows_are_scored_once_in_order(shape):
    x = torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(shape)
    assert torch.equal(score_rows(x, lambda block: block.sum(-1)), x.sum(-1))
    assert torch.equal(score_rows(x, lambda block: block.T), x.movedim(-1, 0))


def test_no_block_spans_two_images():
    sizes = []
    score_rows(torch.zeros(3, ROWS // 2 + 1, 2, 7), lambda block: sizes.append(len(block)) or block[:, 0])
    assert sorted(sizes) == [2] * 3 + [ROWS] * 3
