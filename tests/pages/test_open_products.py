"""Open parts belong to the server: listed in every window, kept through a restart until they are saved or closed."""

import asyncio
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from PIL import Image

from inspect_core.datasets.folders import scan
from inspect_core.datasets.listing import photos_in
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.images import placement
from inspect_core.images.alignment import NotLocated
from inspect_core.images.areas import InspectionArea, InspectionAreas
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.line.confusion import escape_sentence, truths_of, with_truth
from inspect_core.line.photo_inspection import inspect_photo
from inspect_core.recipe import LoadedRecipe
from inspect_core.recipe_format import photo_inspector
from inspect_core.recipe_io.recipe_file import load
from inspect_core.runtime.jobs import Job
from inspect_core.runtime.progress import Cancelled
from inspect_core.study import unsaved_products
from inspect_core.study.study import Study
from inspect_core.study.teaching_config import NO_ALIGNMENT
from inspect_core.ui import in_hand, server, shell, teaching_job
from inspect_core.verdict import Limits
from inspect_core.workbench import fitted_product, transitions
from inspect_core.workbench.shelf import SIZE, shelf
from tests.pages.waiting import (
    another,
    end_process,
    finish,
    latest,
    limit_by_hand,
    press,
    save_recipe,
    slider,
    wait_for_job,
    wait_until,
    words,
)

pytestmark = pytest.mark.usefixtures("no_first_start")
CORNER = InspectionAreas((InspectionArea("ignore", ((0.0, 0.0), (0.1, 0.0), (0.1, 0.1))),))


@pytest.fixture
def folder(workspace, product, monkeypatch):
    monkeypatch.setenv("LOUPE_ROOTS", str(product))
    return workspace / "open"


def restart() -> None:
    shelf().flush()
    end_process()


def test_unsaved_product_returns_complete_after_a_restart(open_app, flange, folder, drawn, monkeypatch):
    part = another(flange)
    shelf().put(part)
    test_photo = next(photo for photo in part.scored.photos if photo.label == "good" and photo.subset == "test")
    part = shelf().change(part.id, lambda product: product.labelled({test_photo.digest: "dent"}).with_areas(CORNER))
    before = dict(
        zip([photo.digest for photo in part.scored.photos], part.scored.scores(**part.scored.live), strict=True)
    )
    limits, set_by = part.suggested_limits(part.scored.live), part.scored.calibration_scores()

    restart()
    app = finish(open_app("pages/inspect.py"))
    reopened = shelf().find(part.id)
    assert reopened is not part
    assert not reopened.recipe_digest
    assert reopened.relabelled == {test_photo.digest: "dent"}
    assert reopened.scored.areas == CORNER
    assert reopened.suggested_limits(reopened.scored.live) == limits
    assert (
        dict(
            zip(
                [photo.digest for photo in reopened.scored.photos],
                reopened.scored.scores(**reopened.scored.live),
                strict=True,
            )
        )
        == before
    )
    assert drawn[-1].setting_scores.tolist() == set_by.tolist()

    asked = []
    monkeypatch.setattr(teaching_job, "teach", lambda order, report: asked.append(order) or another(flange))
    press(app, f"relabelled-{part.id}")
    wait_for_job()
    (order,) = asked
    assert test_photo.name in {sample.name for sample in order.photos.validation}
    same = {"photos": flange.study.split, "align": NO_ALIGNMENT}  # as a recipe records what was decided
    assert replace(order, **same) == replace(part.latest_order(), **same)
    assert {shelf().find(part.id), *shelf().items.values()} > {reopened}, "the one before stays in the list"


def test_the_last_second_is_written_when_the_server_ends(flange, folder, monkeypatch):
    monkeypatch.setattr("inspect_core.workbench.shelf.WRITE_AFTER_S", 1000.0)
    monkeypatch.setattr(server.config, "get_option", lambda name: True)
    taught_id = shelf().put(another(flange))

    async def serve() -> None:
        async with server.first_page(None):
            shelf().change(taught_id, lambda product: product.with_areas(CORNER))
            assert shelf()._due

    with ThreadPoolExecutor(1) as thread:  # a browser of another test may leave a loop running in this one
        thread.submit(asyncio.run, serve()).result()
    assert not shelf()._due
    unsaved, _ = unsaved_products.load_unsaved(folder / taught_id)
    assert unsaved.order.areas == CORNER


