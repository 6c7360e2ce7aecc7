"""Which detector an order without one is given."""

import warnings

import numpy as np
import pytest

from inspect_core.features.store import Store
from inspect_core.images.folders import scan, split
from inspect_core.images.splitting import Split, learned_from_all
from inspect_core.images.tolerances import CAREFUL
from inspect_core.methods.table import known_parameters
from inspect_core.study.order import Order
from inspect_core.study.study import Study
from inspect_core.tuning import compare, comparison, teaching

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
QUICK = {"k": 8, "patches": 300, "components": 8, "m": 8}


@pytest.fixture(autouse=True)
def few_defects_pasted(monkeypatch):
    monkeypatch.setattr(compare, "PASTED", 14)


def order(photos: Split, **options) -> Order:
    small = {"taps": "expansions", "size": (128, 128), "grid": (8, 8)}
    return Order("flange", photos, product_check="off", device="cpu", **small, **options)


def teach(asked: Order, store: Store) -> teaching.Taught:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return teaching.teach(asked, store, lambda fraction, step: None)


def test_the_same_photos_are_given_the_same_detector_and_the_reason(exported, product, tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "CANDIDATES", ("mahalanobis+nearest", "mahalanobis", "nearest"))
    photos = learned_from_all(split(scan(product), seed=0))
    first, again = (teach(order(photos), Store(tmp_path / name)) for name in ("first", "again"))
    assert first.study.method in comparison.CANDIDATES
    assert first.choice
    assert (first.study.method, first.choice) == (again.study.method, again.choice)
    assert first.study.live == again.study.live
    assert np.array_equal(first.study.scores(), again.study.scores())


def test_a_detector_that_was_named_is_taken_without_a_word(exported, backbone, product, tmp_path):
    photos = split(scan(product), seed=0)
    taught = teach(order(photos, method="mahalanobis+quadrics", parameters={"k": 8}), Store(tmp_path))
    assert (taught.study.method, taught.choice) == ("mahalanobis+quadrics", None)


@pytest.mark.parametrize("method", ["mahalanobis", "kernel_pca", "mahalanobis+quadrics"])
def test_a_named_detector_begins_at_its_defaults(exported, product, tmp_path, method):
    photos = learned_from_all(split(scan(product), seed=0))
    quick = {name: QUICK[name] for name in QUICK if name in known_parameters(method)}
    taught = teach(order(photos, method=method, parameters=quick), Store(tmp_path))
    study = taught.study
    backbone, taps = study.order.network(study.methods)
    alone = Study(
        photos, backbone, Store(tmp_path), method=method, parameters=quick, grid=(8, 8), taps=taps, tolerances=CAREFUL
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        alone.fit()
    assert study.live == alone.live
    assert np.array_equal(study.scores(), alone.scores())


def test_candidates_are_fitted_once_and_the_one_chosen_is_not_fitted_again(exported, product, tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "CANDIDATES", ("mahalanobis", "nearest", "mahalanobis+nearest"))
    fits, fit = [], Study.fit
    monkeypatch.setattr(Study, "fit", lambda study, *a, **b: fits.append(study.methods) or fit(study, *a, **b))
    taught = teach(order(learned_from_all(split(scan(product), seed=0))), Store(tmp_path))
    assert fits == [("mahalanobis", "nearest")]
    assert taught.study.method in comparison.CANDIDATES
    assert taught.study.default_limits()


def test_too_few_photos_to_compare_are_told(exported, backbone, product, tmp_path):
    taught = teach(order(Split(split(scan(product), seed=0).fit[:2], (), ())), Store(tmp_path))
    assert taught.study.method == teaching.FIRST
    assert taught.choice.startswith("Too few photos")
