"""The forecast of teaching knows how many tiles a photo has."""

import itertools
from types import SimpleNamespace

import pytest

from inspect_core.features.extraction import Preparation
from inspect_core.features.store import Store
from inspect_core.images.tiles import TilePlan
from inspect_core.tuning import forecast as forecasts
from inspect_core.tuning.forecast import forecast

RUN = 0.02


@pytest.fixture
def seconds(monkeypatch, backbone, tmp_path):
    """Of teaching 30 photos and scoring 10, at RUN a run of the network."""
    clock = itertools.count(0.0, RUN)
    monkeypatch.setattr(forecasts, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    monkeypatch.setattr(Preparation, "features", lambda *_: None)
    monkeypatch.setattr(forecasts, "with_taps", lambda *_, **__: (backbone, [backbone.taps]))

    def of(tiles: TilePlan | None, method: str | None = "mahalanobis", **given) -> float:
        return forecast(
            "efficientnet_lite0", taps=None, size=(128, 128), grid=(16, 16), method=method, parameters={}, fit=30,
            shown=10, store=Store(tmp_path), tiles=tiles, **given,
        ).seconds  # fmt: skip

    return of


def test_a_photo_takes_as_many_runs_as_it_has_tiles(seconds):
    plan = TilePlan((512, 512), (128, 128), 64, 32)
    per_photo = (seconds(plan) - seconds(None)) / (30 + 10 + 24)
    assert len(plan.tiles) == 49
    assert per_photo == pytest.approx(48 * RUN, rel=0.05)


def test_without_a_detector_it_is_of_the_one_that_tiles_are_taught_with(seconds):
    plan = TilePlan((512, 512), (128, 128), 64, 32)
    assert seconds(plan, None) == pytest.approx(seconds(plan))


def test_limits_set_crosswise_take_at_most_two_fits_more(seconds):
    once, crossed = (seconds(None, "quadrics", crossed=crossed) for crossed in (False, True))
    photos = (30 + 10 + 24) * (RUN + forecasts.READING) + 30 * (RUN + forecasts.READING)
    assert once < crossed
    assert crossed - photos == pytest.approx(3 * (once - photos), rel=0.05)
