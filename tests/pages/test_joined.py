"""Detectors that add the maps of two views: every live parameter moves, on the bench, in Explore and from a recipe."""

import threading

import numpy as np
import pytest

from inspect_core.images.photo_reader import read
from inspect_core.recipe import inspect
from inspect_core.scoring.anomaly_map import image_score
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.study import Study
from inspect_core.tuning import tsne
from inspect_core.ui.explore import explore_jobs
from inspect_core.verdict import Limits
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import (
    finish,
    latest,
    limit_by_hand,
    open_recipe,
    opened,
    press,
    save_recipe,
    sign,
    slider,
    wait_until,
    words,
)

PAGE = "pages/inspect.py"


@pytest.fixture
def curved(flange_under):
    """In hand under "mahalanobis+quadrics"."""
    shelf().put(part := flange_under("mahalanobis+quadrics", k=8, components=8, m=20, patches=600))
    return part


@pytest.fixture
def flexible(flange_under):
    """In hand under "mahalanobis+corp", which has parameters that need a fit each."""
    shelf().put(part := flange_under("mahalanobis+corp", k=8, M=64))
    return part


def settings(app, part):
    return app.session_state[f"settings-{part.id}"]


def move(app, part, name: str, value: float):
    slider(app, name, part).set_value(value).run()
    assert not app.exception, app.exception


def scores(drawn) -> list[float]:
    return drawn[-1].scores.tolist()


def test_k_m_and_area_move_scores_and_hidden_defects_count(open_app, curved, drawn):
    app = open_app(PAGE)
    assert latest(curved).limits_by_hand is None, "an escape's price alone sets nothing"
    suggested = next(element.value for element in app.markdown if "has the lowest cost" in element.value)
    press(app, f"use_cost-{curved.id}")
    limits = latest(curved).limits_by_hand
    assert limits.review == limits.reject
    assert f"**{limits.reject:.4g}**" in suggested
    limit_by_hand(curved, None)
    app.run()

    assert [sign(element) for element in app.select_slider] == ["k", "m", "N"]
    live = dict(curved.scored.live)
    for name, value in {"k": 3, "m": 5, "area": 1}.items():
        before = scores(drawn)
        move(app, curved, name, value)
        live[name] = value
        assert latest(curved).live == live
        assert scores(drawn) != before
        assert scores(drawn) == curved.study.scores(**live).tolist()
        assert drawn[-1].limits == curved.study.default_limits(**live)
        assert f"Current: {value}" in words(app)

    assert "defects smaller" not in words(app)
    areas = [int(mask.sum()) for mask in truth_masks(curved.scored) if mask is not None and mask.any()]
    assert len(areas) == 3
    above = min(area for area in areas_offered(app, curved) if area > min(areas))
    move(app, curved, "area", above)
    assert f"{sum(area < above for area in areas)} of 3 defects smaller" in words(app)


def areas_offered(app, part) -> list[int]:
    return [int(option.split()[0]) for option in slider(app, "area", part).options]


def test_the_smallest_area_decides_what_is_rejected_at_one_limit(open_app, curved, drawn):
    app = open_app(PAGE)
    position = int(curved.scored.scores(**curved.scored.live).argmax())
    largest = max(areas_offered(app, curved))
    anomaly_map = curved.scored.map(position)
    limit = float(image_score(anomaly_map, area=1) + image_score(anomaly_map, area=largest)) / 2
    assert 1 < np.count_nonzero(anomaly_map > limit) < largest
    for area, rejected in ((1, True), (largest, False), (1, True)):
        move(app, curved, "area", area)
        limit_by_hand(curved, Limits(limit, limit))
        app.run()
        shown = drawn[-1]
        assert shown.limits.reject == limit
        assert np.array_equal(shown.anomaly_map, anomaly_map), "what lies above the limit stays on the map"
        assert shown.area == area
        assert (shown.limits.decide(shown.scores[position])[0] == "reject") == rejected


