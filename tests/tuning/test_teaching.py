"""Which detector an order without one is given."""

import shutil
import warnings
from dataclasses import replace

import numpy as np
import pytest

from inspect_core.datasets.folders import scan, split
from inspect_core.datasets.splitting import Split, train_on_all
from inspect_core.features.backbones import Backbone
from inspect_core.features.store import FeatureStore
from inspect_core.images.tolerances import DEFAULT_TOLERANCES
from inspect_core.methods.registry import FIXED, LOOSE, known_parameters, title_of
from inspect_core.study.study import Study
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning import shortlist, teaching, teaching_plan
from inspect_core.tuning.place import PLACED

pytestmark = [pytest.mark.usefixtures("unhurried"), pytest.mark.filterwarnings("ignore::UserWarning")]
QUICK = {"k": 8, "patches": 300, "components": 8, "m": 8}


def order(photos: Split, **options) -> TeachingConfig:
    small = {"taps": "expansions", "size": (128, 128), "grid": (8, 8)}
    return TeachingConfig("flange", photos, product_check="off", device="cpu", **small, **options)


def teach(asked: TeachingConfig, store: FeatureStore) -> teaching.TeachingResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return teaching.teach(asked, store, lambda fraction, step: None)


@pytest.mark.slow
@pytest.mark.parametrize("place", [PLACED, PLACED - 0.01])
def test_the_place_of_parts_names_the_detector_as_taught_alone(product, tmp_path, monkeypatch, place):
    monkeypatch.setattr(teaching_plan, "place_of", lambda study: place)
    photos = train_on_all(split(scan(product), seed=0))
    first = teach(order(photos), FeatureStore(tmp_path / "first"))
    refit = teach(order(photos, method=str(first.study.method)), FeatureStore(tmp_path / "again"))
    assert first.study.method == (FIXED if place == PLACED else LOOSE)
    assert title_of(first.study.method) in first.detector_reason
    assert "Compare tries all others" in first.detector_reason
    assert first.study.live == refit.study.live
    assert np.array_equal(first.study.scores(), refit.study.scores())


def test_a_detector_that_was_named_is_taken_without_a_word(backbone, product, tmp_path):
    photos = split(scan(product), seed=0)
    result = teach(order(photos, method="mahalanobis+quadrics", parameters={"k": 8}), FeatureStore(tmp_path))
    assert (result.study.method, result.detector_reason) == ("mahalanobis+quadrics", None)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mahalanobis", "kernel_pca", "mahalanobis+quadrics"])
def test_a_named_detector_begins_at_its_defaults(product, tmp_path, method):
    photos = train_on_all(split(scan(product), seed=0))
    quick = {name: QUICK[name] for name in QUICK if name in known_parameters(method)}
    result = teach(order(photos, method=method, parameters=quick), FeatureStore(tmp_path))
    study = result.study
    backbone, taps = study.order.network(study.methods)
    single = Study.from_photos(
        photos,
        backbone,
        FeatureStore(tmp_path),
        method=method,
        parameters=quick,
        grid=(8, 8),
        taps=taps,
        tolerances=DEFAULT_TOLERANCES,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        single = single.fit()
    assert study.live == single.live
    assert np.array_equal(study.scores(), single.scores())


@pytest.mark.slow
def test_known_defects_choose_among_candidates_fitted_once(product, tmp_path, monkeypatch):
    monkeypatch.setattr(shortlist, "CANDIDATES", ("mahalanobis", "nearest", "mahalanobis+nearest"))
    fits, fit = [], Study.fit
    monkeypatch.setattr(Study, "fit", lambda study, *a, **b: fits.append(study.methods) or fit(study, *a, **b))
    described, describe = [], Backbone.describe
    monkeypatch.setattr(
        Backbone, "describe", lambda net, images: described.append(len(images)) or describe(net, images)
    )
    photos = train_on_all(split(scan(product), seed=0))
    known = [sample for sample in photos.test if sample.label != "good"]
    judge = tuple(sample for sample in photos.test if sample not in known[::2])
    result = teach(order(replace(photos, validation=tuple(known[::2]), test=judge)), FeatureStore(tmp_path))
    assert fits == [("mahalanobis", "nearest")]
    assert described == [], "the product check takes the embeddings of the run that gave the features"
    assert result.study.method in shortlist.CANDIDATES
    assert f"{len(known[::2])} known defects" in result.detector_reason
    assert "synthetic" not in result.detector_reason
    assert result.study.default_limits()


def test_too_few_photos_to_compare_are_told(backbone, product, tmp_path):
    result = teach(order(Split(split(scan(product), seed=0).train[:2], (), ())), FeatureStore(tmp_path))
    assert result.study.method == teaching_plan.DEFAULT_METHOD
    assert result.detector_reason.startswith("Too few photos")


@pytest.mark.parametrize("when", ["before", "while it is taught"])
def test_a_folder_that_is_moved_is_named(product, tmp_path, when):
    """Not taught from what was read so far, and not ended by what its absence breaks somewhere."""
    root = shutil.copytree(product, tmp_path / "flange")
    asked = order(split(scan(root), seed=0), method="mahalanobis", parameters={"k": 8})
    reported = []

    def move(fraction: float, step: str) -> None:
        reported.append(step)
        if when != "before" and len(reported) == 4:
            root.rename(tmp_path / "elsewhere")

    if when == "before":
        root.rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=r"photos of flange are gone from .*flange .*: the folder was moved"):
        teaching.teach(asked, FeatureStore(tmp_path / "store"), move)
