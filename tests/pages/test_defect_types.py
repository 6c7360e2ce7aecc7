import time
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from inspect_core.classify import net_training
from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.images.read import read
from inspect_core.recipe import inspect
from inspect_core.records import recipe_file
from inspect_core.runtime.jobs import State
from inspect_core.ui import crops, defect_labels, defect_naming, shelf, shell
from inspect_core.ui.defect_types import results
from inspect_core.ui.defect_types import training as kinds_training
from inspect_core.ui.defect_types.panels import WHOLE
from inspect_core.ui.inspect import views
from inspect_core.whole_part import type_training

PAGE = "pages/defect_types.py"


@pytest.fixture(autouse=True)
def quick(monkeypatch, no_first_start):
    """Few trees, and no other products to ask about."""
    monkeypatch.setitem(type_training.FITS, type_training.FOREST, partial(fit_kdf, trees=30))


@pytest.fixture
def part(in_the_hand):
    """The taught part with two dents and two scratches: one dent is a good part labelled so."""
    return in_the_hand


def now(part):
    return shelf.find(part.id)


@pytest.fixture
def labelled(part):
    good = next(i for i, photo in enumerate(part.scored.photos) if photo.kind == "good")
    defect_labels.set_kind(part, [good], "dent")
    return part


@pytest.fixture
def ready(open_app, labelled):
    """The page with every photo counted as another part: their numbers look like bursts of one."""
    return open_ready(open_app, labelled)


def open_ready(open_app, part):
    app = open_app(PAGE)
    return app.toggle(key=f"together-{part.id}").set_value(False).run()


@pytest.fixture
def learned(ready, labelled):
    finish(ready.button(key="learn_kinds").click().run())
    return labelled


def finish(app):
    """Wait for the job in the background and look again."""
    limit = time.monotonic() + 120
    while shell.jobs().current.active:
        assert time.monotonic() < limit, "the job did not end"
        time.sleep(0.05)
    app.run()
    assert not app.exception, app.exception
    return app


def words(app) -> str:
    shown = [*app.markdown, *app.caption, *app.info, *app.warning, *app.error, *app.subheader]
    return " ".join(element.value for element in shown)


def kinds_shown(app, part) -> dict[str, str]:
    """Name of the photo -> what its button says."""
    keys = {f"kind-{part.id}-{photo.digest}": photo.name for photo in part.scored.photos}
    return {keys[button.key]: button.label for button in app.button if button.key in keys}


def test_with_nothing_taught_it_says_what_to_do(open_app):
    app = open_app(PAGE)
    assert "Nothing has been taught yet" in app.info[0].value
    assert app.button(key="to_teach").label == "Teach a part"


def test_folders_give_kinds_and_a_lone_example_is_too_few(open_app, part):
    app = open_app(PAGE)
    table = app.dataframe[0].value
    assert table["defect type"].tolist() == ["dent", "scratch"]
    assert table["photos"].tolist() == [1, 2]
    assert table["more"][0] == "1 more to be learned"
    assert "Learning needs at least two defect types" in words(app)
    assert app.button(key="learn_kinds").disabled


def test_a_click_gives_a_kind_and_another_takes_it_away(open_app, part):
    scratch = next(photo for photo in part.scored.photos if photo.kind == "scratch")
    app, key = open_app(PAGE), f"kind-{part.id}-{scratch.digest}"
    app.button(key=key).click().run()
    assert kinds_shown(app, part)[scratch.name] == "scratch"
    assert "Choose or enter a defect type" in app.toast[0].value
    app.selectbox(key=f"brush-{part.id}").set_value("dent").run()
    app.button(key=key).click().run()
    assert kinds_shown(app, part)[scratch.name] == "dent"
    app.button(key=key).click().run()
    assert kinds_shown(app, part)[scratch.name] == "no defect type"
    assert not app.exception


def test_the_gallery_shows_one_kind_when_asked(open_app, part):
    app = open_app(PAGE)
    app.pills(key=f"show-{part.id}").set_value("scratch").run()
    assert set(kinds_shown(app, part).values()) == {"scratch"}
    app.segmented_control(key=f"look_at-{part.id}").set_value(WHOLE).run()
    assert len(kinds_shown(app, part)) == 2
    assert not app.exception


