from types import SimpleNamespace

import numpy as np
import pytest

from inspect_core.features.extraction import embed, stored_embedding
from inspect_core.features.store import FeatureStore


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 255, (70, 90, 3), np.uint8)


def unasked():
    raise AssertionError("the photo is read again")


def test_an_embedding_is_computed_once(small_backbone, tmp_path, pixels):
    store = FeatureStore(tmp_path)
    first = stored_embedding("a", lambda: pixels, small_backbone, store)
    assert (first == embed(pixels, small_backbone)).all()
    assert (stored_embedding("a", unasked, small_backbone, store) == first).all()


def test_another_photo_box_or_alignment_is_another_embedding(small_backbone, tmp_path, pixels):
    store, asked = FeatureStore(tmp_path), []

    def give():
        asked.append(1)
        return pixels

    others = [("a", {}), ("b", {}), ("a", {"box": (1, 2, 30, 40)}), ("a", {"alignment": SimpleNamespace(digest="x")})]
    for digest, more in (*others, *others):
        stored_embedding(digest, give, small_backbone, store, **more)
    assert len(asked) == 4
