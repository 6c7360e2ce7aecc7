"""Batches of one size: how large, in whose company an image is, and what happens when the memory does not suffice."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from inspect_core.features import gpu_batches
from inspect_core.features.gpu_batches import largest_batch
from tests.eager import SIZE, batches_of, network

GPU = torch.device("cuda", 0)
IMAGES = np.random.default_rng(3).integers(0, 256, (11, *SIZE, 3), np.uint8)
GIB = 1 << 30


@pytest.mark.parametrize(
    ("gib", "size", "expected"),
    [(80, (256, 256), 64), (16, (256, 256), 64), (8, (256, 256), 32), (24, (512, 512), 16), (1, (1024, 1024), 1)],
)
def test_a_batch_takes_a_quarter_of_the_memory_at_most(monkeypatch, gib, size, expected):
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(total_memory=gib * GIB))
    assert largest_batch(GPU, size) == expected


@pytest.fixture
def small():
    return network(torch.device("cpu"))


def test_a_tensor_is_the_same_in_full_mixed_and_last_batches(small):
    def run(images):
        return batches_of(small).run(images, lambda outputs: outputs, head=True)

    together, backwards = run(IMAGES), run(IMAGES[::-1].copy())
    singles = [run(image[None]) for image in IMAGES]
    *maps, logits = (torch.cat(parts) for parts in zip(*singles, strict=True))
    assert all(torch.equal(single, values) for single, values in zip(maps, together, strict=False))
    # The matrix products of some CPUs depend on the place of a row; `test_on_gpu` compares the bits of a GPU.
    torch.testing.assert_close(logits, together[-1], rtol=0, atol=1e-6)
    for turned, values in zip(backwards[:-1], together, strict=False):
        assert torch.equal(turned.flip(0), values)
    torch.testing.assert_close(backwards[-1].flip(0), together[-1], rtol=0, atol=1e-6)


def test_nothing_gives_outputs_of_no_rows(small):
    assert [len(values) for values in batches_of(small).run(IMAGES[:0], lambda outputs: outputs, head=True)] == [0] * 4


def short_of_memory(most: int):
    """A `transform` for which the memory of a GPU suffices for so many images at once."""

    def transform(outputs):
        if len(outputs[0]) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return outputs

    return transform


def test_short_of_memory_the_batch_is_halved_once_and_told(small, monkeypatch):
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    batches = batches_of(small)
    with pytest.warns(UserWarning, match="takes 4 photos at once, half as many"):
        halved = batches.run(IMAGES, short_of_memory(4), head=False)
    assert batches.at_once == 4
    assert "half as many" in batches.remark
    expected = batches_of(small, at_once=4).run(IMAGES, lambda outputs: outputs, head=False)
    assert all(torch.equal(ours, reference) for ours, reference in zip(halved, expected, strict=True))
    with pytest.raises(ValueError, match="does not suffice for 4 photos at once; close what else uses the GPU"):
        batches.run(IMAGES, short_of_memory(2), head=False)


def test_full_precision_is_set_for_the_process(small, monkeypatch):
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", True)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    gpu_batches.use_full_precision()
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32


def test_factorising_is_loaded_before_threads_need_it(small, monkeypatch):
    needed = []
    monkeypatch.setattr(torch.linalg, "cholesky_ex", lambda matrix: needed.append((matrix.shape, matrix.device.type)))
    batches_of(small)
    assert needed == [((1, 1), "cpu")]
