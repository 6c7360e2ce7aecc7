"""Several sessions at once: each takes only what it started, and nobody's bench changes under the hand."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from inspect_core.images.photo_reader import DecodedPhoto
from inspect_core.recipe_io.recipe_file import load
from inspect_core.study.photo_evidence import evidence_of
from inspect_core.ui import shell, teaching_job
from inspect_core.ui.inspect import bench_states
from inspect_core.ui.teach import teach_panels
from inspect_core.verdict import Limits
from inspect_core.workbench import taught_product, transitions, uploads
from inspect_core.workbench.shelf import SIZE, shelf
from inspect_core.workbench.taught_product import TaughtProduct
from tests.pages.waiting import another, latest, limit_by_hand, press, save_recipe, slider, wait_for_job, words


@pytest.fixture
def no_forecast(monkeypatch):
    monkeypatch.setattr(teach_panels, "show_plan", lambda order: None)


def picture(seed: int) -> DecodedPhoto:
    pixels = np.random.default_rng(seed).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    return DecodedPhoto(f"new{seed}.png", pixels, f"{seed:064x}")


def test_job_end_is_told_to_all_and_taken_by_its_starter(open_app, flange, in_the_hand, no_forecast, monkeypatch):
    made, problem = another(flange), ValueError("there is no good photo")

    def fail(order, report):
        raise problem

    here, there = open_app("pages/inspect.py"), open_app("pages/teach.py")
    monkeypatch.setattr(teaching_job, "teach", fail)
    press(there, "teach")
    wait_for_job()
    assert f"failed at {time.strftime('%H:')}" in words(here.run())
    assert str(problem) in words(here)
    assert not here.error
    assert there.run().error[0].value == "**Teaching board** failed: there is no good photo"
    monkeypatch.setattr(teaching_job, "teach", lambda order, report: made)
    press(there, "teach")
    wait_for_job()
    here.run()
    assert here.session_state["in_hand"] == in_the_hand.id
    assert "finished in" in words(here)
    there.run()
    assert there.session_state["in_hand"] == made.id
    assert not here.exception
    assert not there.exception


def test_a_page_stays_when_a_job_ends_elsewhere(open_app, flange, in_the_hand, no_forecast, monkeypatch):
    """Who has gone on to another page keeps the product in hand; the sidebar offers the new one."""
    made, go_on = another(flange), threading.Event()
    monkeypatch.setattr(teaching_job, "teach", lambda order, report: go_on.wait(60) and made)
    app = open_app("pages/teach.py")
    press(app, "teach")
    app.switch_page("pages/inspect.py").run()
    go_on.set()
    wait_for_job()
    app.run()
    assert not app.exception
    assert app.session_state["in_hand"] == in_the_hand.id
    (offer,) = [button for button in app.button if (button.key or "").startswith("open-ended-")]
    assert offer.label == "Open"
    offer.click().run()
    assert app.run().session_state["in_hand"] == made.id
    assert not [button for button in app.button if (button.key or "").startswith("open-ended-")]


def test_job_result_outlives_its_session_and_the_next_job(open_app, flange, in_the_hand, no_forecast, monkeypatch):
    parts = [another(flange), another(flange)]
    made = iter(parts)
    monkeypatch.setattr(teaching_job, "teach", lambda order, report: replace(next(made), product=order.product))
    first, second = open_app("pages/teach.py"), open_app("pages/teach.py")
    for app in (first, second):
        press(app, "teach")
        wait_for_job()
    assert first.run().session_state["in_hand"] == parts[0].id
    (name,) = [element for element in first.text_input if element.label == "Product name"]
    assert f"**{name.value}** is ready." in [element.value for element in first.success]
    assert first.button(key="open_taught").label == "Open on Inspect"
    assert words(first).count("By location · not saved") >= 2, "equal names are told apart by their detectors"
    assert not name.set_value("another").run().success, "ready is what was planned"
    shelf().find(parts[1].id)
    assert open_app("pages/inspect.py").session_state["in_hand"] == parts[1].id, "the next session finds the latest"


def test_others_see_a_job_and_can_cancel_it(open_app, in_the_hand):
    app, go_on = open_app(), threading.Event()

    def work(job):
        go_on.wait(60)
        job.report(0.5)

    job = shell.jobs().submit("Teaching tile", work, owner="Ana")
    app.run()
    assert "started by Ana" in words(app)
    press(app, f"cancel-{job.id}")
    go_on.set()
    wait_for_job()
    assert job.cancelling
    assert "Teaching tile: cancelled at" in words(app.run())


def test_page_tells_its_job_from_others_and_dequeues(open_app, in_the_hand, no_forecast, monkeypatch):
    go_on, taught_again = threading.Event(), []
    monkeypatch.setattr(teaching_job, "teach", lambda order, report: taught_again.append(order) or another(in_the_hand))
    shell.jobs().submit("Comparing detectors", lambda job: go_on.wait(60), owner="Ana")
    explore = open_app("pages/explore.py")
    assert "Running: Comparing detectors, started by Ana" in words(explore)
    assert "Anything you start here is queued and starts automatically." in words(explore)
    app = press(open_app("pages/teach.py"), "teach")
    assert app.button(key="teach").disabled
    assert "1\\. Teaching board, started in this window" in words(app)
    assert "1\\. Teaching board, started in another window" in words(explore.run())
    (waiting,) = shell.jobs().waiting
    press(app, f"cancel-{waiting.id}")
    assert not shell.jobs().waiting
    assert not press(app, "teach").exception
    go_on.set()
    wait_for_job()
    assert len(taught_again) == 1
    assert "finished in" in words(app.run())


def test_product_in_use_stays_and_none_replaces_it_unasked(open_app, flange, in_the_hand):
    app = open_app("pages/inspect.py")
    for _ in range(2 * SIZE):
        shelf().put(another(flange))
        app.run()
    assert "is no longer in memory" not in words(app)
    assert latest(in_the_hand).live == in_the_hand.scored.live

    last = [shelf().put(another(flange)) for _ in range(SIZE)][-1]
    for page in ("inspect", "explore", "defect_types"):
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception, app.exception
        assert "is no longer in memory" in words(app)
        assert app.session_state["in_hand"] == in_the_hand.id
    press(app, f"open-{last}-sidebar")
    assert app.session_state["in_hand"] == last
    assert "is no longer loaded" not in words(app)


def test_the_mode_of_the_product_check_is_that_of_all_windows(open_app, in_the_hand, drawn, workspace):
    assert not in_the_hand.checked(0).is_foreign
    strict = shelf().change(
        in_the_hand.id, lambda product: replace(product, product_check=replace(product.product_check, limit=-1.0))
    )
    here, there = open_app("pages/inspect.py"), open_app("pages/inspect.py")
    here.segmented_control(key=f"guard-{strict.id}").set_value("stop").run()
    assert drawn[-1].evidence.stopped[drawn[-1].position]
    assert "rejects it" in drawn[-1].check
    there.run()
    assert "rejects it" in drawn[-1].check
    assert there.segmented_control(key=f"guard-{strict.id}").value == "stop"
    save_recipe(there)
    assert load(workspace / "recipes/flange.zip").product_check.mode == "stop"
    there.segmented_control(key=f"guard-{strict.id}").set_value("warn").run()
    assert not drawn[-1].evidence.stopped.any()
    assert "do not rely on the verdict" in drawn[-1].check
    assert "changed since draft 1" in words(there.run())
    assert here.run().segmented_control(key=f"guard-{strict.id}").value == "warn"


def test_what_one_window_sets_appears_in_the_other(open_app, in_the_hand, drawn):
    here, there = open_app("pages/inspect.py"), open_app("pages/inspect.py")
    stops = in_the_hand.scored.stops("k")
    slider(here, "k", in_the_hand).set_value(stops[2]).run()
    there.run()
    assert slider(there, "k", in_the_hand).value == stops[2]
    limits = Limits(7.0, 9.0)
    limit_by_hand(in_the_hand, limits)
    there.run()
    here.run()
    assert drawn[-1].limits == limits
    slider(here, "k", in_the_hand).set_value(stops[1])
    slider(there, "k", in_the_hand).set_value(stops[3]).run()
    here.run()
    assert slider(here, "k", in_the_hand).value == stops[1], "what was moved here itself stays"
    there.run()
    assert slider(there, "k", in_the_hand).value == stops[1], "the last move is in force"


def test_nothing_is_saved_that_this_window_has_not_shown(open_app, in_the_hand, workspace):
    here = open_app("pages/inspect.py")
    limit_by_hand(in_the_hand, Limits(7.0, 9.0))
    next(field for field in here.text_input if field.label == "Reason").set_value("first release").run()
    limit_by_hand(in_the_hand, Limits(7.0, 17.0))  # in another window
    press(here, "Save")
    assert "changed in another window" in here.warning[0].value
    assert "review above 7, reject above 17" in words(here)
    assert not list((workspace / "recipes").glob("*.zip"))
    press(here, "Save")
    assert load(workspace / "recipes/flange.zip").limits == Limits(7.0, 17.0)


def test_the_sentence_counts_what_the_verdicts_are(open_app, in_the_hand, drawn):
    """A good part that the product check stops is shown as rejected, and counted so, though its score is low."""
    strict = shelf().change(
        in_the_hand.id, lambda product: replace(product, product_check=replace(product.product_check, limit=-1.0))
    )
    app = open_app("pages/inspect.py")
    good = evidence_of(strict.scored).good
    app.session_state[f"settings-{strict.id}"].position = int(good.argmax())
    app.segmented_control(key=f"guard-{strict.id}").set_value("stop").run()
    state = drawn[-1]
    assert state.evidence.stopped.all(), "those that nobody has looked at too"
    rejected = int(good.sum())
    assert rejected > int((state.scores[good] > state.limits.reject).sum())
    assert state.sentence.startswith(f"Rejects {rejected} of {good.sum()} good")

    save_recipe(app)
    app.switch_page("pages/recipes.py").run()
    assert not app.exception
    sentences = [element.value for element in app.markdown if element.value.startswith("Rejects ")]
    assert len(sentences) == 2, "of the recipe, and to approve"
    assert all(sentence.startswith(f"Rejects {rejected} of {good.sum()} good") for sentence in sentences)
    assert app.dataframe[0].value["False rejects"][0] == f"{rejected} of {good.sum()}"


def test_a_photo_added_while_another_session_draws(open_app, in_the_hand, monkeypatch):
    app, evidence_of_product, numbers = open_app("pages/inspect.py"), TaughtProduct.evidence, iter(range(9))

    def meanwhile(*arguments, **named):
        shelf().add(shelf().find(in_the_hand.id), picture(next(numbers)))
        return evidence_of_product(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(TaughtProduct, "evidence", meanwhile)
        app.run()
    assert not app.exception, app.exception
    app.run()
    assert not app.exception, app.exception
    part = shelf().find(in_the_hand.id)
    assert len(part.thumbnails) == len(part.scored.photos) == len(in_the_hand.scored.photos) + next(numbers)


def test_no_change_is_lost_and_no_drawing_sees_half_of_one(in_the_hand):
    def add(seed: int) -> None:
        shelf().add(shelf().find(in_the_hand.id), picture(seed % 12))

    def turn(number: int) -> None:
        shelf().change(in_the_hand.id, lambda product: replace(product, notes=(*product.notes, f"{number}")))

    def draw(number: int) -> None:
        part = shelf().find(in_the_hand.id)
        part = transitions.moved(part, {"k": part.scored.stops("k")[number % 8]})
        scores = part.scored.scores(**(live := part.live))
        view = bench_states.of_model(part, len(part.scored.photos) - 1)
        assert len(part.scored.photos) == len(part.thumbnails) == len(scores) == len(view.scores)
        assert np.array_equal(scores, part.scored.scores(**live)), "scores are those of the live value asked for"

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work, number) for number in range(36) for work in (add, turn, draw)]:
            done.result()
    part = shelf().find(in_the_hand.id)
    added = {photo.name for photo in part.scored.photos[len(in_the_hand.scored.photos) :]}
    assert added == {f"new{seed}.png" for seed in range(12)}
    assert len(part.scored.photos) == len(in_the_hand.scored.photos) + 12
    assert sorted(map(int, part.notes)) == list(range(36))


def test_simultaneous_uploads_of_one_photo_are_stored_whole(workspace):
    large = DecodedPhoto(
        "large.png", np.random.default_rng(0).integers(0, 256, (600, 800, 3), dtype=np.uint8), "a" * 64
    )
    with ThreadPoolExecutor(8) as threads:
        paths = set(threads.map(lambda _: uploads.keep_picture(large, workspace / "uploads"), range(8)))
    (path,) = paths
    assert np.array_equal(taught_product.read(path).pixels, large.pixels)
    assert list(path.parent.iterdir()) == [path]