def test_a_product_that_cannot_be_written_takes_no_other_along(flange, folder, monkeypatch):
    monkeypatch.setattr("inspect_core.workbench.shelf.WRITE_AFTER_S", 1000.0)
    ids = [shelf().put(another(flange)) for _ in range(2)]
    for taught_id in ids:
        shelf().change(taught_id, lambda product: product.with_areas(CORNER))
    store, written = shelf(), []

    def keep(product, *, make_recipe):
        if product.id == ids[0]:
            raise RuntimeError("no memory")
        written.append(product.id)

    monkeypatch.setattr(store, "_write", keep)
    shelf().flush()
    assert written == [ids[1]]


def test_saved_product_is_not_kept_and_a_closed_one_asks(open_app, flange, folder):
    first, second = (shelf().put(another(flange)) for _ in range(2))
    app = open_app("pages/inspect.py")
    assert [part.saved for part in shelf().open_products()] == [False, False]
    save_recipe(app)
    shelf().flush()
    assert [path.name for path in folder.iterdir()] == [first]
    assert "saved as draft 1" in words(app)
    press(app, f"close-{second}-sidebar")
    assert shelf().find(second) is None
    press(app, f"close-{first}-sidebar")
    assert shelf().find(first) is not None, "closing asks first"
    press(app, f"lose-{first}")
    assert not list(folder.iterdir())
    assert "No product has been taught yet." in words(app)


def test_what_changes_after_saving_is_told_and_asked_about(open_app, flange, folder):
    key = shelf().put(another(flange))
    app = open_app("pages/inspect.py")
    assert "not saved" in words(app)
    save_recipe(app)
    part = shelf().find(key)
    assert "saved as draft 1" in words(app.run())
    slider(app, "k", part).set_value(part.scored.stops("k")[2]).run()
    assert "changed since draft 1" in words(app.run())
    for page in ("pages/inspect.py", "pages/recipes.py"):
        assert "changed since draft 1" in words(app.switch_page(page).run())
    press(app, f"close-{key}-sidebar")
    assert shelf().find(key) is not None
    assert "Closing discards these changes" in words(app)
    press(app, f"save_first-{key}")
    assert app.session_state["in_hand"] == key
    app.switch_page("pages/inspect.py").run()  # as the button does in a browser
    assert slider(app, "k", part).value == part.scored.stops("k")[2], "with what was set"
    save_recipe(app, reason="finer")
    assert "saved as draft 2" in words(app.run())
    slider(app, "k", part).set_value(part.scored.stops("k")[3]).run()
    slider(app, "k", part).set_value(part.scored.stops("k")[2]).run()
    assert "saved as draft 2" in words(app.run()), "as the recipe has it again"
    shelf().change(key, lambda product: product.with_areas(CORNER))
    assert "changed since draft 2" in words(app.run())
    press(app, f"close-{key}-sidebar")
    press(app, f"lose-{key}")
    assert shelf().find(key) is None


def test_a_restart_forgets_not_that_it_was_saved_before(open_app, flange, folder):
    key = shelf().put(another(flange))
    app = open_app("pages/inspect.py")
    save_recipe(app)
    saved = shelf().find(key).recipe_digest
    part = shelf().find(key)
    slider(app, "k", part).set_value(part.scored.stops("k")[2]).run()
    restart()
    app = open_app("pages/inspect.py")
    assert "changed since draft 1" in words(app), "in the list, before it is open"
    app = finish(app)
    assert words(app).count("changed since draft 1") == 1
    assert "changed since draft 1" in app.title[0].value
    save_recipe(app, reason="finer")
    assert shelf().find(key).recipe.provenance.parent == saved


