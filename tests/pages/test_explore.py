import time
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from inspect_core.features import backbones
from inspect_core.images.areas import Area, Areas
from inspect_core.images.read import read
from inspect_core.records.recipe_file import save
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import Study
from inspect_core.tuning import tsne
from inspect_core.ui import results, shelf, shell, taught_part
from inspect_core.ui.explore import jobs, patch_map
from inspect_core.ui.explore.jobs import MapOrder
from inspect_core.verdict import Limits
from tests.pages.waiting import finish

APP = Path(__file__).resolve().parents[2] / "app.py"
PAGE = "pages/explore.py"
PATCH_MAP = MapOrder(whole=False, mapped=False)


@pytest.fixture(autouse=True)
def quick_maps(monkeypatch):
    monkeypatch.setattr(jobs, "PATCHES", 200)
    monkeypatch.setattr(tsne, "CHUNKS", 1)


def words(app) -> str:
    return " ".join(element.value for element in [*app.markdown, *app.caption])


def charts(app) -> list[str]:
    return [chart.proto.id for chart in app.get("plotly_chart")]


@pytest.fixture
def map_in_hand(open_app, in_the_hand):
    """The map of patches has been drawn once."""
    app = open_app(PAGE)
    finish(app.button(key="start-map").click().run())
    return in_the_hand


def test_with_nothing_taught_it_says_what_to_do(open_app, no_first_start):
    app = open_app(PAGE)
    assert "Nothing has been taught yet" in app.info[0].value
    assert app.button(key="to_teach").label == "Teach a part"


def test_a_map_of_patches_is_drawn_and_kept(open_app, in_the_hand, map_in_hand):
    app = open_app(PAGE)
    assert len(charts(app)) == 1
    assert f"200 patches of {len(in_the_hand.scored.photos)} photos" in words(app)
    assert "Click a point" in words(app)
    key = patch_map.map_key(in_the_hand, PATCH_MAP, in_the_hand.scored.live)
    drawn = results.kept().get(key)
    assert drawn.positions.shape == (len(drawn.points), 2)
    assert set(drawn.points.truth) == {"good", "scratch", "dent"}


def test_areas_left_out_are_another_map(in_the_hand):
    ignored = Areas((Area("ignore", ((0.4, 0.4), (0.6, 0.4), (0.6, 0.6))),))
    other = replace(in_the_hand, scored=in_the_hand.scored.with_areas(ignored))
    keys = {patch_map.map_key(part, PATCH_MAP, part.scored.live) for part in (in_the_hand, other)}
    assert len(keys) == 2


def test_a_click_leads_to_the_part_the_patch_and_the_bench(open_app, map_in_hand):
    part = map_in_hand
    key = patch_map.map_key(part, PATCH_MAP, part.scored.live)
    points = results.kept().get(key).points
    chosen = next(i for i in range(len(points)) if points.truth[i] == "dent")
    app = AppTest.from_file(str(APP), default_timeout=120)
    app.session_state["page_wanted"] = PAGE
    app.session_state[patch_map.chart_name(key)] = {"selection": {"points": [{"customdata": chosen}]}}
    app.run()
    assert not app.exception, app.exception
    photo, (row, column) = part.scored.photos[points.photo[chosen]], points.place[chosen]
    assert photo.kind == "dent"
    assert photo.name.split("/")[-1].split(".")[0].replace("_", "\\_") in words(app)
    assert f"row {row + 1}, column {column + 1}" in words(app)
    app.button(key="to_bench").click().run()
    assert not app.exception, app.exception
    assert app.session_state[f"settings-{part.id}"].position == points.photo[chosen]
    shown = app.session_state[f"settings-{part.id}"].patch
    assert shown == (points.photo[chosen], (row, column))


@pytest.mark.parametrize("colour", ["Score", "Photo"])
def test_other_colours_cost_no_new_map(open_app, map_in_hand, colour):
    app = open_app(PAGE)
    before = shell.jobs().current
    app.segmented_control(key="map_colour").set_value(colour).run()
    assert not app.exception, app.exception
    assert len(charts(app)) == 1
    assert shell.jobs().current is before


def test_moving_the_limit_rings_others_on_the_same_map(open_app, map_in_hand):
    app = open_app(PAGE)
    before = words(app)
    app.session_state[f"settings-{map_in_hand.id}"].limits = Limits(0.0, 0.0)
    app.run()
    assert len(charts(app)) == 1
    assert "Ringed: 200 above the limit" not in before
    assert "Ringed: 200 above the limit" in words(app)


def test_the_features_as_the_detector_sees_them_are_another_map(open_app, in_the_hand):
    app = open_app(PAGE)
    app.segmented_control(key="map_features").set_value(patch_map.AFTER).run()
    assert "Whitened at its own place" in words(app)
    finish(app.button(key="start-map").click().run())
    assert len(charts(app)) == 1
    drawn = results.kept().get(patch_map.map_key(in_the_hand, MapOrder(False, True), in_the_hand.scored.live))
    lengths = (drawn.points.features**2).sum(axis=1) ** 0.5
    (view,), points = in_the_hand.scored.views, drawn.points
    errors = [
        view.errors(jobs.features(in_the_hand, photo)[0], view.start)[row, column]
        for photo, (row, column) in zip(points.photo, points.place, strict=True)
    ]
    assert lengths == pytest.approx(errors, rel=1e-4)


