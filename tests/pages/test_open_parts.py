"""Open parts belong to the server: listed in every window, kept through a restart until they are saved or closed."""

from dataclasses import replace

import pytest
import streamlit as st

from inspect_core.images.areas import Area, Areas
from inspect_core.runtime.jobs import Job
from inspect_core.study import unsaved
from inspect_core.ui import shelf, shell, teaching
from tests.pages.waiting import another, finish, press, save_recipe, wait_for_job, words

pytestmark = pytest.mark.usefixtures("no_first_start")
CORNER = Areas((Area("ignore", ((0.0, 0.0), (0.1, 0.0), (0.1, 0.1))),))


@pytest.fixture
def folder(workspace, product, monkeypatch):
    monkeypatch.setenv("LOUPE_ROOTS", str(product))
    return workspace / "open"


def restart() -> None:
    st.cache_resource.clear()
    st.cache_data.clear()


def test_an_unsaved_part_comes_back_after_a_restart_with_what_was_said_and_drawn_and_can_be_taught_again(
    open_app, taught, folder, drawn, monkeypatch
):
    part = another(taught)
    shelf.put(part)
    judged = next(photo for photo in part.scored.photos if photo.kind == "good" and photo.part == "judge")
    part = shelf.change(part.id, lambda held: held.labelled({judged.digest: "dent"}).with_areas(CORNER))
    before = dict(zip([photo.digest for photo in part.scored.photos], part.scores(part.scored.live), strict=True))
    limits, set_by = part.suggested_limits(part.scored.live), part.scored.calibration_scores()

    restart()
    app = finish(open_app("pages/inspect.py"))
    again = shelf.find(part.id)
    assert again is not part
    assert again.describe() == "not saved as a recipe yet"
    assert again.relabelled == {judged.digest: "dent"}
    assert again.scored.areas == CORNER
    assert again.suggested_limits({}) == limits
    shown = [photo.digest for photo in again.scored.photos]
    assert shown == [photo.digest for photo in part.scored.photos if photo.part != "calibrate"]
    assert again.scores(again.scored.live).tolist() == pytest.approx([before[digest] for digest in shown], rel=1e-4)
    assert drawn[-1].setting_scores.tolist() == pytest.approx(set_by.tolist())
    assert not drawn[-1].payload()["own"]
    assert "limit was set on these" not in drawn[-1].sentence
    assert "suggested limits come from" not in words(app)

    asked = []
    monkeypatch.setattr(teaching, "teach", lambda order, report: asked.append(order) or another(taught))
    press(app, f"relabelled-{part.id}")
    wait_for_job()
    (order,) = asked
    assert judged.name in {sample.name for sample in order.photos.choose}
    assert replace(order, photos=taught.study.split) == replace(part.taught_by(), photos=taught.study.split)
    assert {shelf.find(part.id), *shelf._shelf().items.values()} > {again}, "the one before stays in the list"


def test_a_saved_part_is_no_longer_kept_and_a_closed_one_is_asked_about(open_app, taught, folder):
    first, second = (shelf.put(another(taught)) for _ in range(2))
    app = open_app("pages/inspect.py")
    assert [part.saved for part in shelf.open_parts()] == [False, False]
    save_recipe(app)
    assert [path.name for path in folder.iterdir()] == [first]
    assert "saved ·" in words(app)
    press(app, f"close-{second}-sidebar")
    assert shelf.find(second) is None
    press(app, f"close-{first}-sidebar")
    assert shelf.find(first) is not None, "closing asks first"
    press(app, f"lose-{first}")
    assert not list(folder.iterdir())
    assert "No part has been taught yet" in words(app)


def test_damaged_parts_are_listed_with_reason_and_remedy_and_never_opened(open_app, taught, folder, tmp_path):
    cut, changed, away = (shelf.put(another(taught)) for _ in range(3))
    (folder / cut / unsaved.PART).write_bytes((folder / cut / unsaved.PART).read_bytes()[:-9])
    recipe = bytearray((folder / changed / unsaved.RECIPE).read_bytes())
    recipe[len(recipe) // 2] ^= 1
    (folder / changed / unsaved.RECIPE).write_bytes(recipe)
    restart()
    listed = {part.id: part.problem for part in shelf.open_parts()}
    assert "cut short or changed; teach the part again" in listed[cut].replace(")", "")
    app = open_app("pages/recipes.py")
    assert app.button(key=f"open-{cut}-sidebar").disabled
    press(app, f"open-{changed}-sidebar")
    wait_for_job()
    assert "recipe.zip" in shell.jobs().current.error
    assert app.run().button(key=f"open-{changed}-sidebar").disabled
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOUPE_ROOTS", str(tmp_path / "elsewhere"))
        press(app, f"open-{away}-sidebar")
        wait_for_job()
    assert "outside the allowed folders" in shell.jobs().current.error


def test_when_no_more_are_kept_teaching_asks_what_to_save_or_close(open_app, taught, folder, monkeypatch):
    monkeypatch.setattr(unsaved, "MOST", 2)
    parts = [shelf.put(another(taught)) for _ in range(2)]
    monkeypatch.setattr(teaching, "teach", lambda order, report: another(taught))
    app = open_app("pages/inspect.py")
    changed = shelf.change(parts[1], lambda held: held.labelled({held.scored.photos[-1].digest: "good"}))
    press(app.run(), f"relabelled-{changed.id}")
    assert "2 open parts are not saved" in app.warning[0].value
    shelf.close(parts[0])
    finish(press(app, f"relabelled-{changed.id}"))
    monkeypatch.setattr(unsaved, "MOST_BYTES", 10)
    lost = shelf.put(another(taught))
    line = next(part for part in shelf.open_parts() if part.id == lost)
    assert "kept in memory only" in line.problem
    for _ in range(2 * shelf.SIZE):
        shelf.put(another(taught), keep=False)
    assert shelf.find(lost) is not None, "what is nowhere else is not dropped"


def test_a_window_loaded_again_takes_the_result_of_its_job_and_others_list_it(open_app, taught, monkeypatch):
    there, made = open_app("pages/inspect.py"), another(taught)
    shelf.put(first := another(taught))
    there.run()
    job = Job("Teaching", shell.current_user(), "part", session="gone")
    shell.jobs()._jobs.append(job)
    monkeypatch.setattr(shell, "_is_open", lambda session: session != "gone")
    app = open_app("pages/inspect.py")
    assert "Running, started here" in words(app)
    job.result, job.state = shelf.put(made), job.state.DONE
    assert app.run().session_state["in_hand"] == made.id
    assert there.run().session_state["in_hand"] == first.id
    assert f"open-{made.id}-sidebar" in [button.key for button in there.button]
