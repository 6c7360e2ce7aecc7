"""The forecast of teaching knows how many tiles a photo has."""

import itertools
from types import SimpleNamespace

import pytest

from inspect_core.features.extraction import Preparation
from inspect_core.features.store import Store
from inspect_core.images.folders import scan, split
from inspect_core.images.splitting import learned_from_all
from inspect_core.images.tiles import TilePlan
from inspect_core.methods.method import Workload
from inspect_core.methods.table import CANDIDATES, METHODS, methods_in
from inspect_core.tuning import forecast as forecasts
from inspect_core.tuning.forecast import forecast, of_order
from inspect_core.tuning.order import Order

RUN = 0.02


@pytest.fixture
def seconds(monkeypatch, backbone, tmp_path):
    """Of teaching 30 photos and scoring 10, at RUN a run of the network."""
    clock = itertools.count(0.0, RUN)
    monkeypatch.setattr(forecasts, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    monkeypatch.setattr(Preparation, "features", lambda *_: None)
    monkeypatch.setattr(forecasts, "with_taps", lambda *_, **__: (backbone, [backbone.taps]))

    def of(tiles: TilePlan | None = None, method: str = "mahalanobis", **given) -> float:
        return forecast(
            "efficientnet_lite0", taps=None, size=(128, 128), grid=(16, 16), methods=(method,), parameters={}, fit=30,
            shown=10, store=Store(tmp_path), tiles=tiles, **given,
        ).seconds  # fmt: skip

    return of


def test_a_photo_takes_as_many_runs_as_it_has_tiles(seconds):
    plan = TilePlan((512, 512), (128, 128), 64, 32)
    per_photo = (seconds(plan) - seconds()) / (30 + 10)
    assert len(plan.tiles) == 49
    assert per_photo == pytest.approx(48 * RUN, rel=0.05)


def test_every_fold_is_a_fit_more_and_its_photos_are_scored(seconds):
    once, folded = (seconds(None, "quadrics", folds=folds) for folds in (0, 10))
    place, width = 16 * 16, 256
    method, defaults = METHODS["quadrics"], METHODS["quadrics"].defaults
    fit, scoring = (method.costs(Workload(0, shown, place, width), defaults).seconds for shown in (0, 30))
    assert folded - once == pytest.approx(10 * fit + scoring - fit, rel=0.05)


def test_a_comparison_pastes_defects_and_judges_every_detector(seconds):
    one, three = (seconds(None, "mahalanobis", compared=compared) for compared in (1, 3))
    assert three - one == pytest.approx(2 * (forecasts.JUDGING + 10 * forecasts.JUDGING_PHOTO))
    assert one - seconds() > forecasts.PASTED * RUN


def test_an_order_without_a_detector_is_forecast_with_all_candidates(product):
    photos = learned_from_all(split(scan(product), seed=0))
    asked = of_order(Order("flange", photos))
    assert (asked["methods"], asked["compared"]) == (methods_in(CANDIDATES), len(CANDIDATES))
    assert (asked["fit"], asked["shown"], asked["folds"]) == (14, 7, 10)
    plan = TilePlan((512, 512), (128, 128), 64, 32)
    for order in (Order("flange", photos, tiles=plan), Order("flange", photos, method="mahalanobis")):
        assert (of_order(order)["methods"], of_order(order)["compared"]) == (("mahalanobis",), 0)
    assert of_order(Order("flange", photos), ("corp", "corp+nearest"))["methods"] == ("corp", "nearest")
    assert of_order(Order("flange", photos, budget=0.0))["compared"] == 1