def test_moves_are_written_once_and_not_by_the_page(open_app, flange, folder, monkeypatch):
    monkeypatch.setattr("inspect_core.workbench.shelf.WRITE_AFTER_S", 1000)
    part = shelf().find(shelf().put(another(flange)))
    app, written, keep = open_app("pages/inspect.py"), [], unsaved_products.UnsavedProductStore.keep

    def noted(store, line, unsaved, freeze):
        if line.id == part.id:
            written.append((unsaved.live["k"], freeze))
        keep(store, line, unsaved, freeze)

    monkeypatch.setattr(unsaved_products.UnsavedProductStore, "keep", noted)
    for stop in part.scored.stops("k")[1:4]:
        slider(app, "k", part).set_value(stop).run()
    assert written == []
    shelf().flush()
    assert written == [(stop, None)], "the last one, without the recipe, which did not change"
    shelf().flush()
    assert len(written) == 1


def test_what_is_kept_of_a_product_stays_when_room_ends(flange, folder, monkeypatch):
    key = shelf().put(another(flange))
    recipe = (folder / key / unsaved_products.RECIPE).read_bytes()
    monkeypatch.setattr(unsaved_products, "MOST_BYTES", 10)
    shelf().change(key, lambda product: replace(product, notes=("changed",)))
    shelf().flush()
    assert (folder / key / unsaved_products.RECIPE).read_bytes() == recipe
    (line,) = shelf().open_products()
    assert line.problem == ""


def test_a_photo_replaced_after_teaching_is_not_shown_as_judged(flange, product, tmp_path):
    photos = shutil.copytree(product, tmp_path / "photos")
    study = Study.from_photos(
        scan(photos), flange.extractor.backbone, flange.study.store, parameters={"k": 8}, grid=(16, 16)
    )
    part = fitted_product.product_from_study("moved", study.fit())
    first, second = (part.scored.photos[i].path for i in (0, 1))
    assert part.photo(1).shape == part.photo(0).shape
    shutil.copy(first, second)
    with pytest.raises(ImageError, match="the file was replaced after it was inspected; add it again"):
        part.photo(1)
    assert part.photo(0).size


