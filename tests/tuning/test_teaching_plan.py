"""A plan knows which detectors come into question and what they cost."""

import itertools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.datasets.folders import scan, split
from inspect_core.datasets.splitting import Split, train_on_all
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.store import FeatureStore
from inspect_core.images.tiles import TilePlan
from inspect_core.methods.method import Workload
from inspect_core.methods.registry import CANDIDATES, FIXED, LOOSE, METHODS, methods_in
from inspect_core.study import time_estimates
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning import synthetic_trial, teaching_plan
from inspect_core.tuning.teaching_plan import ALONE, BY_DEFECTS, BY_PLACE, NAMED, TeachingPlan

RUN = 0.02


def photos(fit: int, shown: int, *, calibrate: bool = True) -> Split:
    """Of a split by their number: those to judge, or to set limits, are scored."""
    samples = tuple(PhotoFile(Path(f"{i}"), f"{i}", "good", (64, 64)) for i in range(fit + shown))
    scored = samples[fit:]
    return Split(samples[:fit], scored if calibrate else (), () if calibrate else scored)


@pytest.fixture
def seconds(monkeypatch, backbone, tmp_path):
    """Of teaching 30 photos and scoring 10, at RUN a run of the network."""
    wall, work = itertools.count(0.0, RUN), itertools.count(0.0, time_estimates.CORES * RUN)
    clocks = SimpleNamespace(perf_counter=lambda: next(wall), process_time=lambda: next(work))
    monkeypatch.setattr(time_estimates, "time", clocks)
    monkeypatch.setattr(FeatureExtractor, "features", lambda *_: None)
    monkeypatch.setattr(TeachingConfig, "network", lambda *_: (backbone, [backbone.taps]))

    def seconds_of(tiles: TilePlan | None = None, detectors=(), *, calibrate: bool = True, **arguments) -> float:
        order = TeachingConfig(
            "flange",
            photos(30, 10, calibrate=calibrate),
            size=(128, 128),
            grid=(16, 16),
            tiles=tiles,
            tolerances=None,
            **{"method": "quadrics"} | arguments,
        )
        store = FeatureStore(tmp_path)
        plan = TeachingPlan.to_compare(order, store, detectors) if detectors else TeachingPlan.from_order(order, store)
        return plan.cost().seconds

    return seconds_of


def test_a_photo_takes_as_many_runs_as_it_has_tiles(seconds):
    plan = TilePlan((512, 512), (128, 128), 64, 32)
    per_photo = (seconds(plan, method="mahalanobis") - seconds(method="mahalanobis")) / (30 + 10)
    assert len(plan.tiles) == 49
    assert per_photo == pytest.approx(48 * RUN, rel=0.05)


def test_a_slower_machine_takes_longer_for_all_of_it(seconds, monkeypatch, backbone):
    """By the root of what a run of the network takes longer, within bounds."""

    def at(pace):
        there = RUN / pace * time_estimates.RUN_SIDE**2 / 128**2
        monkeypatch.setattr(time_estimates, "RUN_THERE", {backbone.name: there})
        return seconds(method="quadrics", calibrate=False)

    runs = (30 + 10 + 30) * RUN
    assert at(4) - runs == pytest.approx(2 * (at(1) - runs), rel=0.05)
    assert at(100) == pytest.approx(at(time_estimates.PACES[1]))
    here = at(1)
    monkeypatch.setattr(time_estimates, "RUN_THERE", {})
    unknown = seconds(method="quadrics", calibrate=False)
    assert unknown == pytest.approx(here), "another network says nothing of the machine"


def test_every_fold_is_a_fit_more_and_its_photos_are_scored(seconds, monkeypatch):
    monkeypatch.setattr(time_estimates, "RUN_THERE", {})
    once, folded = (seconds(calibrate=calibrate) for calibrate in (True, False))
    place, width = 16 * 16, 256
    method, defaults = METHODS["quadrics"], METHODS["quadrics"].defaults
    fit, scoring = (method.costs(Workload(0, shown, place, width), defaults).seconds for shown in (0, 30))
    assert folded - once == pytest.approx(10 * fit + scoring - fit, rel=0.05)


def test_a_comparison_pastes_defects_and_judges_every_detector(seconds, monkeypatch):
    monkeypatch.setattr(time_estimates, "RUN_THERE", {})
    one_detector = seconds(None, ("nearest",))
    three = seconds(None, ("nearest",) * 3)
    assert three - one_detector == pytest.approx(2 * (teaching_plan.JUDGING + 10 * teaching_plan.JUDGING_PHOTO))
    assert one_detector - seconds(method="nearest") > synthetic_trial.COMPARISON_DEFECTS * RUN


def test_a_plan_says_what_comes_into_question(product, tmp_path):
    order = TeachingConfig("flange", train_on_all(split(scan(product), seed=0)))

    def plan(order: TeachingConfig) -> TeachingPlan:
        return TeachingPlan.from_order(order, FeatureStore(tmp_path))

    assert (len(order.photos.train), len(order.scored), len(order.photos.limit_photos(0))) == (14, 7, 10)
    by_place = plan(order)
    assert (by_place.chosen_by, by_place.study.methods) == (BY_PLACE, methods_in((FIXED, LOOSE)))
    assert "how the parts lie: " in by_place.sentence()
    by_defects = plan(replace(order, photos=replace(order.photos, validation=order.photos.test[:1])))
    assert (by_defects.chosen_by, by_defects.detectors) == (BY_DEFECTS, CANDIDATES)
    assert by_defects.study.methods == methods_in(CANDIDATES)
    assert "by 1 known defect" in by_defects.sentence()
    tiles = TilePlan((512, 512), (128, 128), 64, 32)
    few = replace(order.photos, train=order.photos.train[:2])
    for other, chosen_by, words in (
        (replace(order, tiles=tiles, size=(128, 128), parameters={"k": 8}), BY_PLACE, "The detector is chosen by"),
        (replace(order, method="mahalanobis"), NAMED, "Detector: By location."),
        (replace(order, photos=few), ALONE, "Too few photos"),
    ):
        assert (plan(other).chosen_by, plan(other).study.method) == (chosen_by, "mahalanobis")
        assert plan(other).sentence().startswith(words)
    cheapest = plan(replace(order, budget=0.0, photos=replace(order.photos, validation=order.photos.test[:1])))
    assert len(cheapest.detectors) == 1
    compared = TeachingPlan.to_compare(order, FeatureStore(tmp_path), ("corp", "corp+nearest"))
    assert compared.study.methods == ("corp", "nearest")
