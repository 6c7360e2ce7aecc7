"""The Defect types page: labels in the gallery, what learning shows, and the names on Inspect and in the recipe."""

from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from inspect_core.classify import net_training
from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.images.photo_reader import read
from inspect_core.recipe import inspect
from inspect_core.recipe_io import recipe_file
from inspect_core.runtime.jobs import JobState
from inspect_core.ui import crops, defect_naming, shell, teaching_job
from inspect_core.ui.defect_types import training_job as kinds_training
from inspect_core.ui.defect_types import training_results
from inspect_core.ui.defect_types.training_panel import WHOLE
from inspect_core.ui.inspect import bench_states
from inspect_core.whole_part import defect_type_training
from inspect_core.workbench import defect_labels
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import finish, open_recipe, press, save_recipe, wait_for_job, words

PAGE = "pages/defect_types.py"


@pytest.fixture(autouse=True)
def quick(monkeypatch, no_first_start):
    """Few trees, and no other products to ask about."""
    monkeypatch.setitem(defect_type_training.FITS, defect_type_training.FOREST, partial(fit_kdf, trees=30))


@pytest.fixture
def labelled(in_the_hand):
    """The taught part with two dents and two scratches: one dent is a good part labelled so."""
    good = next(i for i, photo in enumerate(in_the_hand.scored.photos) if photo.label == "good")
    defect_labels.set_label(in_the_hand, [good], "dent")
    return in_the_hand


@pytest.fixture
def ready(open_app, labelled):
    """The page with every photo counted as another part: their numbers look like bursts of one."""
    return open_app(PAGE).toggle(key=f"together-{labelled.id}").set_value(False).run()


@pytest.fixture
def app(ready):
    """`ready`, and the defect types have been learned."""
    return learn(ready)


def learn(app):
    return finish(press(app, "learn_kinds"))


def now(part):
    return shelf().find(part.id)


def set_limit(app, part, percent: int) -> None:
    app.slider(key=f"minimum_confidence-kinds-{part.id}").set_value(percent).run()


def kinds_shown(app, part) -> dict[str, str]:
    """Name of the photo -> what its button says."""
    keys = {f"kind-{part.id}-{photo.digest}": photo.name for photo in part.scored.photos}
    return {keys[button.key]: button.label for button in app.button if button.key in keys}


def test_with_nothing_taught_it_says_what_to_do(open_app):
    app = open_app(PAGE)
    assert "No product has been taught yet." in app.info[0].value
    assert app.button(key="to_teach").label == "Teach a product"


def test_folders_give_kinds_and_clicks_give_and_take_them_away(open_app, in_the_hand):
    part, app = in_the_hand, open_app(PAGE)
    table = app.dataframe[0].value
    assert table["defect type"].tolist() == ["dent", "scratch"]
    assert table["photos"].tolist() == [1, 2]
    assert table["next step"][0] == "1 more needed for training"
    assert "Training needs at least two defect types with" in words(app)
    assert app.button(key="learn_kinds").disabled

    app.pills(key=f"show-{part.id}").set_value("scratch").run()
    assert set(kinds_shown(app, part).values()) == {"scratch"}
    app.segmented_control(key=f"look_at-{part.id}").set_value(WHOLE).run()
    assert len(kinds_shown(app, part)) == 2
    app.pills(key=f"show-{part.id}").set_value(None).run()

    scratch = next(photo for photo in part.scored.photos if photo.label == "scratch")
    key = f"kind-{part.id}-{scratch.digest}"
    assert "First select or type a defect type above." in press(app, key).toast[0].value
    assert kinds_shown(app, part)[scratch.name] == "scratch"
    app.selectbox(key=f"brush-{part.id}").set_value("dent").run()
    assert kinds_shown(press(app, key), part)[scratch.name] == "dent"
    assert kinds_shown(press(app, key), part)[scratch.name] == "unlabelled"


def test_a_photo_that_is_gone_is_named_in_its_place(open_app, in_the_hand, monkeypatch):
    photos = list(in_the_hand.scored.photos)
    lost = next(i for i, photo in enumerate(photos) if photo.label == "scratch")
    photos[lost] = replace(photos[lost], path=Path("moved/away.png"), digest="0" * 64)
    monkeypatch.setattr(in_the_hand.scored, "photos", tuple(photos))
    app = open_app(PAGE)
    assert "away.png" in words(app)
    assert kinds_shown(app, in_the_hand)[photos[lost].name] == "scratch"