def test_a_photo_that_is_gone_is_named_in_its_place(open_app, part, monkeypatch):
    lost = next(i for i, photo in enumerate(part.scored.photos) if photo.kind == "scratch")
    photo = replace(part.scored.photos[lost], path=Path("moved/away.png"), digest="0" * 64)
    monkeypatch.setattr(part.scored, "photos", (*part.scored.photos[:lost], photo, *part.scored.photos[lost + 1 :]))
    app = open_app(PAGE)
    assert "away.png" in words(app)
    assert kinds_shown(app, part)[photo.name] == "scratch"


def test_learning_leads_to_figures_and_a_limit(open_app, learned):
    app = open_ready(open_app, learned)
    assert now(learned).defect_types.names == ("dent", "scratch")
    assert "The most likely defect type is right for" in words(app)
    assert "of 4** known defects are named" in words(app)
    assert len(app.get("plotly_chart")) == 3
    assert app.dataframe[0].value["model"].tolist() == [
        "kernel density forest (in use)",
        "random forest alone",
        "random forest, isotonic",
        "random forest, sigmoid",
    ]


def test_names_no_better_than_guessing_are_called_that(open_app, learned, monkeypatch):
    taught = kinds_training.last(now(learned))
    y = taught.unseen.y
    told, unsure = np.eye(2)[y], np.full((4, 2), 0.5)
    for posterior, guessing in ((told, False), (unsure, True)):
        monkeypatch.setitem(taught.__dict__, "posterior", posterior)
        assert results.is_guessing(taught) is guessing
        app = open_ready(open_app, learned)
        assert ("hardly better than guessing" in words(app)) is guessing


def test_the_limit_is_live(open_app, learned):
    app = open_ready(open_app, learned)
    slider = app.slider(key=f"minimum_confidence-kinds-{learned.id}")
    assert slider.value == round(100 * now(learned).defect_types.minimum_confidence)
    slider.set_value(100).run()
    assert now(learned).defect_types.minimum_confidence == 1.0
    assert "**0 of 4** known defects are named" in words(app)
    counts = results.confusion(kinds_training.last(now(learned)), now(learned).defect_types.minimum_confidence)
    assert counts[:, :2].sum() == 0
    assert counts[:, 2].sum() == 4


def test_learning_again_brings_a_limit_of_its_own(open_app, learned):
    app = open_ready(open_app, learned)
    app.slider(key=f"minimum_confidence-kinds-{learned.id}").set_value(99).run()
    finish(app.button(key="learn_kinds").click().run())
    assert now(learned).defect_types.minimum_confidence != 0.99
    assert app.slider(key=f"minimum_confidence-kinds-{learned.id}").value == round(
        100 * now(learned).defect_types.minimum_confidence
    )


def test_a_neural_net_can_be_the_parent(ready, labelled, monkeypatch):
    monkeypatch.setattr(net_training, "LARGEST_EPOCHS", 20)
    ready.radio(key=f"parent-{labelled.id}").set_value(type_training.NETWORK).run()
    app = finish(ready.button(key="learn_kinds").click().run())
    assert now(labelled).defect_types.params()["classifier"]["parent"] == "network"
    assert "kernel density network (in use)" in app.dataframe[0].value["model"].tolist()


def test_a_kind_renamed_needs_no_learning_and_joining_two_does(open_app, learned):
    app = open_ready(open_app, learned)
    app.selectbox(key=f"old-{learned.id}").set_value("dent").run()
    app.text_input(key=f"new-{learned.id}").set_value("  dimple ").run()
    app.button(key=f"rename-{learned.id}").click().run()
    assert now(learned).defect_types.names == ("dimple", "scratch")
    assert "Learn again to use them" not in words(app)
    app.selectbox(key=f"old-{learned.id}").set_value("dimple").run()
    app.text_input(key=f"new-{learned.id}").set_value("scratch").run()
    assert "the two will be merged" in words(app)
    app.button(key=f"rename-{learned.id}").click().run()
    assert now(learned).defect_types.names == ("dimple", "scratch")
    assert "Learn again to use them" in words(app)
    assert not app.exception


def test_a_kind_taken_away_leaves_its_photos_in_the_gallery(open_app, learned):
    app = open_ready(open_app, learned)
    app.selectbox(key=f"old-{learned.id}").set_value("scratch").run()
    app.button(key=f"remove-{learned.id}").click().run()
    shown = kinds_shown(app, learned)
    assert {shown[photo.name] for photo in learned.scored.photos if photo.kind == "scratch"} == {"no defect type"}
    assert list(shown.values()).count("dent") == 2
    assert "Learning needs at least two defect types" in words(app)
    assert now(learned).defect_types.names == ("dent", "scratch")


