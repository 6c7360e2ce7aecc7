"""The Explore page: maps of patches and of photos, the variance, sensitivity; with an opened recipe too."""

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from inspect_core.features import backbones
from inspect_core.images.areas import InspectionArea, InspectionAreas
from inspect_core.images.photo_reader import read
from inspect_core.recipe_io.recipe_file import save
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning import tsne
from inspect_core.ui import result_cache, shell
from inspect_core.ui.explore import explore_jobs, patch_map, unusual_parts, variance_panels
from inspect_core.ui.explore.explore_jobs import MapRequest
from inspect_core.verdict import Limits
from inspect_core.workbench import taught_product
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import finish, limit_by_hand, opened, press, wait_for_job, words

APP = Path(__file__).resolve().parents[2] / "app.py"
PAGE = "pages/explore.py"
PATCH_MAP = MapRequest(photo_level=False, after_mapping=False)


@pytest.fixture(autouse=True)
def quick_maps(monkeypatch):
    monkeypatch.setattr(explore_jobs, "PATCHES", 200)
    monkeypatch.setattr(tsne, "CHUNKS", 1)


def charts(app) -> int:
    return len(app.get("plotly_chart"))


def choose(app, key: str, value):
    app.segmented_control(key=key).set_value(value).run()
    assert not app.exception, app.exception


def map_of(part, order: MapRequest = PATCH_MAP):
    return result_cache.result_cache().get(patch_map.map_key(part, order, part.scored.live))


def test_with_nothing_taught_it_says_what_to_do(open_app, no_first_start):
    app = open_app(PAGE)
    assert "No product has been taught yet." in app.info[0].value
    assert app.button(key="to_teach").label == "Teach a product"


def test_click_on_the_patch_map_leads_to_the_photo_and_patch(open_app, in_the_hand):
    part, app = in_the_hand, open_app(PAGE)
    finish(app)
    assert charts(app) == 1
    assert f"200 patches of {len(part.scored.photos)} photos" in words(app)
    assert "Click a point" in words(app)
    points = map_of(part).points
    assert map_of(part).positions.shape == (len(points), 2)
    assert set(points.truth) == {"good", "scratch", "dent"}
    job = shell.jobs().current
    for colour in ("Score", "Photo"):
        choose(app, "map_colour", colour)
        assert charts(app) == 1
    assert "Ringed: 200 above the review limit" not in words(app)
    limit_by_hand(part, Limits(0.0, 0.0))
    app.run()
    assert charts(app) == 1
    assert "Ringed: 200 above the review limit" in words(app)
    assert shell.jobs().current is job, "colours and limits cost no new map"

    chosen = next(i for i in range(len(points)) if points.truth[i] == "dent")
    app = AppTest.from_file(str(APP), default_timeout=120)
    app.session_state["page_wanted"] = PAGE
    name = patch_map.chart_name(patch_map.map_key(part, PATCH_MAP, part.scored.live))
    app.session_state[name] = {"selection": {"points": [{"customdata": chosen}]}}
    app.run()
    assert not app.exception, app.exception
    photo, (row, column) = part.scored.photos[points.photo[chosen]], points.place[chosen]
    assert photo.label == "dent"
    assert photo.name.split("/")[-1].split(".")[0].replace("_", "\\_") in words(app)
    assert f"row {row + 1}, column {column + 1}" in words(app)
    press(app, "to_bench")
    settings = app.session_state[f"settings-{part.id}"]
    assert settings.position == points.photo[chosen]
    assert settings.framed_patch == (points.photo[chosen], (row, column))


def test_areas_left_out_are_another_map(in_the_hand):
    ignored = InspectionAreas((InspectionArea("ignore", ((0.4, 0.4), (0.6, 0.4), (0.6, 0.6))),))
    other = replace(in_the_hand, scored=in_the_hand.scored.with_areas(ignored))
    keys = {patch_map.map_key(part, PATCH_MAP, part.scored.live) for part in (in_the_hand, other)}
    assert len(keys) == 2