def test_learning_leads_to_figures_and_a_live_limit_of_its_own(app, labelled, monkeypatch):
    assert now(labelled).defect_types.names == ("dent", "scratch")
    assert "The most likely defect type is correct for" in words(app)
    assert "of 4** known defects are named" in words(app)
    assert len(app.get("plotly_chart")) == 3
    training, table = kinds_training.last(now(labelled)), app.dataframe[0].value
    assert table["model"].tolist() == ["kernel density forest (in use)", "random forest only"]
    assert len(table.columns) == 4, "nothing of other products, as there are none"
    far = replace(training, foreign=np.full((3, 2), 0.5), foreign_parent=np.tile([0.9, 0.1], (3, 1)))
    (errors,) = training_results.elsewhere(far, np.array([0.5, 0.5])).values()
    assert errors == ["0.0%", "40.0%"]
    for posterior, guessing in ((np.eye(2)[training.unseen.y], False), (np.full((4, 2), 0.5), True)):
        with monkeypatch.context() as patch:
            patch.setitem(training.__dict__, "posterior", posterior)
            assert training_results.is_guessing(training) is guessing
            assert ("This is little better than guessing," in words(app.run())) is guessing

    slider = f"minimum_confidence-kinds-{labelled.id}"
    assert app.run().slider(key=slider).value == round(100 * now(labelled).defect_types.minimum_confidence)
    set_limit(app, labelled, 100)
    assert now(labelled).defect_types.minimum_confidence == 1.0
    assert "**0 of 4** known defects are named" in words(app)
    counts = training_results.confusion(training, 1.0)
    assert (counts[:, :2].sum(), counts[:, 2].sum()) == (0, 4)
    set_limit(app, labelled, 99)
    learn(app)
    minimum = now(labelled).defect_types.minimum_confidence
    assert minimum != 0.99
    assert app.slider(key=slider).value == round(100 * minimum)


def test_cancelling_and_errors_change_nothing_with_either_parent(ready, labelled, monkeypatch):
    def cancelled_at_once(part, pairs, job=crops.embeddings):
        shell.jobs().current.cancel()
        return job(part, pairs)

    with monkeypatch.context() as patch:
        patch.setattr(crops, "embeddings", cancelled_at_once)
        press(ready, "learn_kinds")
        wait_for_job()
        assert not ready.run().error
    assert shell.jobs().current.state is JobState.CANCELLED
    assert now(labelled).defect_types is None

    with monkeypatch.context() as patch:
        patch.setattr(crops, "embeddings", lambda part, pairs: [np.ones(8, np.float32) for _ in pairs])
        press(ready, "learn_kinds")
        wait_for_job()
        assert "all alike" in ready.run().error[0].value
    assert now(labelled).defect_types is None

    monkeypatch.setattr(net_training, "LARGEST_EPOCHS", 20)
    learn(ready.radio(key=f"parent-{labelled.id}").set_value(defect_type_training.NETWORK).run())
    assert now(labelled).defect_types.params()["classifier"]["parent"] == "network"
    assert "kernel density network (in use)" in ready.dataframe[0].value["model"].tolist()


def test_types_are_renamed_joined_and_removed(app, labelled):
    def rename(old: str, new: str) -> None:
        app.selectbox(key=f"old-{labelled.id}").set_value(old).run()
        app.text_input(key=f"new-{labelled.id}").set_value(new).run()
        assert ("The two types will be merged;" in words(app)) is (new == "scratch")
        press(app, f"rename-{labelled.id}")
        assert now(labelled).defect_types.names == ("dimple", "scratch")

    rename("dent", "  dimple ")
    assert "Train again to use them." not in words(app)
    app.selectbox(key=f"old-{labelled.id}").set_value("scratch").run()
    press(app, f"remove-{labelled.id}")
    shown = kinds_shown(app, labelled)
    scratches = [i for i, photo in enumerate(labelled.scored.photos) if photo.label == "scratch"]
    assert {shown[labelled.scored.photos[i].name] for i in scratches} == {"unlabelled"}
    assert list(shown.values()).count("dimple") == 2
    assert "Training needs at least two defect types with" in words(app)
    assert now(labelled).defect_types.names == ("dimple", "scratch")
    defect_labels.set_label(labelled, scratches, "scratch")
    assert "Train again to use them." not in words(app.run())
    rename("dimple", "scratch")
    assert "Train again to use them." in words(app)


