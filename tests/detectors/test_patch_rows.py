import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.detectors.patch_rows import blocks, stratified_sample


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), st.integers(1, 20), st.integers(1, 300), st.integers(0, 50))
def test_sample_is_even_over_images_without_replacement(images, patches, size, seed):
    indices = stratified_sample(images, patches, size, seed=seed)
    assert len(indices) == min(size, images * patches)
    assert (np.diff(indices) > 0).all()
    counts = np.bincount(indices // patches, minlength=images)
    assert counts.max() - counts.min() <= 1


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 12), st.integers(1, 20), st.integers(1, 100), st.integers(0, 100))
def test_a_smaller_sample_is_part_of_a_larger_one(images, patches, size, more):
    small = stratified_sample(images, patches, size, seed=3)
    assert set(small) <= set(stratified_sample(images, patches, size + more, seed=3))


def test_seed_decides():
    one = stratified_sample(5, 1000, 100, seed=0)
    assert np.array_equal(one, stratified_sample(5, 1000, 100, seed=0))
    assert not np.array_equal(one, stratified_sample(5, 1000, 100, seed=1))


def test_every_patch_is_as_likely():
    hits = np.zeros(12)
    for seed in range(2000):
        hits[stratified_sample(3, 4, 5, seed=seed)] += 1
    assert np.abs(hits / 2000 - 5 / 12).max() < 0.05


@pytest.mark.parametrize("arguments", [(0, 4, 5), (3, 0, 5), (3, 4, 0)])
def test_sizes_below_one_are_refused(arguments):
    with pytest.raises(ValueError, match="is 0; give at least 1"):
        stratified_sample(*arguments)


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