def test_what_cannot_be_learned_is_said_in_the_page(ready, labelled, monkeypatch):
    monkeypatch.setattr(crops, "embedding", lambda part, position, box: np.ones(8, np.float32))
    app = finish(ready.button(key="learn_kinds").click().run())
    assert "all alike" in app.error[0].value
    assert now(labelled).defect_types is None


def test_cancelling_changes_nothing(ready, labelled, monkeypatch):
    own = crops.embedding

    def cancelled_at_once(part, position, box):
        shell.jobs().current.cancel()
        return own(part, position, box)

    monkeypatch.setattr(crops, "embedding", cancelled_at_once)
    app = finish(ready.button(key="learn_kinds").click().run())
    assert shell.jobs().current.state is State.CANCELLED
    assert now(labelled).defect_types is None
    assert not app.error


def on_page_and_line(part, recipe):
    """The recipe's verdicts on the part's photos, after the page gave the same."""
    found = []
    for position, photo in enumerate(part.scored.photos):
        ours = inspect(read(photo.path).pixels, recipe, backbone=part.preparation.backbone)
        view = views.of_model(now(part), position, dict(recipe.live), recipe.limits)
        page = views.verdict_of(now(part), view, recipe.guard, gone=False)
        assert np.array_equal(page.anomaly_map, ours.anomaly_map)
        names = {field.name for field in fields(ours)} - {"anomaly_map", "placement", "left_out"}
        assert [getattr(page, name) for name in names] == [getattr(ours, name) for name in names], photo.name
        preview = views.verdict_of(now(part), replace(view, preview=True), recipe.guard, gone=False)
        assert (preview.verdict, preview.kind, preview.of_unknown_type) == (ours.verdict, None, False)
        found.append(ours)
    return found


def test_a_photo_stopped_by_the_product_check_is_told_alike_by_page_and_recipe(open_app, learned):
    part, preparation = now(learned), learned.preparation
    scores = [
        float(part.guard.score(*preparation.describe(part.pixels(i))[1:])[0]) for i in range(len(part.scored.photos))
    ]
    strict = replace(part.guard, mode="stop", limit=float(np.median(scores)))
    sure = part.defect_types.with_limit(0.0)
    shelf.change(part.id, lambda held: replace(held, guard=strict, defect_types=sure))
    verdicts = on_page_and_line(learned, part.study.recipe(guard=strict, defect_types=sure))
    stopped = [verdict for verdict in verdicts if verdict.reason == "other product"]
    assert {verdict.verdict for verdict in stopped} == {"reject"}
    assert {defect_naming.in_words(verdict) for verdict in stopped} == {"other product"}
    assert any(not verdict.regions for verdict in stopped), "under the limit, and stopped all the same"
    assert any(verdict.kind for verdict in verdicts if verdict not in stopped)


def test_inspect_names_the_kind_as_the_recipe_does(open_app, learned, workspace):
    app = open_app()
    app.slider(key=f"minimum_confidence-inspect-{learned.id}").set_value(55).run()
    assert not app.exception
    assert now(learned).defect_types.minimum_confidence == 0.55
    app.text_input(key=f"recipe_name-{learned.id}").set_value("Named").run()
    app.button(key=f"save-{learned.id}").click().run()
    recipe = recipe_file.load(workspace / "recipes/Named.zip")
    verdicts = on_page_and_line(learned, recipe)
    assert {verdict.kind is not None for verdict in verdicts} == {True, False}
    assert all(verdict.kind is None for verdict in verdicts if verdict.verdict == "accept")
    points = np.random.default_rng(0).normal(size=(5, 1280)).astype(np.float32)
    kept, again = now(learned).defect_types.classifier, recipe.defect_types.classifier
    assert np.array_equal(kept.predict_proba(points), again.predict_proba(points))


def test_an_opened_recipe_brings_its_kinds(open_app, learned, exported, workspace):
    recipe_file.save(
        learned.study.recipe(product="flange", defect_types=now(learned).defect_types), workspace / "recipes/k.zip"
    )
    app = open_app("pages/recipes.py")
    app.button(key="open-k.zip").click().run()
    assert not app.exception
    opened = shelf._shelf().last_used()
    assert opened.defect_types.names == ("dent", "scratch")
    assert opened.defect_types.minimum_confidence == now(learned).defect_types.minimum_confidence
    app.switch_page(PAGE).run()
    assert not app.exception, app.exception
    assert "Knows **dent, scratch**" in words(app)
    assert "There is no defect to label yet" in words(app)
