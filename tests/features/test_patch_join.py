"""The patches of the graph against those of torch, joined by `patch_grid.join_taps` from the maps at the taps."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.features.patch_join import PatchFeatureSpec, PatchJoin
from tests.examples import examples

SIDES = st.integers(1, 27)


def images_of(backbone, count=2):
    return np.random.default_rng(0).integers(0, 256, (count, *backbone.size, 3), np.uint8)


def looks_of(backbone, pool):
    """As they are, and projected, over all taps and over some."""
    taps, rng = backbone.taps, np.random.default_rng(1)
    wide = rng.normal(size=(sum(backbone.tap_channels), 6)).astype(np.float32)
    return PatchFeatureSpec(taps, pool=pool), PatchFeatureSpec(taps, wide, pool), PatchFeatureSpec(taps[:1], pool=1)


@settings(max_examples=examples(40), deadline=None)
@given(grid=st.tuples(SIDES, SIDES), nearest=st.booleans(), pool=st.sampled_from([1, 3]))
def test_the_graph_gives_what_torch_joins(small_backbone, grid, nearest, pool):
    join = PatchJoin(looks_of(small_backbone, pool), grid, nearest)
    images = images_of(small_backbone)
    expected = join.of_maps(small_backbone.taps, small_backbone.tap_maps(images))
    for patches, reference in zip(small_backbone.run(images, join), expected, strict=True):
        assert patches.shape == reference.shape
        torch.testing.assert_close(patches, reference, rtol=0, atol=2e-5 * float(reference.abs().max()))


def test_patches_come_with_the_embedding_and_the_logits(small_backbone):
    join, images = PatchJoin(looks_of(small_backbone, 3), (8, 8)), images_of(small_backbone)
    *patches, embedding, logits = small_backbone.run(images, join, head=True)
    assert all(torch.equal(*pair) for pair in zip(patches, small_backbone.run(images, join), strict=True))
    assert torch.equal(embedding, small_backbone.embed(images))
    assert len(logits) == 2


def test_a_photo_has_the_same_patches_alone_and_in_a_batch(small_backbone):
    join, images = PatchJoin(looks_of(small_backbone, 3), (8, 8)), images_of(small_backbone, 3)
    together = small_backbone.run(images, join)
    for number in range(3):
        single = small_backbone.run(images[number : number + 1], join)
        assert all(torch.equal(row[0], values[number]) for row, values in zip(single, together, strict=True))
        assert all(row.data_ptr() % 64 == 0 for row in single), "the last bit of a product may depend on it"


def test_what_several_detectors_see_is_written_once(small_backbone):
    (first, *_) = looks_of(small_backbone, 3)
    join = PatchJoin((first, PatchFeatureSpec(first.taps, pool=1), first), (8, 8))
    assert (len(join.distinct), join.places) == (2, (0, 1, 0))
    assert join.unpooled.places == (0, 0, 0)
    assert join.widths(small_backbone.channels) == (sum(small_backbone.tap_channels),) * 2
    patches = small_backbone.run(images_of(small_backbone), join)
    assert join.of_looks(patches)[0] is join.of_looks(patches)[2]


@pytest.mark.parametrize("changed", [{"grid": (8, 4)}, {"nearest_upsampling": True}])
def test_another_grid_is_another_graph(small_backbone, changed):
    looks = looks_of(small_backbone, 1)
    geometry = {"grid": (8, 8), "nearest_upsampling": False}
    assert PatchJoin(looks, **geometry).digest != PatchJoin(looks, **geometry | changed).digest