def test_damaged_products_are_listed_and_never_opened(open_app, flange, folder, tmp_path):
    cut, changed, closed = (shelf().put(another(flange)) for _ in range(3))
    (folder / cut / unsaved_products.PART).write_bytes((folder / cut / unsaved_products.PART).read_bytes()[:-9])
    recipe = bytearray((folder / changed / unsaved_products.RECIPE).read_bytes())
    recipe[len(recipe) // 2] ^= 1
    (folder / changed / unsaved_products.RECIPE).write_bytes(recipe)
    restart()
    listed = {part.id: part.problem for part in shelf().open_products()}
    assert "cut short or changed; teach the part again" in listed[cut].replace(")", "")
    app = open_app("pages/recipes.py")
    assert app.button(key=f"open-{cut}-sidebar").disabled
    press(app, f"open-{changed}-sidebar")
    wait_for_job()
    assert "recipe.zip" in shell.jobs().current.error
    assert app.run().button(key=f"open-{changed}-sidebar").disabled
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOUPE_ROOTS", str(tmp_path / "elsewhere"))
        press(app, f"open-{closed}-sidebar")
        wait_for_job()
    assert "outside the allowed folders" in shell.jobs().current.error


def test_full_store_asks_what_to_save_or_close(open_app, flange, folder, monkeypatch):
    monkeypatch.setattr(unsaved_products, "MOST", 2)
    parts = [shelf().put(another(flange)) for _ in range(2)]
    monkeypatch.setattr(teaching_job, "teach", lambda order, report: another(flange))
    app = open_app("pages/inspect.py")
    changed = shelf().change(parts[1], lambda product: product.labelled({product.scored.photos[-1].digest: "good"}))
    press(app.run(), f"relabelled-{changed.id}")
    assert "2 unsaved products are open" in app.warning[0].value
    in_hand.close(parts[0])
    finish(press(app, f"relabelled-{changed.id}"))
    monkeypatch.setattr(unsaved_products, "MOST_BYTES", 10)
    lost = shelf().put(another(flange))
    line = next(part for part in shelf().open_products() if part.id == lost)
    assert "kept in memory only" in line.problem
    assert not app.run().button(key=f"open-{lost}-sidebar").disabled, "it can be opened, and saved"
    for _ in range(2 * SIZE):
        shelf().put(another(flange), keep=False)
    assert shelf().find(lost) is not None, "what is nowhere else is not dropped"


def test_reloaded_window_takes_its_result_and_others_list_it(open_app, flange, monkeypatch):
    there, made = open_app("pages/inspect.py"), another(flange)
    shelf().put(first := another(flange))
    there.run()
    job = Job("Teaching", shell.current_user(), "part", session="gone")
    shell.jobs()._jobs.append(job)
    monkeypatch.setattr(shell, "_is_open", lambda session: session != "gone")
    app = open_app("pages/inspect.py")
    assert "Running, started in this window" in words(app)
    job.result, job.state = shelf().put(made), job.state.DONE
    assert app.run().session_state["in_hand"] == made.id
    assert there.run().session_state["in_hand"] == first.id
    assert f"open-{made.id}-sidebar" in [button.key for button in there.button]


def test_a_press_at_the_end_of_a_job_is_not_lost(open_app, flange, monkeypatch):
    second = [shelf().put(another(flange)) for _ in range(2)][1]
    job = Job("Teaching", shell.current_user(), "part", session="gone")
    shell.jobs()._jobs.append(job)
    monkeypatch.setattr(shell, "_is_open", lambda session: session != "gone")
    app = open_app("pages/inspect.py")
    job.result, job.state = shelf().put(another(flange)), job.state.DONE
    press(app, f"close-{second}-sidebar")
    assert app.session_state["in_hand"] == job.result
    asked = [button.key for button in app.button if (button.key or "").startswith("lose-")]
    assert asked == [f"lose-{second}"], "the run that took the result also did what was pressed"


def test_settings_return_after_a_restart_and_move_live(open_app, flange, folder, tmp_path):
    part = another(flange)
    shelf().put(part)
    source = next(photo.path for photo in part.scored.photos if photo.subset == "test")
    pixels = read(source).pixels[::-1].copy()
    Image.fromarray(pixels).save(tmp_path / "added.png")
    shelf().add(part, read(tmp_path / "added.png"))
    app = open_app("pages/inspect.py")
    stop = part.scored.stops("k")[2]
    slider(app, "k", part).set_value(stop).run()
    slider(app, "area", part).set_value(1).run()
    limit_by_hand(part, limits := Limits(7.0, 9.0))
    app.run()
    before = shelf().find(part.id)
    shown, scores = before.scored.photos, before.scored.scores(**before.live).tolist()

    restart()
    app = finish(open_app("pages/inspect.py"))
    reopened = latest(part)
    assert reopened.live == {"k": stop, "area": 1}
    assert reopened.limits_by_hand == limits
    assert [photo.digest for photo in reopened.scored.photos] == [photo.digest for photo in shown]
    assert reopened.scored.scores(**reopened.live).tolist() == scores
    assert {photo.subset for photo in reopened.scored.photos} == {"calibration", "test", "added"}
    slider(app, "k", part).set_value(part.scored.stops("k")[0]).run()
    assert not app.exception
    assert reopened.id == app.session_state["in_hand"]


def test_a_sample_product_opens_whatever_folders_are_allowed(open_app, flange, folder, product, tmp_path, monkeypatch):
    part = another(flange)
    shelf().put(part)
    restart()
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path / "elsewhere"))
    monkeypatch.setattr("inspect_core.runtime.workspace.app_folder", lambda: product)
    finish(open_app("pages/inspect.py"))
    assert shelf().find(part.id).study is not None