def test_a_preview_of_one_view_and_its_way_into_force(open_app, flexible, drawn, monkeypatch):
    go_on, features = threading.Event(), Study.features

    def held_back(study, photo):
        assert photo.subset == "calibration" or photo.label != "good" or go_on.wait(60)
        return features(study, photo)

    monkeypatch.setattr(Study, "features", held_back)
    app = open_app(PAGE)
    move(app, flexible, "k", 3)
    before, limits = scores(drawn), drawn[-1].limits
    gamma = flexible.scored.views[1].detector.feature_map.gamma * 4
    move(app, flexible, "gamma", gamma)
    run, position = settings(app, flexible).preview, settings(app, flexible).position
    wait_until(lambda: run.ready(position))
    app.run()
    assert drawn[-1].limits == limits
    shown = scores(drawn)
    assert shown[position] != before[position]
    shown[position] = before[position]
    assert shown == before, "until it is complete the others are those in force, on the same scale"
    go_on.set()
    assert run.ended.wait(60)
    assert run.live["k"] == 3

    app.run()
    assert not app.exception
    fitted = shelf().find(flexible.id)
    assert fitted is not flexible
    assert fitted.scored.views[1].detector.feature_map.gamma == gamma
    assert latest(fitted).live["k"] == 3
    assert scores(drawn) == fitted.study.scores(k=3).tolist()


def test_photo_is_judged_alike_by_product_and_recipe(open_app, curved, drawn, product, monkeypatch):
    app, backbone = open_app(PAGE), curved.extractor.backbone

    def add(app, part, photo):
        """The limits, after the bench showed of the photo what the recipe says."""
        app.file_uploader(key=f"added-{part.id}").set_value([(photo.name, photo.read_bytes(), "image/jpeg")]).run()
        assert not app.exception
        recipe = part.recipe or part.study.recipe()
        verdict = inspect(read(photo).pixels, recipe, backbone=backbone)
        shown = drawn[-1]
        assert (shown.photos[shown.position].name, shown.scores[shown.position]) == (photo.name, verdict.score)
        assert np.array_equal(shown.anomaly_map, verdict.anomaly_map)
        assert shown.limits.decide(verdict.score)[0] == verdict.verdict
        assert shown.area == verdict.area
        return shown.limits

    add(app, curved, next((product / "train/good").iterdir()))
    move(app, curved, "k", 3)
    save_recipe(app)
    recipe = shelf().find(curved.id).recipe
    app = open_recipe(open_app("pages/recipes.py"), "flange.zip")
    opened = shelf().find(app.session_state["in_hand"])
    assert opened.recipe.digest == recipe.digest
    assert "Detail (k): 3, Surfaces (m): 20, minimum area: " in words(app)
    assert add(app, opened, next((product / "test/dent").iterdir())) == recipe.limits

    calls = []
    monkeypatch.setattr(
        "inspect_core.images.heatmap.overlay",
        lambda pixels, anomaly_map, limit: calls.append((anomaly_map, limit)) or pixels,
    )
    app.session_state[f"views-{opened.id}"] = True
    app.run()
    assert not app.exception
    assert [anomaly_map.max() for anomaly_map, _ in calls] == [limit for _, limit in calls], (
        "its colours reach the strangest place"
    )
    assert len(calls) == 2


def test_each_view_has_its_variance_and_its_own_map(open_app, flexible, monkeypatch):
    monkeypatch.setattr(explore_jobs, "PATCHES", 200)
    monkeypatch.setattr(tsne, "CHUNKS", 1)
    app = open_app("pages/explore.py")
    choice = f"explored-{flexible.id}"
    for view in (0, 1):
        app.segmented_control(key=choice).set_value(view).run()
        app.segmented_control(key="map_features").set_value("After the detector's mapping").run()
        opened(app)
        assert len(app.get("plotly_chart")) == 1
    app.segmented_control(key="explore_view").set_value("Variance").run()
    app.segmented_control(key=choice).set_value(0).run()
    assert "keeps 8 mixed features" in words(app)
    app.segmented_control(key=choice).set_value(1).run()
    assert not app.exception, app.exception
    assert f"The first **{flexible.scored.live['q']}** explain" in words(app)
    app.segmented_control(key="explore_view").set_value("Sensitivity").run()
    for name, values in {"k": [1, 8], "q": [1, flexible.scored.stops("q")[-1]], "gamma": [0.125, 8]}.items():
        app.segmented_control(key=f"followed-{flexible.id}").set_value(name).run()
        finish(press(app, "start-curve")) if name == "gamma" else opened(app)
        sign = {"gamma": "γ"}.get(name, name)
        assert app.dataframe[0].value[sign].iloc[[0, -1]].tolist() == values