def test_detector_features_and_whole_photos_have_own_maps(open_app, in_the_hand):
    app = open_app(PAGE)
    choose(app, "map_features", patch_map.AFTER)
    assert "Whitened at its location" in words(app)
    opened(app)
    assert charts(app) == 1
    (view,), points = in_the_hand.scored.views, map_of(in_the_hand, MapRequest(False, True)).points
    errors = [
        view.errors(explore_jobs.features(in_the_hand, photo)[:1], view.start)[0, row, column]
        for photo, (row, column) in zip(points.photo, points.place, strict=True)
    ]
    assert (points.features**2).sum(axis=1) ** 0.5 == pytest.approx(errors, rel=1e-4)
    choose(app, "map_of", "Whole photos")
    opened(app)
    assert f"{len(in_the_hand.scored.photos)} photos. Diamonds: 3 defects" in words(app)


def test_spectrum_rank_and_curve_need_no_network(open_app, in_the_hand, monkeypatch):
    app = open_app(PAGE)
    choose(app, "explore_view", "Variance")
    assert charts(app) == 2
    assert "keeps 8 mixed features, fitted on 11 good photos." in words(app)
    assert variance_panels.learned_from(in_the_hand, 55) == "11 good photos and copies of them"
    choose(app, "rank_above", 0.1)
    assert charts(app) == 2

    choose(app, "explore_view", "Most unusual good parts")
    scores = in_the_hand.scored.scores(**in_the_hand.scored.live)[in_the_hand.scored.good_and_defect()[0]]
    shown = min(len(scores), unusual_parts.COUNT)
    assert sum((button.key or "").startswith("strangest-") for button in app.button) == shown
    assert f"score {scores.max():.3g}" in words(app)
    app.toggle(key="strangest_rainbow").set_value(True).run()
    assert not app.exception

    with monkeypatch.context() as patch:
        patch.setattr(explore_jobs, "follow_live", fail)
        choose(app, "explore_view", "Sensitivity")
        wait_for_job()
        app.run()
        (error,) = app.error
        assert error.value.endswith("failed: the disk is full; free some space")
        assert app.button(key="start-curve").disabled is False, "what failed is not begun again unasked"
    monkeypatch.setattr(backbones.Backbone, "run", lambda *a, **k: pytest.fail("the network ran"))
    finish(press(app, "start-curve"))
    assert charts(app) == 2
    numbers = app.dataframe[0].value
    assert numbers["k"].iloc[[0, -1]].tolist() == [1, 8]
    assert (numbers[["image AUROC", "highest-scoring good part"]] >= 0).all(axis=None)


def fail(*_):
    raise OSError("the disk is full; free some space")


def test_one_spectrum_and_curves_of_refits(open_app, flange_under):
    shelf().put(part := flange_under("corp", M=64))
    app = open_app(PAGE)
    choose(app, "explore_view", "Variance")
    assert f"The first **{part.scored.live['q']}** explain **9" in words(app)
    choose(app, "explore_view", "Sensitivity")
    choose(app, f"followed-{part.id}", "M")
    finish(press(app, "start-curve"))
    assert app.dataframe[0].value["M"].tolist() == [16, 32, 64, 128]


def test_variance_curve_replaces_a_missing_spectrum(open_app, flange_under):
    shelf().put(flange_under("quadrics", components=16, m=10, patches=1000))
    app = open_app(PAGE)
    choose(app, "explore_view", "Variance")
    assert "10 curved surfaces" in words(app)
    opened(app)
    assert charts(app) == 1
    assert "−log λₙ/λ₁" in words(app)


def test_opened_recipe_names_missing_photos_and_maps_added_ones(open_app, flange, workspace, product):
    recipe = save(flange.study.recipe(product="flange", product_check=flange.product_check), workspace / "r.zip")
    views = [replace(view, selected_stops=(view.value(recipe.live_values),)) for view in recipe.views]
    scored = ScoredPhotos(views, recipe.grid, recipe.backbone.size)
    reopened = taught_product.TaughtProduct(
        "flange", scored, flange.extractor, recipe=recipe, product_check=recipe.product_check
    )
    shelf().put(reopened)
    app = open_app(PAGE)
    assert "No photos yet" in app.info[0].value
    choose(app, "explore_view", "Variance")
    assert charts(app) == 2
    choose(app, "explore_view", "Sensitivity")
    assert "A curve needs at least two good photos." in app.info[0].value

    for path in sorted((product / "train/good").iterdir())[:6]:
        shelf().add(reopened, read(path))
    choose(app, "explore_view", "Patch map")
    opened(app)
    assert "200 patches of 6 photos. Diamonds: 0" in words(app)
    assert set(map_of(shelf().find(reopened.id)).points.truth) == {"unknown"}
