"""Detectors that add the maps of two views: every live parameter moves, on the bench, in Explore and from a recipe."""

import threading
import time

import numpy as np
import pytest

from inspect_core.images.read import read
from inspect_core.judge.anomaly_map import image_score
from inspect_core.recipe import inspect
from inspect_core.study.judged import truth_masks
from inspect_core.study.study import Study
from inspect_core.tuning import tsne
from inspect_core.ui import shelf, taught_part
from inspect_core.ui.bench import bench
from inspect_core.ui.explore import jobs
from inspect_core.verdict import Limits
from tests.pages.waiting import finish

PARAMETERS = {
    "mahalanobis+quadrics": {"k": 8, "components": 8, "m": 20, "patches": 600},
    "mahalanobis+corp": {"k": 8, "M": 64},
}


@pytest.fixture(scope="module")
def teach(taught):
    """teach(detector) is the part of all page tests under it."""
    made = {}

    def part(detector: str):
        if detector not in made:
            study = Study(
                taught.study.split, taught.preparation.backbone, taught.study.store, method=detector,
                parameters=PARAMETERS[detector], grid=(16, 16),
            )  # fmt: skip
            made[detector] = taught_part.of_study("flange", study.fit(), guard=taught.guard)
        return made[detector]

    return part


@pytest.fixture
def curved(teach, fresh_process_state):
    """In hand under "mahalanobis+quadrics"."""
    shelf.put(part := teach("mahalanobis+quadrics"))
    return part


@pytest.fixture
def flexible(teach, fresh_process_state):
    """In hand under "mahalanobis+corp", which has parameters that need a fit each."""
    shelf.put(part := teach("mahalanobis+corp"))
    return part


@pytest.fixture
def drawn(monkeypatch) -> list:
    """What the bench was given to draw, (parts, shown, limits), the latest last."""
    given, draw = [], bench.bench

    def noted(key, parts, shown, limits, **more):
        given.append((parts, shown, limits))
        return draw(key, parts, shown, limits, **more)

    monkeypatch.setattr(bench, "bench", noted)
    return given


def settings(app, part):
    return app.session_state[f"settings-{part.id}"]


def move(app, part, name: str, value: float):
    app.select_slider(key=f"{name}-{part.id}").set_value(value).run()
    assert not app.exception, app.exception


def scores(drawn) -> list[float]:
    return [part.score for part in drawn[-1][0]]


def words(app) -> str:
    return " ".join(element.value for element in [*app.markdown, *app.caption, *app.info])


def test_k_m_and_the_smallest_area_each_move_the_scores(open_app, curved, drawn):
    app = open_app("pages/inspect.py")
    assert [element.label.split(":")[0] for element in app.select_slider] == ["k", "m", "N"]
    live = dict(curved.scored.live)
    for name, value in {"k": 3, "m": 5, "area": 1}.items():
        before = scores(drawn)
        move(app, curved, name, value)
        live[name] = value
        assert settings(app, curved).live == live
        assert scores(drawn) != before
        assert scores(drawn) == curved.study.scores(**live).tolist()
        assert drawn[-1][2] == curved.study.default_limits(**live)
        assert f"Current: {value} ·" in words(app)


def test_the_smallest_area_decides_what_is_rejected_at_one_limit(open_app, curved, drawn):
    app = open_app("pages/inspect.py")
    position = int(curved.scores(curved.scored.live).argmax())
    largest = max(int(option.split()[0]) for option in app.select_slider(key=f"area-{curved.id}").options)
    own = curved.scored.map(position)
    limit = float(image_score(own, area=1) + image_score(own, area=largest)) / 2
    assert 1 < np.count_nonzero(own > limit) < largest
    for area, rejected in ((1, True), (largest, False), (1, True)):
        move(app, curved, "area", area)
        settings(app, curved).limits = Limits(limit, limit)
        app.run()
        parts, shown, limits = drawn[-1]
        assert limits.reject == limit
        assert np.array_equal(shown.anomaly_map, own), "what lies above the limit stays on the map"
        assert shown.area == area
        assert (limits.verdict(parts[position].score) == "reject") == rejected


def test_known_defects_that_the_smallest_area_hides_are_counted(open_app, curved):
    app = open_app("pages/inspect.py")
    areas = [int(mask.sum()) for mask in truth_masks(curved.scored) if mask is not None and mask.any()]
    assert len(areas) == 3
    offered = [int(option.split()[0]) for option in app.select_slider(key=f"area-{curved.id}").options]
    assert "known defects are smaller" not in words(app.run()) or min(areas) < curved.scored.live["area"]
    above = min(area for area in offered if area > min(areas))
    move(app, curved, "area", above)
    assert f"{sum(area < above for area in areas)} of 3 known defects are smaller" in words(app)
    move(app, curved, "area", 1)
    assert "known defects are smaller" not in words(app)