def test_what_opens_by_itself_keeps_nobody_waiting(open_app, flange, folder, monkeypatch):
    first, last = (shelf().put(another(flange)) for _ in range(2))
    restart()
    load, go_on = unsaved_products.load_unsaved, threading.Event()

    def hold(folder):
        wait_until(lambda: go_on.is_set() or shell.jobs().current.cancelling)
        return load(folder)

    monkeypatch.setattr(unsaved_products, "load_unsaved", hold)
    app = open_app("pages/inspect.py")
    assert shell.jobs().current.subject == last
    press(app, f"open-{first}-sidebar")
    go_on.set()
    wait_until(lambda: not shell.jobs().active)
    assert app.run().session_state["in_hand"] == first
    assert shelf().find(last) is None


def test_product_without_photos_opens_fixed_and_can_be_saved(open_app, flange, folder, product, tmp_path, monkeypatch):
    photos = shutil.copytree(product, tmp_path / "photos")
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    study = Study.from_photos(
        scan(photos), flange.extractor.backbone, flange.study.store, parameters={"k": 8}, grid=(16, 16)
    )
    part = fitted_product.product_from_study("moved", study.fit())
    shelf().put(part)
    app = open_app("pages/inspect.py")
    slider(app, "k", part).set_value(stop := part.scored.stops("k")[2]).run()
    moved = latest(part)
    limits, set_on = moved.limits, moved.scored.calibration_scores(**moved.live)
    photos.rename(tmp_path / "elsewhere")
    restart()
    app = finish(open_app("pages/inspect.py"))
    reopened = latest(part)
    assert (reopened.live["k"], reopened.limits_by_hand, reopened.limits) == (stop, None, limits)
    assert reopened.scored.calibration_scores().tolist() == pytest.approx(list(set_on))
    assert "fixed" in " ".join(reopened.notes)
    assert [button.label for button in app.button if button.key == f"relabelled-{part.id}"] == ["Teach again"]
    save_recipe(app)
    assert shelf().find(part.id).recipe.live_values["k"] == stop
    assert shelf().find(part.id).recipe.limits == limits


def test_teaching_again_keeps_what_was_set_and_added(open_app, flange, folder, tmp_path, monkeypatch):
    part = another(flange)
    shelf().put(part)
    source = next(photo.path for photo in part.scored.photos if photo.subset == "test")
    Image.fromarray(read(source).pixels[::-1].copy()).save(tmp_path / "added.png")
    shelf().add(part, read(tmp_path / "added.png"))
    app = open_app("pages/inspect.py")
    slider(app, "k", part).set_value(stop := part.scored.stops("k")[2]).run()
    test_photo = next(photo for photo in part.scored.photos if photo.label == "good" and photo.subset == "test")
    shelf().change(part.id, lambda product: product.labelled({test_photo.digest: "dent"}))
    monkeypatch.setattr(teaching_job, "teach", lambda order, report: another(flange))
    finish(press(app.run(), f"relabelled-{part.id}"))
    new = shelf().find(app.session_state["in_hand"])
    assert new.id != part.id
    assert latest(new).live["k"] == stop
    assert [photo.name for photo in new.scored.photos if photo.subset == "added"] == ["added.png"]
    assert f"k {stop}" in next(note for note in new.notes if note.startswith(transitions.KEPT))


def test_interrupted_job_is_listed_and_taught_again(open_app, flange, folder, monkeypatch):
    order = flange.latest_order()
    key = shelf().begin(order)
    assert key not in {line.id for line in shelf().open_products()}, "not while it runs"
    restart()
    (line,) = shelf().open_products()
    assert (line.id, line.product, line.interrupted) == (key, "flange", True)
    asked = []
    monkeypatch.setattr(teaching_job, "teach", lambda order, report: asked.append(order) or another(flange))
    app = open_app("pages/inspect.py")
    assert "teaching was interrupted" in words(app)
    finish(press(app, f"again-{key}-sidebar"))
    assert asked == [order]
    assert not (folder / key).exists()


