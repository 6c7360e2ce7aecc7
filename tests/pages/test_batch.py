"""The Batch page: begun, paused, gone on with, discarded; what it shows of what came of it."""

import contextlib
import json
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from inspect_core.audit.changes import describe_entry
from inspect_core.audit.entry import INSPECTION, WATCH_INTERRUPTED
from inspect_core.audit.life_cycle import approve
from inspect_core.audit.log import AuditLog
from inspect_core.inspection import Inspection
from inspect_core.line.verdict_table import read_table
from inspect_core.recipe import LoadedRecipe
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.ui import batch_store, shell, watch_store
from inspect_core.ui.inspected_photos import heatmap_of
from inspect_core.ui.watch_store import WatchRequest
from inspect_core.verdict import Limits, Verdict
from tests.inspectors import inspect_in_one_step
from tests.pages.waiting import finish, press, wait_for_job, wait_until, words

pytestmark = pytest.mark.usefixtures("no_first_start")


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Ten photos of one brightness each and one that is damaged, in an allowed folder."""
    folder = tmp_path / "photos"
    folder.mkdir()
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    for number in range(10):
        Image.fromarray(np.full((16, 20, 3), 20 * number, np.uint8)).save(folder / f"{number}.png")
    (folder / "dud_[x](y).png").write_bytes(b"no photo")
    return folder


@pytest.fixture
def gate():
    """Cleared, it holds the network at the fifth photo."""
    event = threading.Event()
    event.set()
    return event


@pytest.fixture
def batch(recipe, workspace, monkeypatch, open_app, photos, gate):
    """batch() is the page with one recipe saved and the photos chosen; the score goes by the brightness."""

    def inspect(self, image):
        score = float(image.mean()) / 39
        if score >= 2.0:
            gate.wait(20)
        return Verdict(score, self.limits.decide(score)[0], np.linspace(0, score, 24, dtype=np.float32).reshape(4, 6))

    inspect_in_one_step(monkeypatch, LoadedRecipe, inspect)
    monkeypatch.setattr(LoadedRecipe, "engine", "nothing")
    on_cpu = SimpleNamespace(device=torch.device("cpu"))
    monkeypatch.setattr("inspect_core.ui.inspected_photos.loaded_backbone", lambda choice: on_cpu)
    monkeypatch.setattr("inspect_core.ui.weights_panel.offer_missing", lambda *_: False)
    save(recipe, workspace / "recipes" / "tile.zip")

    def start():
        app = open_app("pages/batch.py")
        app.text_input(key="batch_folder").set_value(str(photos)).run()
        return app

    return start


@pytest.fixture
def workers_asked_for(monkeypatch) -> list:
    """(count, address of the cluster) of each batch; the app itself judges instead."""
    asked = []

    def workers(count=None, cluster=None, certificates=None):
        asked.append((count, cluster))
        return contextlib.nullcontext()

    monkeypatch.setattr("inspect_core.ui.batch.batch_jobs.worker_selection.workers", workers)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    return asked


def inspections() -> int:
    with AuditLog.open() as log:
        return len(list(log.entries(kind="inspection")))


def test_an_empty_page_says_what_to_do_next(open_app):
    app = open_app("pages/batch.py")
    assert "No recipes yet." in words(app)
    press(app, "to_inspect")


def test_a_folder_is_judged_and_shown(batch, workspace, photos, workers_asked_for):
    app = batch()
    assert "accept, review, reject, not_located, not_judged" in words(app)
    (photos.parent / "empty").mkdir()
    app.text_input(key="batch_folder").set_value(str(photos.parent / "empty")).run()
    press(app, "batch_start")
    assert "No photos found at the given paths;" in app.error[0].value
    assert batch_store.all_runs() == []

    app.text_input(key="batch_folder").set_value(str(photos)).run()
    assert "**11 photos**: 11 without a label" in words(app), "found before it starts"
    app.number_input(key="batch_workers").set_value(3).run()
    finish(press(app, "batch_start"))
    assert [metric.value for metric in app.metric] == ["7", "2", "1", "1"]
    (run,) = batch_store.all_runs()
    assert run.finished
    assert workers_asked_for == [(run.workers, None)] == [(3, None)]
    assert [row.verdict for row in read_table(run.table)].count("not judged") == 1
    table = app.dataframe[0].value
    assert table["Photo"].iloc[0] == "0.png"
    assert list(table["Verdict"])[-2:] == ["✕ rejected", "– not judged"]
    assert len(list(run.pictures.iterdir())) == 10
    urls = [picture.url for shown in app.get("image") for picture in shown.proto.imgs]
    assert sum(url.startswith("data:image/svg+xml") for url in urls) == 1, "the histogram, which st.html would not show"
    row = read_table(run.table)[0]
    shown = (run.recipe, run.digest, str(photos / row.name), row.digest, 64)
    assert heatmap_of(*shown).startswith(b"RIFF"), "any row can be looked at"
    assert heatmap_of(*shown[:3], "0" * 64, 64) is None, "the file has changed"
    assert inspections() == 11
    app.segmented_control(key="batch_outcomes").set_value(["reject"]).run()
    assert list(app.dataframe[0].value["Photo"]) == ["9.png"]
    press(app, f"batch_delete-{run.id}")
    assert batch_store.all_runs() == []
    assert not app.metric

    (workspace / "recipes" / "tile.zip").write_bytes(b"damaged")
    app.run()
    assert "tile.zip" in app.error[0].value.replace("\\", "")
    assert not app.exception


@pytest.mark.usefixtures("unhurried")
def test_a_watch_that_a_restart_ended_is_told_logged_and_resumed(batch, photos, workspace, recipe, open_app):
    incoming = photos.parent / "in"
    incoming.mkdir()
    batch()
    known = load(workspace / "recipes" / "tile.zip")
    out = photos.parent / "out"
    began = time.time()
    request = WatchRequest(known.product, "tile.zip", known.digest, str(incoming), str(out), "Ana", True, began)
    with AuditLog.open() as log:
        limits = {"review": 1.0, "reject": 2.0, "area": 1, "recipe": known.digest}
        moved = str(out / "accept" / "8.png")
        earlier = Inspection(name="8.png", verdict="accept", path=moved, source="watch", **limits)
        elsewhere = replace(earlier, path=str(photos.parent / "another" / "8.png"))
        for key, row in (("earlier", earlier), ("elsewhere", elsewhere)):
            whose = {"user": "Ana", "product": known.product, "recipe": known.digest}
            log.append(INSPECTION, row.facts(), **whose, key=key)
    with watch_store.recorded(request):
        (file,) = (workspace / "watches").iterdir()
        assert watch_store.interrupted() == [], "while it goes on"
        content = file.read_bytes()
    assert not file.exists()
    file.write_bytes(content)  # as a killed server leaves it
    (workspace / "watches" / "odd.json").write_text('{"product": 1')
    another_type = json.loads(content) | {"began": "yesterday"}
    (workspace / "watches" / "typed.json").write_text(json.dumps(another_type))

    app = open_app("pages/batch.py")
    assert app.segmented_control(key="batch_mode").value == "Watch a folder"
    assert "by a restart. New photos wait in the folder." in words(app)
    assert "Resume it on Batch." in words(open_app("pages/recipes.py"))
    with AuditLog.open() as log:
        (entry,) = log.entries(kind=WATCH_INTERRUPTED)
    assert (entry.user, entry.product, entry.recipe) == ("Ana", known.product, known.digest)
    assert f"{incoming} is not watched since" in describe_entry(entry)
    press(app, f"watch_resume-{file.stem}")
    (job,) = shell.jobs().unqueued_jobs
    assert not file.exists()
    (photos / "9.png").rename(incoming / "9.png")
    wait_until(lambda: job.step == "1 accepted, 1 rejected")
    assert "draft 1, trial" in words(app.run())
    press(app, f"watch_stop-{job.id}")
    wait_until(lambda: not shell.jobs().unqueued_jobs)
    assert watch_store.interrupted() == []
    with AuditLog.open() as log:
        (new,) = (entry for entry in log.entries(kind=INSPECTION) if entry.facts["name"] == "9.png")
    assert new.facts["trial"]


def test_approved_version_is_preselected_and_a_draft_is_a_trial(batch, photos, recipe, workspace, workers_asked_for):
    app = batch()
    assert not app.toggle(key="batch_trial-tile.zip").value, "as long as none is approved"
    approved = load(workspace / "recipes" / "tile.zip")
    with AuditLog.open() as log:
        approve(log, approved.digest, product=approved.product, reason="released", user="Ana")
    limits = Limits(recipe.limits.reject, recipe.limits.reject)
    save(recipe.with_changes(author="Ana", reason="no review", limits=limits), workspace / "recipes" / "tile-2.zip")
    app = batch()
    choice = app.selectbox(key="batch_recipe")
    assert choice.value == workspace / "recipes" / "tile.zip"
    assert [option.endswith("for a trial") for option in choice.options] == [False, True]
    choice.set_value(workspace / "recipes" / "tile-2.zip").run()
    assert app.toggle(key="batch_trial-tile-2.zip").value
    finish(press(app, "batch_start"))
    (run,) = batch_store.all_runs()
    assert run.trial
    with AuditLog.open() as log:
        assert {entry.facts.get("trial") for entry in log.entries(kind="inspection")} == {1}


def test_labelled_folder_shows_errors_and_recipe_changes(batch, photos, recipe, workspace):
    for number in range(10):
        folder = photos / ("good" if number < 5 else "[x](y)")
        folder.mkdir(exist_ok=True)
        (photos / f"{number}.png").rename(folder / f"{number}.png")
    limits = Limits(recipe.limits.reject, recipe.limits.reject)
    save(recipe.with_changes(author="Ana", reason="no review", limits=limits), workspace / "recipes" / "other.zip")
    app = batch()
    app.selectbox(key="batch_recipe").set_value(workspace / "recipes" / "tile.zip").run()
    finish(press(app, "batch_start"))
    assert "Rejects 0 of 5 good parts (long-run upper bound 46 of 100), misses 2 of 5 defects" in words(app).replace(
        "\\", ""
    )
    assert [cell.replace("\\", "") for cell in app.table[0].value["Errors"]] == ["0.0%", "40.0%"]
    (first,) = batch_store.all_runs()
    finish(press(app, f"batch_compare-{first.id}"))
    (second,) = (run for run in batch_store.all_runs() if run.id != first.id)
    assert (second.baseline_batch, second.source) == (first.id, first.source)
    assert "2 of 11 verdicts change: 2 to review → accepted; 2 worse." in words(app).replace("\\", "")
    assert len(list(second.changed.iterdir())) == 4
    assert "Select a row below to see any other photo." not in words(app)
    assert "tile, draft" in words(app)


@pytest.mark.usefixtures("unhurried")
def test_watched_folder_is_shared_paused_and_stopped(batch, photos, open_app):
    incoming, (good, bad) = photos.parent / "in", (photos / "1.png", photos / "9.png")
    incoming.mkdir()
    app = batch()
    app.segmented_control(key="batch_mode").set_value("Watch a folder").run()
    app.text_input(key="watch_folder").set_value(str(incoming)).run()
    press(app, "watch_start")
    (job,) = shell.jobs().unqueued_jobs
    assert shell.jobs().current is None
    press(app, "watch_start")
    assert "is already running;" in words(app)

    bad.rename(incoming / "[b](ad).png")
    wait_until(lambda: "1 rejected" in job.step)
    app.run()
    assert "✕ Rejected" in app.error[0].value
    assert [metric.value for metric in app.metric] == ["0", "0", "1"]
    assert (photos.parent / "in-sorted" / "reject" / "[b](ad).png").is_file()
    another = open_app("pages/batch.py")
    assert "✕ Rejected" in another.error[0].value
    assert any("1 rejected" in caption.value for caption in another.sidebar.caption)

    press(another, f"watch_pause-{job.id}")
    wait_until(lambda: job.step == "paused")
    good.rename(incoming / "good.png")
    app.run()
    assert "Paused" in words(app)
    press(app, f"watch_pause-{job.id}")
    wait_until(lambda: "1 accepted" in job.step)
    press(app, f"watch_stop-{job.id}")
    wait_until(lambda: not shell.jobs().unqueued_jobs)
    app.run()
    assert "Stopped: 1 accepted, 1 rejected." in words(app)
    assert not app.exception


@pytest.mark.usefixtures("unhurried")
def test_cancelled_batch_goes_and_paused_one_keeps_its_recipe(batch, gate, recipe, workspace):
    app = batch()
    gate.clear()
    press(press(app, "batch_start"), "Cancel and discard")
    gate.set()
    wait_for_job()
    app.run()
    assert not app.exception
    assert batch_store.all_runs() == []
    discarded = inspections()

    gate.clear()
    press(app, "batch_start")
    (run,) = batch_store.all_runs()
    wait_until(lambda: run.row_count >= 3)
    press(app, "Pause")
    gate.set()
    wait_for_job()
    app.run()
    assert not run.finished
    assert 0 < run.row_count < 11
    assert f"{run.row_count} of 11 photos inspected" in words(app)

    save(replace(recipe, product="other"), workspace / "recipes" / "tile.zip")
    press(app, f"batch_resume-{run.id}")
    wait_for_job()
    app.run()
    assert "no longer the recipe" in app.error[0].value
    assert not run.finished

    save(recipe, workspace / "recipes" / "tile.zip")
    before = inspections() - discarded
    finish(press(app, f"batch_resume-{run.id}"))
    assert len(read_table(run.table)) == 11
    assert inspections() - discarded == 11 > before


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"id": "x"}', b"\xff"])
def test_what_is_no_batch_is_passed_over(workspace, content):
    folder = workspace / "batches" / "20261121-000000-aaaaaa"
    folder.mkdir(parents=True)
    (folder / "batch.json").write_bytes(content)
    assert batch_store.all_runs() == []


def test_cluster_is_offered_only_with_all_certificates(batch, monkeypatch, workers_asked_for):
    monkeypatch.setenv("LOUPE_CLUSTER", "tls://plant:8786")
    monkeypatch.setenv("LOUPE_TLS_CA", "ca.pem")
    app = batch()
    assert any("ertificates" in error.value for error in app.error)
    assert app.number_input(key="batch_workers").value == 1
    monkeypatch.setenv("LOUPE_CLUSTER", "tcp://127.0.0.1:8786")
    monkeypatch.delenv("LOUPE_TLS_CA")
    assert app.run().number_input(key="batch_workers").value == 1
    app.segmented_control(key="batch_judged_by").set_value("Cluster").run()
    assert not app.exception
    assert any("run code on it" in caption.value for caption in app.caption)
    finish(press(app, "batch_start"))
    assert workers_asked_for == [(None, "tcp://127.0.0.1:8786")]
    assert batch_store.all_runs()[0].cluster