def test_a_preview_of_one_view_and_its_way_into_force(open_app, flexible, drawn, monkeypatch):
    go_on, features = threading.Event(), Study.features

    def held_back(study, photo):
        assert photo.part == "calibrate" or photo.kind != "good" or go_on.wait(60)
        return features(study, photo)

    monkeypatch.setattr(Study, "features", held_back)
    app = open_app("pages/inspect.py")
    move(app, flexible, "k", 3)
    before, limits = scores(drawn), drawn[-1][2]
    gamma = flexible.scored.views[1].detector.feature_map.gamma * 4
    move(app, flexible, "gamma", gamma)
    run, position = settings(app, flexible).preview, settings(app, flexible).position
    wait_until(lambda: run.ready(position))
    app.run()
    assert drawn[-1][2] == limits
    shown = scores(drawn)
    assert shown[position] != before[position]
    shown[position] = before[position]
    assert shown == before, "until it is complete the others are those in force, on the same scale"
    go_on.set()
    assert run.ended.wait(60)
    app.run()
    assert run.live["k"] == 3
    of_preview = drawn[-1][1].anomaly_map
    assert np.array_equal(of_preview, run.map(position, run.live))

    finish(app.button(key=f"apply-{flexible.id}").click().run())
    applied = shelf.find(app.session_state["in_hand"])
    assert applied is not flexible
    assert applied.scored.views[1].detector.feature_map.gamma == gamma
    assert applied.scored.live["k"] == 3
    assert scores(drawn) == applied.study.scores().tolist()


def wait_until(done) -> None:
    limit = time.monotonic() + 60
    while not done():
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_a_photo_added_to_the_part_is_judged_as_its_recipe_does(open_app, curved, drawn, product):
    photo = next((product / "train/good").iterdir())
    app = open_app("pages/inspect.py")
    files = [("new.jpg", photo.read_bytes(), "image/jpeg")]
    app.file_uploader(key=f"added-{curved.id}").set_value(files).run()
    assert not app.exception
    verdict = inspect(read(photo).pixels, curved.study.recipe(), backbone=curved.preparation.backbone)
    parts, shown, limits = drawn[-1]
    assert (parts[shown.position].name, parts[shown.position].score) == ("new.jpg", verdict.score)
    assert np.array_equal(shown.anomaly_map, verdict.anomaly_map)
    assert limits.verdict(verdict.score) == verdict.verdict


def test_an_opened_recipe_judges_and_shows_what_inspect_does(
    open_app, curved, drawn, product, exported, monkeypatch, workspace
):
    app = open_app("pages/inspect.py")
    move(app, curved, "k", 3)
    app.button(key=f"save-{curved.id}").click().run()
    recipe = shelf.find(curved.id).recipe
    recipes = open_app("pages/recipes.py")
    recipes.button(key="open-flange.zip").click().run()
    assert not recipes.exception
    opened = shelf.find(recipes.session_state["in_hand"])
    assert opened.recipe.digest == recipe.digest
    assert "k: detail: 3, m: surfaces: 20, smallest area: " in words(recipes)
    photo = next((product / "test/dent").iterdir())
    recipes.file_uploader(key=f"added-{opened.id}").set_value([("x.jpg", photo.read_bytes(), "image/jpeg")]).run()
    assert not recipes.exception
    verdict = inspect(read(photo).pixels, opened.recipe, backbone=opened.preparation.backbone)
    parts, shown, limits = drawn[-1]
    assert parts[0].score == verdict.score
    assert limits == recipe.limits
    assert shown.area == verdict.area
    assert np.array_equal(shown.anomaly_map, verdict.anomaly_map)

    given = []
    monkeypatch.setattr(
        "inspect_core.images.heatmap.overlay", lambda pixels, own, limit: given.append((own, limit)) or pixels
    )
    recipes.session_state[f"views-{opened.id}"] = True
    recipes.run()
    assert not recipes.exception
    assert [own.max() for own, _ in given] == [limit for _, limit in given], "its colours reach the strangest place"
    assert len(given) == 2


def test_each_view_has_its_variance_and_its_own_map(open_app, flexible, monkeypatch):
    monkeypatch.setattr(jobs, "PATCHES", 200)
    monkeypatch.setattr(tsne, "CHUNKS", 1)
    app = open_app("pages/explore.py")
    choice = f"explored-{flexible.id}"
    for view in (0, 1):
        app.segmented_control(key=choice).set_value(view).run()
        app.segmented_control(key="map_features").set_value("As the detector sees them").run()
        finish(app.button(key="start-map").click().run())
        assert len(app.get("plotly_chart")) == 1
    app.segmented_control(key="explore_view").set_value("Variance").run()
    app.segmented_control(key=choice).set_value(0).run()
    assert "keeps 8 mixed features" in words(app)
    app.segmented_control(key=choice).set_value(1).run()
    assert not app.exception, app.exception
    assert f"The first **{flexible.scored.live['q']}** hold" in words(app)
    app.segmented_control(key="explore_view").set_value("Sensitivity").run()
    for name, values in {"k": [1, 8], "q": [1, flexible.scored.stops("q")[-1]], "gamma": [0.125, 8]}.items():
        app.segmented_control(key=f"followed-{flexible.id}").set_value(name).run()
        finish(app.button(key="start-curve").click().run())
        sign = {"gamma": "γ"}.get(name, name)
        assert app.dataframe[0].value[sign].iloc[[0, -1]].tolist() == values


def test_the_limit_from_known_defects_is_taken_by_a_click_alone(curved, open_app):
    app = open_app("pages/inspect.py")
    assert settings(app, curved).limits is None, "an escape's price alone sets nothing"
    suggested = next(element.value for element in app.markdown if "costs least" in element.value)
    app.button(key=f"use_cost-{curved.id}").click().run()
    assert not app.exception, app.exception
    limits = settings(app, curved).limits
    assert limits.review == limits.reject
    assert f"**{limits.reject:.4g}**" in suggested
