import re
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inspect_core.datasets.folders import scan
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.study import scored_photos
from inspect_core.study.study import Study
from inspect_core.tuning.patch_sample import explained
from inspect_core.ui.inspect import inspect_panels
from inspect_core.ui.session import SessionSettings
from inspect_core.verdict import Limits
from inspect_core.workbench import fitted_product, previews, taught_product, transitions
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import (
    begins_elsewhere,
    latest,
    limit_by_hand,
    press,
    save_recipe,
    sent_back,
    sign,
    slider,
    wait_until,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> FeatureStore:
    return FeatureStore(tmp_path_factory.mktemp("features"))


def teach(product, backbone, store, method: str, **parameters):
    study = Study.from_photos(scan(product), backbone, store, method=method, parameters=parameters, grid=(16, 16)).fit()
    return fitted_product.product_from_study("flange", study)


@pytest.fixture(scope="module")
def corp(product, backbone, store):
    return teach(product, backbone, store, "corp", M=128)


@pytest.fixture
def corp_in_hand(corp, fresh_process_state):
    shelf().put(corp)
    return corp


def settings(app, flange) -> SessionSettings:
    return app.session_state[f"settings-{flange.id}"]


def captions(app) -> str:
    return " ".join(element.value for element in app.caption)


def preview_done(app, flange) -> previews.PreviewRun:
    run = settings(app, flange).preview
    assert run.ended.wait(60)
    assert run.error == ""
    return run


@pytest.fixture
def fit_of_all(monkeypatch) -> threading.Event:
    """Set, the full fit after a preview may begin; until then the preview stays."""
    may_begin, fit_all = threading.Event(), previews.fit_all

    def wait(product, run):
        while not (may_begin.wait(0.01) or run.cancelled):
            pass
        if not run.cancelled:
            fit_all(product, run)

    monkeypatch.setattr(previews, "fit_all", wait)
    return may_begin


def scored_all(app, flange) -> previews.PreviewRun:
    """The preview on the bench with verdicts, before the full fit."""
    run = settings(app, flange).preview
    wait_until(lambda: run.complete or run.error)
    assert run.error == ""
    app.run()
    assert not app.exception
    return run


def test_exactly_the_parameters_of_the_detector_are_there(open_app, in_the_hand):
    app = open_app("pages/inspect.py")
    assert [element.label for element in app.select_slider] == ["Detail (k)", "Minimum area (N)"]
    assert f"Current: {in_the_hand.scored.live['k']} · higher detects finer changes" in captions(app)


def test_scale_gives_square_millimetres_and_is_saved(open_app, in_the_hand, workspace):
    app = open_app("pages/inspect.py")
    before = slider(app, "area", in_the_hand)
    assert not any("mm²" in option for option in before.options)
    chosen = before.value
    app.number_input(key=f"scale-{in_the_hand.id}").set_value(0.05).run()
    assert not app.exception
    after = slider(app, "area", in_the_hand)
    assert after.value == chosen
    assert all(option.endswith(" mm²") for option in after.options)
    save_recipe(app)
    assert shelf().find(in_the_hand.id).recipe.mm_per_pixel == 0.05


def test_preview_that_ends_during_drawing_is_shown(open_app, corp_in_hand, monkeypatch, fit_of_all):
    app, notes, begun = open_app("pages/inspect.py"), [], threading.Event()
    of_preview, work = inspect_panels.bench_states.of_preview, previews.PreviewRun.work

    def drawn(open_product, position, run, *others):
        view = of_preview(open_product, position, run, *others)
        notes.append(view.note)
        begun.set()
        wait_until(lambda: run.complete)
        return view

    monkeypatch.setattr(inspect_panels.bench_states, "of_preview", drawn)
    monkeypatch.setattr(previews.PreviewRun, "work", lambda run, *rest: begun.wait(60) and work(run, *rest))
    slider(app, "gamma", corp_in_hand).set_value(previews_options(corp_in_hand)[-1]).run()
    assert not app.exception
    assert "Computing the preview" in notes[0]
    assert "The fit of all of them follows" in notes[-1]


def test_a_slider_of_a_preview_before_moves_nothing(open_app, corp_in_hand, monkeypatch, fit_of_all):
    app, goes_on, work = open_app("pages/inspect.py"), threading.Event(), previews.PreviewRun.work
    first, second = previews_options(corp_in_hand)[-2:]
    slider(app, "gamma", corp_in_hand).set_value(first).run()
    shown = scored_all(app, corp_in_hand)
    monkeypatch.setattr(previews.PreviewRun, "work", lambda run, *rest: goes_on.wait(60) and work(run, *rest))
    moved = app.select_slider(key=f"q-{corp_in_hand.id}-{shown.number}")
    settings(app, corp_in_hand).preview = follower = previews.PreviewRun(
        {"gamma": second, "M": 128}, shown.photos, 0, {}
    )
    moved.set_value(shown.scored.stops("q")[0]).run()
    assert not app.exception
    assert follower.live == {}
    goes_on.set()


def test_m_of_quadrics_moves_at_once(open_app, product, backbone, store, fresh_process_state):
    open_product = teach(product, backbone, store, "quadrics", m=20, components=8, patches=600)
    shelf().put(open_product)
    app = open_app("pages/inspect.py")
    assert [element.label for element in app.select_slider] == ["Surfaces (m)", "Minimum area (N)"]
    slider(app, "m", open_product).set_value(5).run()
    assert not app.exception
    assert latest(open_product).live == open_product.scored.live | {"m": 5}
    assert "Current: 5" in captions(app)


def test_a_move_computes_each_score_once(open_app, flange, fresh_process_state, monkeypatch):
    part = replace(flange, id="counted", _memo=taught_product._Memo())
    shelf().put(part)
    photo = Path(__file__).resolve().parents[2] / "sample_data/linen/test/good/part_060.jpg"
    added = shelf().add(part, read(photo))
    app = open_app("pages/inspect.py")
    before = added.suggested_limits(latest(part).live)
    limit_by_hand(part, Limits(before.review * 1.5, before.reject * 2))
    stop, ranked, scores = added.scored.stops("k")[1], [], scored_photos.scores_by_area
    monkeypatch.setattr(
        scored_photos, "scores_by_area", lambda maps, areas: ranked.append(len(maps)) or scores(maps, areas)
    )
    slider(app, "k", part).set_value(stop).run()
    assert not app.exception
    assert len(added.scored.photos) == len(part.study.photos) + 1
    repeats = int((added.scored.stored.repeat_rows >= 0).sum())
    assert ranked == [len(added.scored.photos), *([repeats] if repeats else [])]
    after = part.study.default_limits(k=stop)
    assert added.suggested_limits({"k": stop}) == after
    assert latest(part).limits_by_hand.reject == pytest.approx(2 * after.reject)

    ranked.clear()
    slider(app, "area", part).set_value(1).run()
    assert not app.exception
    assert ranked == [], "a move of the smallest area makes no map"
    after = part.study.default_limits(k=stop, area=1)
    assert latest(part).limits_by_hand.reject == pytest.approx(2 * after.reject)


def test_corp_shows_its_values(open_app, corp_in_hand):
    app = open_app("pages/inspect.py")
    assert [sign(element) for element in app.select_slider] == ["q", "γ", "M", "N"]
    q = slider(app, "q", corp_in_hand)
    assert q.value == corp_in_hand.study.live["q"]
    assert re.fullmatch(r"[\d.]+ % · q = 0|[\d.]+ % · q = 1", q.options[0]), "the share of variance comes first"


def test_a_move_of_q_is_instant_and_in_force(open_app, corp_in_hand):
    app = open_app("pages/inspect.py")
    slider(app, "q", corp_in_hand).set_value(5).run()
    assert not app.exception
    assert latest(corp_in_hand).live == corp_in_hand.scored.live | {"q": 5}
    assert slider(app, "q", corp_in_hand).value == 5
    assert settings(app, corp_in_hand).preview is None
    assert sent_back(app) == []


def test_a_move_of_gamma_previews_then_fits_and_is_undone(open_app, corp_in_hand, drawn, fit_of_all):
    app = open_app("pages/inspect.py")
    assert not drawn[-1].preview
    assert "of 4 good" in drawn[-1].sentence
    before = corp_in_hand.scored
    gamma = slider(app, "gamma", corp_in_hand)
    sharper = max(gamma.options, key=float)
    gamma.set_value(sorted(previews_options(corp_in_hand))[-1]).run()
    run = scored_all(app, corp_in_hand)
    assert {(state.sentence, len(state.setting_scores)) for state in drawn if state.preview} <= {
        ("Preview: verdicts follow as soon as all photos are scored.", 0)
    }
    assert not drawn[-1].preview
    assert "of 4 good" in drawn[-1].sentence, "verdicts of the preview"
    assert drawn[-1].limits == run.scored.default_limits(**run.live)
    assert "Expected among the next 100 good parts" in captions(app)
    assert float(sharper) == pytest.approx(run.parameters["gamma"], rel=0.01)
    assert shelf().find(corp_in_hand.id).scored is before
    assert latest(corp_in_hand).live == corp_in_hand.scored.live
    assert f"save-{corp_in_hand.id}" not in [button.key for button in app.button], "a preview is not to be saved"

    fit_of_all.set()
    preview_done(app, corp_in_hand)
    app.run()
    assert not app.exception
    fitted = shelf().find(corp_in_hand.id)
    assert fitted is not corp_in_hand
    assert not drawn[-1].preview
    assert "of 4 good" in drawn[-1].sentence
    (view,) = fitted.scored.views
    assert view.detector.feature_map.gamma == run.parameters["gamma"]
    assert fitted.study.recipe().views[0].detector is view.detector
    assert [photo.name for photo in fitted.scored.photos] == [photo.name for photo in before.photos]
    assert slider(app, "gamma", fitted).value == run.parameters["gamma"]
    assert settings(app, fitted).preview is None
    assert f"save-{corp_in_hand.id}" in [button.key for button in app.button]
    assert not fitted.is_saved

    assert "· fitted" in captions(app)
    app.button(key=f"undo-{fitted.id}").click().run()
    assert not app.exception
    assert slider(app, "gamma", corp_in_hand).value == corp_in_hand.fitted()["gamma"]
    assert settings(app, corp_in_hand).preview is None
    assert drawn[-1].scores.tolist() == before.scores().tolist(), "to the bit"
    assert "· fitted" not in captions(app)


def test_no_control_begins_elsewhere_than_it_stands(open_app, corp_in_hand, fit_of_all):
    """k and N once went to 1 by themselves: a browser had mounted their sliders after the run that set them."""
    app = open_app("pages/inspect.py")
    slider(app, "q", corp_in_hand).set_value(5).run()
    slider(app, "area", corp_in_hand).set_value(1).run()
    app.number_input(key=f"scale-{corp_in_hand.id}").set_value(0.05).run()
    assert begins_elsewhere(app.run()) == []
    slider(app, "gamma", corp_in_hand).set_value(sorted(previews_options(corp_in_hand))[-1]).run()
    scored_all(app, corp_in_hand)
    assert begins_elsewhere(app.run()) == []
    fit_of_all.set()
    preview_done(app, corp_in_hand)
    app.run()
    assert begins_elsewhere(app.run()) == []


def test_a_second_window_takes_on_what_is_fitted(open_app, corp_in_hand, drawn):
    first, second = open_app("pages/inspect.py"), open_app("pages/inspect.py")
    stronger = sorted(previews_options(corp_in_hand))[-1]
    slider(first, "gamma", corp_in_hand).set_value(stronger).run()
    preview_done(first, corp_in_hand)
    second.run()
    assert not second.exception
    assert slider(second, "gamma", corp_in_hand).value == stronger
    assert settings(second, corp_in_hand).preview is None, "it asks for no preview of what was before"
    fitted = shelf().find(corp_in_hand.id)
    assert drawn[-1].scores.tolist() == fitted.scored.scores().tolist()
    assert latest(corp_in_hand).live == fitted.scored.live


def test_an_old_value_sent_once_more_moves_nothing_back(open_app, corp_in_hand):
    """As by a browser that has not been told of Undo, or of a fit in another window, before its next event."""
    first, second = open_app("pages/inspect.py"), open_app("pages/inspect.py")
    stronger = sorted(previews_options(corp_in_hand))[-1]
    old = slider(second, "gamma", corp_in_hand).key
    slider(first, "gamma", corp_in_hand).set_value(stronger).run()
    preview_done(first, corp_in_hand)
    assert slider(second.run(), "gamma", corp_in_hand).key != old
    first.run()
    old = slider(first, "gamma", corp_in_hand).key
    press(first, f"undo-{corp_in_hand.id}")
    assert slider(first, "gamma", corp_in_hand).key != old


def test_the_value_moved_last_is_in_force_after_fits_in_between(open_app, corp_in_hand):
    app, options = open_app("pages/inspect.py"), previews_options(corp_in_hand)
    slider(app, "gamma", corp_in_hand).set_value(options[-1]).run()
    preview_done(app, corp_in_hand)  # the page does not know of it yet
    slider(app, "gamma", corp_in_hand).set_value(options[-3]).run()
    assert not app.exception
    assert slider(app, "gamma", corp_in_hand).value == pytest.approx(options[-3])
    preview_done(app, corp_in_hand)
    app.run()
    assert shelf().find(corp_in_hand.id).fitted()["gamma"] == pytest.approx(options[-3])


def test_a_run_goes_on_while_another_page_is_open(open_app, corp_in_hand, fit_of_all):
    app = open_app("pages/inspect.py")
    stronger = sorted(previews_options(corp_in_hand))[-1]
    slider(app, "gamma", corp_in_hand).set_value(stronger).run()
    run = scored_all(app, corp_in_hand)
    app.switch_page("pages/explore.py").run()
    assert "γ 16, M 128 is being fitted. Until then this page shows γ 1, M 128." in app.info[0].value
    app.switch_page("pages/inspect.py").run()
    assert not app.exception
    assert slider(app, "gamma", corp_in_hand).value == stronger
    assert settings(app, corp_in_hand).preview is run
    fit_of_all.set()
    preview_done(app, corp_in_hand)
    assert shelf().find(corp_in_hand.id).fitted()["gamma"] == stronger


def test_limits_set_in_a_preview_are_its_own_and_go_along(open_app, corp_in_hand, drawn, fit_of_all):
    app = open_app("pages/inspect.py")
    slider(app, "gamma", corp_in_hand).set_value(sorted(previews_options(corp_in_hand))[-1]).run()
    run = scored_all(app, corp_in_hand)
    suggested = drawn[-1].suggested
    run.limits = Limits(suggested.review / 2, suggested.reject / 2)
    app.run()
    assert drawn[-1].limits == run.limits
    assert latest(corp_in_hand).limits_by_hand is None, "those of the model in force stay"
    fit_of_all.set()
    preview_done(app, corp_in_hand)
    app.run()
    assert drawn[-1].limits.reject == pytest.approx(drawn[-1].suggested.reject / 2)


def test_a_fit_that_fails_is_named_and_undone(open_app, corp_in_hand, monkeypatch):
    def fails(*_):
        raise ValueError("no room for it")

    monkeypatch.setattr(Study, "fit", fails)
    app = open_app("pages/inspect.py")
    slider(app, "gamma", corp_in_hand).set_value(sorted(previews_options(corp_in_hand))[-1]).run()
    assert settings(app, corp_in_hand).preview.ended.wait(60)
    app.run()
    assert "no room for it" in app.error[0].value
    app.button(key=f"undo-{corp_in_hand.id}").click().run()
    assert not app.error
    assert slider(app, "gamma", corp_in_hand).value == corp_in_hand.fitted()["gamma"]


def test_leaving_the_preview_stops_it(open_app, corp_in_hand, monkeypatch):
    left, features = threading.Event(), Study.features

    def held_back(study, photo):
        assert left.wait(60)
        return features(study, photo)

    monkeypatch.setattr(Study, "features", held_back)
    app = open_app("pages/inspect.py")
    slider(app, "M", corp_in_hand).set_value(512).run()
    run = settings(app, corp_in_hand).preview
    app.button(key=f"undo-{corp_in_hand.id}").click().run()
    left.set()
    assert not app.exception
    assert run.ended.wait(60)
    assert run.done <= 1 < len(run.photos), "the photo in work is the last"
    assert not run.complete
    assert settings(app, corp_in_hand).preview is None
    assert slider(app, "M", corp_in_hand).value == 128


def test_a_refit_keeps_what_was_set_and_says_what_became_of_it(open_app, corp_in_hand):
    app = open_app("pages/inspect.py")
    stop = corp_in_hand.scored.stops("q")[4]
    slider(app, "q", corp_in_hand).set_value(stop).run()
    slider(app, "area", corp_in_hand).set_value(1).run()
    live = latest(corp_in_hand).live
    suggested = corp_in_hand.suggested_limits(live)
    limit_by_hand(corp_in_hand, Limits(1.5 * suggested.review, 2 * suggested.reject))
    app.run()
    slider(app, "gamma", corp_in_hand).set_value(previews_options(corp_in_hand)[-1]).run()
    run = preview_done(app, corp_in_hand)
    assert run.live["q"] == stop
    app.run()
    fitted = shelf().find(corp_in_hand.id)
    assert latest(fitted).live == {"q": stop, "area": 1}
    now = fitted.suggested_limits(latest(fitted).live)
    assert latest(fitted).limits_by_hand.reject == pytest.approx(2 * now.reject)
    (note,) = (note for note in fitted.notes if note.startswith(transitions.KEPT))
    assert f"q {stop}; area 1; limits" in note
    assert "became" in note


def test_the_width_of_the_exact_kernel_has_a_preview_too(open_app, product, backbone, store, fresh_process_state):
    open_product = teach(product, backbone, store, "kernel_pca", patches=200)
    shelf().put(open_product)
    app = open_app("pages/inspect.py")
    assert [sign(element) for element in app.select_slider] == ["q", "σ", "N"]
    sigma = slider(app, "sigma", open_product)
    wider = open_product.scored.views[0].detector.kernel.sigma * 2
    sigma.set_value(min(previews_options(open_product, "sigma"), key=lambda value: abs(value - wider))).run()
    run = preview_done(app, open_product)
    app.run()
    assert not app.exception
    full = open_product.study.with_parameters(run.parameters).fit()
    q = run.live["q"]
    assert np.array_equal(run.scored.scores(q=q), full.scores(q=q)), "its sample is that of the full fit"


def previews_options(flange, name: str = "gamma") -> list[float]:
    from inspect_core.ui.inspect import live_parameters

    return live_parameters._stops(flange, name)


def test_explained_variance_is_typed_and_q_follows(open_app, corp_in_hand):
    app = open_app("pages/inspect.py")

    def typed():
        (field,) = (field for field in app.number_input if "|" in field.key)
        return field

    view = corp_in_hand.scored.views[0]
    shares = dict(zip(view.stops, 100 * explained(view, view.stops), strict=True))
    assert typed().value == pytest.approx(shares[corp_in_hand.scored.live["q"]], abs=0.01)
    q = view.stops[6]
    typed().set_value((shares[q] + shares[view.stops[7]]) / 2 - 0.01).run()
    assert not app.exception
    assert latest(corp_in_hand).live["q"] == q
    assert slider(app, "q", corp_in_hand).value == q
    assert typed().value == pytest.approx(shares[q], abs=0.01), "it shows the share of the value in force"