@pytest.mark.parametrize("how", ["done", "failed", "cancelled", "removed from the queue"])
def test_what_a_job_wrote_down_goes_however_it_ends(open_app, flange, folder, monkeypatch, how):
    go_on = threading.Event()
    shell.jobs().submit("Before", lambda job: go_on.wait(60))

    def teach(order, report):
        if how == "failed":
            raise ValueError("no photo")
        if how == "cancelled":
            raise Cancelled
        return another(flange)

    monkeypatch.setattr(teaching_job, "teach", teach)
    open_app("pages/inspect.py")
    monkeypatch.setattr(shell, "current_user", lambda: "Ana")
    monkeypatch.setattr(shell, "_session", lambda: "window")
    teaching_job.start(flange.latest_order())
    job = shell.jobs().waiting[-1]
    (written,) = folder.iterdir()
    if how == "removed from the queue":
        job.cancel()
        assert not written.exists()
    go_on.set()
    wait_until(lambda: not job.active)
    assert not written.exists()


def test_saved_products_leave_memory_first(open_app, flange, folder, monkeypatch):
    monkeypatch.setattr("inspect_core.workbench.shelf.SIZE", 2)
    unsaved_id = shelf().put(another(flange))
    part = another(flange)
    saved = transitions.saved(part, replace(flange.study.recipe(product="flange"), digest="0" * 64), part)
    shelf().put(saved)
    last = shelf().put(another(flange))
    assert [shelf().find(key) is not None for key in (unsaved_id, saved.id, last)] == [True, False, True]


def test_counts_are_equal_from_teaching_to_the_line(open_app, flange, folder, product, drawn, tmp_path, monkeypatch):
    """Teach with parts that are not located, look at it, save, approve, open, inspect as a batch, restart, open."""
    root = shutil.copytree(product, tmp_path / "flange")
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    lost = [sorted((root / name).iterdir())[0] for name in ("test/good", "test/scratch")]
    hidden = {read(path).pixels.tobytes() for path in lost}

    def place(pixels, alignment):
        if pixels.tobytes() in hidden:
            raise NotLocated("nothing in the photo matches the reference")
        return placement.place(pixels, alignment)

    monkeypatch.setattr(photo_inspector, "place", place)
    monkeypatch.setattr(FeatureExtractor, "place", lambda self, pixels: place(pixels, None))
    study = Study.from_photos(
        scan(root), flange.extractor.backbone, flange.study.store, parameters={"k": 8}, grid=(16, 16)
    )
    part = fitted_product.product_from_study("walk", study.fit())
    shelf().put(part)

    def counted(sentence: str) -> tuple[str, ...]:
        pattern = r"(?:rejects|misses) \d+ of \d+ inspected \w+|\d of \d \w+(?: parts)? not \w+"
        return tuple(re.findall(pattern, sentence.lower()))

    app = open_app("pages/inspect.py")
    shown = counted(drawn[-1].sentence)
    assert len(shown) == 4
    assert shown[2:] == ("1 of 3 defects not located", "1 of 4 good parts not located")
    save_recipe(app)
    recipe = shelf().find(part.id).recipe
    path = next((folder.parent / "recipes").iterdir())
    assert counted(load(path).evidence().sentence(load(path).limits)) == shown

    app.switch_page("pages/recipes.py").run()
    assert not app.exception
    assert [pattern for element in app.markdown if (pattern := counted(element.value))] == [shown, shown], (
        "and to approve"
    )
    assert "1 of 3 defects not located, 1 of 4 good parts not located" in app.dataframe[0].value["Not inspected"][0]
    app.button(key=f"open-{path.name}").click().run()
    finish(app)
    app.switch_page("pages/inspect.py").run()
    assert counted(drawn[-1].sentence) == shown

    inspector = LoadedRecipe(recipe, flange.extractor.backbone)
    photos = photos_in([root / "test"])
    truths, _ = truths_of(photos, [root / "test"])
    rows = [with_truth(inspect_photo(inspector, name, path).row, truths[name], ()) for name, path in photos]
    assert counted(escape_sentence(rows)) == shown

    end_process()
    app = open_app("pages/recipes.py")
    app.button(key=f"open-{path.name}").click().run()
    finish(app)
    app.switch_page("pages/inspect.py").run()
    assert counted(drawn[-1].sentence) == shown