def test_whole_photos_are_arranged_by_their_embedding(open_app, in_the_hand):
    app = open_app(PAGE)
    app.segmented_control(key="map_of").set_value("Whole photos").run()
    finish(app.button(key="start-map").click().run())
    assert f"{len(in_the_hand.scored.photos)} photos. Diamonds: 3 defects" in words(app)


def test_the_spectrum_and_the_rank_of_every_place(open_app, in_the_hand):
    app = open_app(PAGE)
    app.segmented_control(key="explore_view").set_value("Variance").run()
    assert not app.exception, app.exception
    assert len(charts(app)) == 2
    assert "keeps 8 mixed features, learned from 11 good photos" in words(app)
    app.segmented_control(key="rank_above").set_value(0.1).run()
    assert not app.exception, app.exception
    finish(app.button(key="start-embeddings").click().run())
    assert len(charts(app)) == 3
    assert "when channels are mixed" in words(app)


def test_a_curve_follows_k_without_the_network(open_app, in_the_hand, monkeypatch):
    monkeypatch.setattr(backbones.Backbone, "_run", lambda *a, **k: pytest.fail("the network ran"))
    app = open_app(PAGE)
    app.segmented_control(key="explore_view").set_value("Sensitivity").run()
    finish(app.button(key="start-curve").click().run())
    assert len(charts(app)) == 2
    numbers = app.dataframe[0].value
    assert numbers["k"].iloc[[0, -1]].tolist() == [1, 8]
    assert (numbers["image AUROC"] >= 0).all()
    assert (numbers["highest-scoring good part"] >= 0).all()


def test_a_failed_job_says_why(open_app, in_the_hand, monkeypatch):
    monkeypatch.setattr(jobs, "follow_live", fail)
    app = open_app(PAGE)
    app.segmented_control(key="explore_view").set_value("Sensitivity").run()
    app.button(key="start-curve").click().run()
    while shell.jobs().current.active:
        time.sleep(0.05)
    app.run()
    assert [element.value for element in app.error] == ["the disk is full; free some space"]
    assert app.button(key="start-curve").disabled is False


def fail(*_):
    raise OSError("the disk is full; free some space")


@pytest.fixture(scope="session")
def corp_hand(product, taught):
    """The same photos under CoRP."""
    study = Study(
        taught.study.split, taught.preparation.backbone, taught.study.store, method="corp", parameters={"M": 64},
        grid=(16, 16),
    )  # fmt: skip
    return taught_part.of_study("flange", study.fit())


def test_one_spectrum_and_curves_of_refits(open_app, corp_hand, fresh_process_state):
    shelf.put(corp_hand)
    app = open_app(PAGE)
    app.segmented_control(key="explore_view").set_value("Variance").run()
    q = corp_hand.scored.live["q"]
    assert f"The first **{q}** hold **9" in words(app)
    app.segmented_control(key="explore_view").set_value("Sensitivity").run()
    app.segmented_control(key=f"followed-{corp_hand.id}").set_value("M").run()
    finish(app.button(key="start-curve").click().run())
    assert app.dataframe[0].value["M"].tolist() == [16, 32, 64, 128]


def test_an_opened_recipe_without_photos_says_what_is_missing(open_app, opened_recipe):
    app = open_app(PAGE)
    assert "no photos on the bench yet" in app.info[0].value
    app.segmented_control(key="explore_view").set_value("Variance").run()
    assert not app.exception, app.exception
    assert len(charts(app)) == 2
    assert "Needs the good photos" in words(app)
    app.segmented_control(key="explore_view").set_value("Sensitivity").run()
    assert not app.exception, app.exception
    assert "at least two photos of good parts" in app.info[0].value


def test_photos_added_to_an_opened_recipe_are_mapped_with_their_truth_unknown(open_app, opened_recipe, product):
    for path in sorted((product / "train/good").iterdir())[:6]:
        shelf.add(opened_recipe, read(path))
    app = open_app(PAGE)
    finish(app.button(key="start-map").click().run())
    assert "200 patches of 6 photos. Diamonds: 0" in words(app)
    part = shelf.find(opened_recipe.id)
    key = patch_map.map_key(part, PATCH_MAP, part.scored.live)
    assert set(results.kept().get(key).points.truth) == {"unknown"}


@pytest.fixture
def opened_recipe(taught, workspace, fresh_process_state):
    """A recipe opened on another machine: its detector and guard, and nothing on the bench."""
    recipe = save(taught.study.recipe(product="flange", guard=taught.guard), workspace / "r.zip")
    views = [replace(view, only=(view.value(recipe.live),)) for view in recipe.views]
    scored = ScoredPhotos(views, recipe.grid, recipe.backbone.size)
    part = taught_part.TaughtPart("flange", scored, taught.preparation, recipe=recipe, guard=recipe.guard)
    shelf.put(part)
    return part
