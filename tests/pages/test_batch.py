"""The Batch page: begun, paused, gone on with, discarded; what it shows of what came of it."""

import contextlib
import threading
import time

import numpy as np
import pytest
from PIL import Image

from inspect_core.audit.log import AuditLog
from inspect_core.line.table import read_table
from inspect_core.recipe import LoadedRecipe
from inspect_core.records.recipe_file import save
from inspect_core.ui.batch import runs
from inspect_core.verdict import Verdict
from tests.pages.waiting import finish, wait_for_job


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Ten photos of one brightness each and one that is damaged, in an allowed folder."""
    folder = tmp_path / "photos"
    folder.mkdir()
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    for number in range(10):
        Image.fromarray(np.full((16, 20, 3), 20 * number, np.uint8)).save(folder / f"{number}.png")
    (folder / "bad_[x](y).png").write_bytes(b"no photo")
    return folder


@pytest.fixture
def batch(recipe, workspace, monkeypatch, open_app, no_first_start, photos):
    """batch() is the page with one recipe saved and the photos chosen; the score goes by the brightness.

    gate: cleared, it holds the network at the fifth photo.
    """
    gate = threading.Event()
    gate.set()

    def inspect(self, image):
        score = float(image.mean()) / 39
        if score >= 2.0:
            gate.wait(20)
        return Verdict(score, self.limits.verdict(score), np.linspace(0, score, 24, dtype=np.float32).reshape(4, 6))

    monkeypatch.setattr(LoadedRecipe, "inspect", inspect)
    monkeypatch.setattr(LoadedRecipe, "engine", "nothing")
    monkeypatch.setattr("inspect_core.ui.batch.jobs.loaded_backbone", lambda choice: None)
    monkeypatch.setattr("inspect_core.ui.weights_panel.offer_missing", lambda *_: False)
    save(recipe, workspace / "recipes" / "tile.zip")

    def start():
        app = open_app("pages/batch.py")
        app.text_input(key="batch_folder").set_value(str(photos)).run()
        return app

    start.gate = gate
    return start


def words(app) -> str:
    return " ".join(element.value for element in (*app.markdown, *app.caption, *app.subheader, *app.info))


def test_an_empty_page_says_what_to_do_next(open_app, no_first_start):
    app = open_app("pages/batch.py")
    assert "No recipe has been saved yet" in words(app)
    app.button(key="to_inspect").click().run()
    assert not app.exception


def test_a_folder_is_judged_and_shown(batch, workspace):
    app = batch()
    assert "accept, review, reject, not_located, not_judged" in words(app)
    app.button(key="batch_start").click().run()
    app = finish(app)
    assert [metric.value for metric in app.metric] == ["7", "2", "1", "0", "1"]
    (run,) = runs.all_runs()
    assert run.finished
    assert [row.verdict for row in read_table(run.table)].count("not judged") == 1
    table = app.dataframe[0].value
    assert table["Photo"].iloc[0] == "0.png"
    assert list(table["Verdict"])[-2:] == ["✕ reject", "– not judged"]
    assert len(list(run.pictures.iterdir())) == 10
    with AuditLog.open() as log:
        assert len(list(log.entries(kind="inspection"))) == 11
    app.segmented_control(key="batch_outcomes").set_value(["reject"]).run()
    assert list(app.dataframe[0].value["Photo"]) == ["9.png"]
    app.button(key=f"batch_delete-{run.id}").click().run()
    assert runs.all_runs() == []
    assert not app.metric


def test_paused_it_goes_on_where_it_stopped(batch):
    app = batch()
    batch.gate.clear()
    app.button(key="batch_start").click().run()
    (run,) = runs.all_runs()
    limit = time.monotonic() + 20
    while run.kept < 3:
        assert time.monotonic() < limit, "no photo was judged"
        time.sleep(0.02)
    (button,) = (button for button in app.button if button.label == "Pause")
    button.click().run()
    batch.gate.set()
    wait_for_job()
    app.run()
    assert not run.finished
    assert 0 < run.kept < 11
    assert f"stopped after {run.kept} of 11 photos" in words(app)
    app.button(key=f"batch_resume-{run.id}").click().run()
    app = finish(app)
    assert len(read_table(run.table)) == 11
    with AuditLog.open() as log:
        assert len(list(log.entries(kind="inspection"))) == 11


def test_cancelled_it_is_gone(batch):
    app = batch()
    batch.gate.clear()
    app.button(key="batch_start").click().run()
    (button,) = (button for button in app.button if button.label == "Cancel and discard")
    button.click().run()
    batch.gate.set()
    wait_for_job()
    app.run()
    assert runs.all_runs() == []
    assert not app.exception


def test_another_recipe_under_the_name_is_refused(batch, recipe, workspace):
    from dataclasses import replace

    app = batch()
    batch.gate.clear()
    app.button(key="batch_start").click().run()
    next(button for button in app.button if button.label == "Pause").click().run()
    batch.gate.set()
    wait_for_job()
    save(replace(recipe, product="other"), workspace / "recipes" / "tile.zip")
    app.run()
    (run,) = runs.all_runs()
    app.button(key=f"batch_resume-{run.id}").click().run()
    wait_for_job()
    app.run()
    assert "no longer the recipe" in app.error[0].value
    assert not runs.all_runs()[0].finished


def test_a_folder_without_photos_and_a_damaged_recipe_are_named(batch, photos, workspace):
    app = batch()
    (photos.parent / "empty").mkdir()
    app.text_input(key="batch_folder").set_value(str(photos.parent / "empty")).run()
    app.button(key="batch_start").click().run()
    assert "no photo was found" in app.error[0].value
    assert runs.all_runs() == []
    (workspace / "recipes" / "tile.zip").write_bytes(b"damaged")
    app.run()
    assert "tile.zip" in app.error[0].value.replace("\\", "")
    assert not app.exception


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"id": "x"}', b"\xff"])
def test_what_is_no_batch_is_passed_over(batch, workspace, content):
    folder = workspace / "batches" / "20261121-000000-aaaaaa"
    folder.mkdir(parents=True)
    (folder / "batch.json").write_bytes(content)
    assert runs.all_runs() == []


def test_a_cluster_is_offered_where_the_app_was_started_with_one(batch, monkeypatch):
    asked = []

    def workers(count=None, cluster=None, certificates=None):
        asked.append((count, cluster, certificates))
        return contextlib.nullcontext()

    monkeypatch.setattr("inspect_core.ui.batch.jobs.choosing.workers", workers)
    monkeypatch.setenv("LOUPE_CLUSTER", "tcp://127.0.0.1:8786")
    app = batch()
    assert app.number_input(key="batch_workers").value == 1
    app.segmented_control(key="batch_judged_by").set_value("Cluster").run()
    assert not app.exception
    assert any("run code on it" in caption.value for caption in app.caption)
    app.button(key="batch_start").click().run()
    finish(app)
    assert asked == [(None, "tcp://127.0.0.1:8786", None)]
    assert runs.all_runs()[0].cluster


def test_a_cluster_without_all_of_its_certificates_is_said(batch, monkeypatch):
    monkeypatch.setenv("LOUPE_CLUSTER", "tls://plant:8786")
    monkeypatch.setenv("LOUPE_TLS_CA", "ca.pem")
    app = batch()
    assert any("certificates belong together" in error.value for error in app.error)
    assert app.number_input(key="batch_workers").value == 1


def test_processes_are_asked_for_and_kept_with_the_batch(batch, monkeypatch):
    asked = []

    def workers(count=None, cluster=None, certificates=None):
        asked.append(count)
        return contextlib.nullcontext()

    monkeypatch.setattr("inspect_core.ui.batch.jobs.choosing.workers", workers)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    app = batch()
    app.number_input(key="batch_workers").set_value(3).run()
    app.button(key="batch_start").click().run()
    finish(app)
    assert asked == [3]
    assert runs.all_runs()[0].workers == 3
