"""Which detector an order without one is given."""

import warnings

import numpy as np
import pytest

from inspect_core.features.store import Store
from inspect_core.images.folders import scan, split
from inspect_core.images.splitting import Split
from inspect_core.tuning import teaching
from inspect_core.tuning.comparison import CHEAP
from inspect_core.tuning.order import Order

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def order(photos: Split, **options) -> Order:
    small = {"taps": "expansions", "size": (128, 128), "grid": (8, 8)}
    return Order("flange", photos, guard="off", device="cpu", **small, **options)


def teach(asked: Order, store: Store) -> teaching.Taught:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return teaching.teach(asked, store, lambda fraction, step: None)


def test_the_same_photos_are_given_the_same_detector_and_the_reason(exported, backbone, product, tmp_path):
    photos = split(scan(product), seed=0)
    first, again = (teach(order(photos), Store(tmp_path / name)) for name in ("first", "again"))
    assert first.study.method in CHEAP
    assert first.choice
    assert (first.study.method, first.choice, first.study.live) == (
        again.study.method, again.choice, again.study.live
    )  # fmt: skip
    assert np.array_equal(first.study.scores(), again.study.scores())


def test_a_detector_that_was_named_is_taken_without_a_word(exported, backbone, product, tmp_path):
    photos = split(scan(product), seed=0)
    taught = teach(order(photos, method="mahalanobis+quadrics", parameters={"k": 8}), Store(tmp_path))
    assert (taught.study.method, taught.choice, taught.suggestion) == ("mahalanobis+quadrics", None, None)


@pytest.mark.parametrize("method", ["mahalanobis", "kernel_pca", "mahalanobis+quadrics"])
def test_few_good_photos_are_all_learned_from_and_set_the_limit_unseen(exported, backbone, product, tmp_path, method):
    photos = split(scan(product), seed=0)
    taught = teach(order(photos, method=method, parameters={"patches": 300} if method == "kernel_pca" else {}),
                   Store(tmp_path))  # fmt: skip
    study = taught.study
    assert len(study.split.fit) == len(photos.fit) + len(photos.calibrate)
    assert len(study.calibration_scores()) == len(study.split.fit)
    assert f"{len(photos.calibrate)} good photos are too few to set a limit" in taught.notes[-1]
    assert (taught.suggestion is None) == ("+" in method)
    if taught.suggestion is not None:
        assert study.live == dict(taught.suggestion.live)
    left_out = study.left_out(study.photos[0])
    assert len(left_out) == len(study.methods)
    assert all(own.detector is not view.detector for own, view in zip(left_out, study.scored.views, strict=True))
    assert study.left_out(study.photos[0], but=0) == (None, *left_out[1:])
    assert study.left_out(study.photos[-1]) == ()
    seen = study.scored.with_areas(None)
    for photo in study.scored.photos[:3]:
        own = study.scored_photo(photo.sample, "added")
        seen = seen.with_photo(*own)
        assert seen.scores()[-1] != study.scores()[study.scored.index(photo.name)], "it had been learned from"


def test_too_few_photos_to_compare_are_told(exported, backbone, product, tmp_path):
    taught = teach(order(Split(split(scan(product), seed=0).fit[:2], (), ())), Store(tmp_path))
    assert taught.study.method == teaching.ALONE
    assert taught.choice.startswith("Too few photos")