def on_page_and_line(part, recipe):
    """The recipe's verdicts on the part's photos, after the page gave the same."""
    answers = []
    for position, photo in enumerate(part.scored.photos):
        ours = inspect(read(photo.path).pixels, recipe, backbone=part.extractor.backbone)
        view = bench_states.of_model(now(part), position)
        page = bench_states.verdict_of(now(part), view, photo_missing=False)
        assert np.array_equal(page.anomaly_map, ours.anomaly_map)
        names = {field.name for field in fields(ours)} - {"anomaly_map", "placement", "left_out"}
        assert [getattr(page, name) for name in names] == [getattr(ours, name) for name in names], photo.name
        preview = bench_states.verdict_of(now(part), replace(view, preview=True), photo_missing=False)
        assert (preview.verdict, preview.defect_type, preview.of_unknown_type) == (ours.verdict, None, False)
        answers.append(ours)
    return answers


def test_product_check_verdict_is_equal_on_page_and_recipe(app, labelled):
    part = now(labelled)
    pictures = [part.extractor.network_input(part.pixels(i)) for i in range(len(part.scored.photos))]
    embedded = [part.extractor.describe([picture], [picture])[1:] for picture in pictures]
    middle = float(np.median([part.product_check.score(*embedding)[0] for embedding in embedded]))
    strict = replace(part.product_check, mode="stop", limit=middle)
    sure = part.defect_types.with_limit(0.0)
    shelf().change(part.id, lambda product: replace(product, product_check=strict, defect_types=sure))
    verdicts = on_page_and_line(labelled, part.study.recipe(product_check=strict, defect_types=sure))
    stopped = [verdict for verdict in verdicts if verdict.reason == "other product"]
    assert {verdict.verdict for verdict in stopped} == {"reject"}
    assert {defect_naming.in_words(verdict) for verdict in stopped} == {"other product"}
    assert any(not verdict.regions for verdict in stopped), "under the limit, and stopped all the same"
    assert any(verdict.defect_type for verdict in verdicts if verdict not in stopped)


def test_inspect_names_the_type_as_the_recipe_does(app, labelled, workspace):
    app.switch_page("pages/inspect.py").run()
    app.slider(key=f"minimum_confidence-inspect-{labelled.id}").set_value(51).run()
    assert not app.exception
    assert now(labelled).defect_types.minimum_confidence == 0.51
    save_recipe(app, "Named")
    recipe = recipe_file.load(workspace / "recipes/Named.zip")
    verdicts = on_page_and_line(labelled, recipe)
    assert {verdict.defect_type is not None for verdict in verdicts} == {True, False}
    assert all(verdict.defect_type is None for verdict in verdicts if verdict.verdict == "accept")
    points = np.random.default_rng(0).normal(size=(5, 1280)).astype(np.float32)
    classifier, restored = now(labelled).defect_types.classifier, recipe.defect_types.classifier
    assert np.array_equal(classifier.predict_proba(points), restored.predict_proba(points))

    open_recipe(app.switch_page("pages/recipes.py").run(), "Named.zip")
    opened = shelf().find(app.session_state["in_hand"])
    assert opened.id != labelled.id
    assert opened.defect_types.names == ("dent", "scratch")
    assert opened.defect_types.minimum_confidence == 0.51
    app.switch_page(PAGE).run()
    assert not app.exception, app.exception
    assert "Trained on **dent, scratch**" in words(app)
    assert "Nothing to label yet:" in words(app)


def test_first_sample_says_why_it_is_hard_and_names_another(open_app, in_the_hand, monkeypatch):
    assert "Linen works" not in words(open_app("pages/defect_types.py")), "the samples are not there"
    monkeypatch.setattr(teaching_job, "samples", lambda: ("flange", "linen"))
    asked: list[str] = []
    monkeypatch.setattr(teaching_job, "start_sample", asked.append)
    app = open_app("pages/defect_types.py")
    assert "Linen works" in words(app)
    press(app, "to_linen")
    assert asked == ["linen"]
