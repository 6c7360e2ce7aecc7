from types import SimpleNamespace

import numpy as np
import pytest
import torch

from inspect_core.features.extraction import Crop, FeatureExtractor, embed, embeddings_of, rows_of
from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.features.store import FeatureStore


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 255, (70, 90, 3), np.uint8)


def unasked():
    raise AssertionError("the photo is read again")


def test_an_embedding_is_computed_once(small_backbone, tmp_path, pixels):
    store = FeatureStore(tmp_path)
    [first] = embeddings_of([Crop("a", lambda: pixels)], small_backbone, store)
    assert (first == embed(pixels, small_backbone)).all()
    [repeated] = embeddings_of([Crop("a", unasked)], small_backbone, store)
    assert (repeated == first).all()


def test_another_photo_box_or_alignment_is_another_embedding(small_backbone, tmp_path, pixels):
    store, asked = FeatureStore(tmp_path), []

    def give():
        asked.append(1)
        return pixels

    crops = [Crop("a", give), Crop("b", give), Crop("a", give, (1, 2, 30, 40))]
    for alignment in (None, SimpleNamespace(digest="x"), None, SimpleNamespace(digest="x")):
        list(embeddings_of(crops if alignment is None else crops[:1], small_backbone, store, alignment))
    assert len(asked) == 4


def test_photos_of_a_batch_begin_where_a_photo_alone_does():
    """The last bit of a product may depend on where its memory begins."""
    rows = rows_of([torch.arange(5 * 3 * 7 * 3, dtype=torch.float32).reshape(5, 3, 7, 3)])
    assert [int(features[0, 0, 0, 0]) for (features,) in rows] == [0, 63, 126, 189, 252]
    assert all(features.data_ptr() % 64 == 0 for (features,) in rows)


def test_views_that_see_the_same_share_their_features(small_backbone, pixels):
    first, *others = small_backbone.taps
    looks = PatchFeatureSpec((first,), pool=3), PatchFeatureSpec((first, *others)), PatchFeatureSpec((first,), pool=3)
    features = FeatureExtractor(small_backbone, (8, 8), looks).features(pixels)
    assert features[0] is features[2]
    for spec, values in zip(looks, features, strict=True):
        [expected] = FeatureExtractor(small_backbone, (8, 8), (spec,)).features(pixels)
        assert torch.equal(values, expected)
