import io
import json
import os
import shutil
import time
import urllib.error
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from inspect_core.cli.commands import main
from inspect_core.methods.table import CANDIDATES, methods_in
from inspect_core.package import manifest
from inspect_core.records.recipe_file import save
from inspect_core.study.order import Order
from inspect_core.tuning import comparison
from inspect_core.tuning.aligning import Gain
from inspect_core.tuning.forecast import methods_to_fit
from inspect_core.ui import shelf, shell, teaching
from inspect_core.ui.teach import lying_panel, panels


@pytest.fixture(autouse=True)
def roots(product, monkeypatch):
    monkeypatch.setenv("LOUPE_ROOTS", str(product.parent))


def choose_folder(app, path):
    app.segmented_control(key="photos_from").set_value("Folder on this computer").run()
    app.text_input(key="folder").set_value(str(path)).run()
    assert not app.exception
    return app


def make_small(app):
    app.radio(key="method").set_value("mahalanobis").run()
    app.select_slider(key="size").set_value(128)
    app.select_slider(key="grid").set_value(16)
    app.slider(key="fit_k").set_value(10)


@pytest.fixture
def no_forecast(monkeypatch):
    monkeypatch.setattr(panels, "show_forecast", lambda order: None)


def finish_job(app):
    while shell.jobs().current.active:
        time.sleep(0.05)
    return app.run()


def files_of(recipe: Path) -> dict:
    """What a recipe's files hold, but for who saved it, when and why."""
    document = json.loads((recipe / manifest.RECIPE).read_text())
    for name in ("created", "author", "reason"):
        del document[name]
    return {"document": document} | {
        name: (recipe / name).read_bytes() for name in (manifest.ARRAYS, manifest.CALIBRATION)
    }


def test_the_sample_is_ready_to_be_taught(open_app, monkeypatch):
    app = open_app("pages/teach.py")
    assert "80 good, 20 defects of 5 types" in " ".join(element.value for element in app.markdown)
    assert app.button(key="teach").label == "Teach"
    assert "Training takes about" in " ".join(element.value for element in app.caption)


def test_a_folder_is_taught_and_lies_in_hand(open_app, no_first_start, exported, product):
    app = choose_folder(open_app("pages/teach.py"), product)
    assert "18 good, 3 defects of 2 types" in " ".join(element.value for element in app.markdown)
    make_small(app)
    app.button(key="teach").click().run()
    assert shell.jobs().current.title == "Teaching flange"
    second = app.button(key="teach")
    assert second.disabled or not shell.jobs().current.active
    finish_job(app)
    assert shell.jobs().current.error == ""
    assert not app.exception
    taught = shelf._shelf().items
    assert [item.product for item in taught.values()] == ["flange"]
    assert next(iter(taught.values())).guard is not None


def test_the_command_line_teaches_the_same_recipe(
    open_app, no_first_start, no_forecast, exported, product, tmp_path, monkeypatch
):
    monkeypatch.setattr(comparison, "CANDIDATES", ("mahalanobis", "corp"))
    app = choose_folder(open_app("pages/teach.py"), product)
    app.select_slider(key="size").set_value(128)
    app.select_slider(key="grid").set_value(16)
    app.number_input(key="split_seed").set_value(7)
    app.radio(key="method").set_value("compared").run()
    finish_job(app.button(key="teach").click().run())
    assert shell.jobs().current.error == ""
    taught = shelf.find(shell.jobs().current.result)
    live = taught.scored.live
    recipe = taught.study.recipe(taught.suggested_limits(live), product=taught.product, guard=taught.guard, **live)
    save(recipe, tmp_path / "page")
    command = ["fit", str(product), "--out", str(tmp_path / "line"), "--size", "128", "--grid", "16"]
    assert main([*command, "--seed", "7"]) == 0
    assert taught.choice
    page, line = (files_of(tmp_path / name) for name in ("page", "line"))
    assert page == line


def test_a_damaged_photo_is_listed_and_the_others_can_be_taught(
    open_app, no_first_start, product, tmp_path, monkeypatch
):
    folder = tmp_path / "with_damage"
    shutil.copytree(product, folder)
    (folder / "train/good/half.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    app = choose_folder(open_app("pages/teach.py"), folder)
    assert "1 skipped" in " ".join(element.value for element in app.markdown)
    assert any("half.png" in element.value for element in app.text), [element.value for element in app.text]
    assert not app.button(key="teach").disabled


@pytest.mark.parametrize(
    ("path", "words"),
    [("gone", "gone"), ("../..", "outside"), ("empty", "is empty")],
)
def test_a_folder_that_cannot_be_used_says_why(open_app, no_first_start, product, path, words):
    (product.parent / "empty").mkdir(exist_ok=True)
    app = choose_folder(open_app("pages/teach.py"), product.parent / path)
    assert any(words in error.value for error in app.error), [error.value for error in app.error]
    assert not [button for button in app.button if button.key == "teach"]


def test_paths_that_lead_nowhere_or_to_no_file_say_so_at_once(open_app, no_first_start, tmp_path, monkeypatch):
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe.zip")
    app = open_app("pages/teach.py")
    for path, words in (
        ("~nosuchuser/x", "cannot be used"),
        ("n" * 5000, "cannot be used"),
        ("a\0b", "cannot be used"),
        (tmp_path / "loop", "does not exist"),
        (tmp_path / "pipe.zip", "neither a folder, a zip archive nor a list"),
    ):
        choose_folder(app, path)
        assert [words in error.value for error in app.error] == [True], [error.value for error in app.error]


def test_uploaded_photos_and_zips_are_kept_under_safe_names(open_app, no_first_start, product, workspace):
    photos = sorted((product / "train/good").iterdir())[:5]
    app = open_app("pages/teach.py")
    app.segmented_control(key="photos_from").set_value("Upload").run()
    files = [(f"../{photo.name}", photo.read_bytes(), "image/jpeg") for photo in photos]
    app.file_uploader(key="files_upload").set_value(files).run()
    assert not app.exception
    assert "5 good" in " ".join(element.value for element in app.markdown)
    kept = [path for path in (workspace / "uploads").rglob("*") if path.is_file()]
    assert len(kept) == 5

    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for photo in photos:
            archive.write(photo, f"good/{photo.name}")
    app.file_uploader(key="files_upload").set_value([("part 7.zip", held.getvalue(), "application/zip")]).run()
    assert not app.exception
    assert "5 good" in " ".join(element.value for element in app.markdown)
    assert app.text_input(key="product-part 7").value == "part 7"


def test_every_uploaded_photo_is_taught_under_its_own_name(open_app, no_first_start, product, workspace, monkeypatch):
    orders = []
    monkeypatch.setattr(teaching, "start", lambda *order, **_: orders.append(order[-1]))
    photos = sorted((product / "train/good").iterdir())
    names = [
        *(f"{sign}.jpg" for sign in "一二三四五"),
        "a b.jpg",
        "a-b.jpg",
        "a_b.jpg",
        "same.jpg",
        "same.jpg",
        "CON.jpg",
    ]
    files = [(name, photo.read_bytes(), "image/jpeg") for name, photo in zip(names, photos, strict=False)]
    app = open_app("pages/teach.py")
    app.segmented_control(key="photos_from").set_value("Upload").run()
    app.file_uploader(key="files_upload").set_value(files).run()
    assert not app.exception
    assert f"{len(names)} good" in " ".join(element.value for element in app.markdown)
    app.button(key="teach").click().run()
    (order,) = orders
    used = {
        sample.path.name for part in (order.photos.fit, order.photos.calibrate, order.photos.judge) for sample in part
    }
    assert used == {*names, "same (2).jpg"}


def test_a_zip_among_photos_and_a_full_disk_are_said(open_app, no_first_start, product, monkeypatch):
    photo = next((product / "train/good").iterdir()).read_bytes()
    app = open_app("pages/teach.py")
    app.segmented_control(key="photos_from").set_value("Upload").run()
    app.file_uploader(key="files_upload").set_value(
        [("a.zip", b"PK", "application/zip"), ("b.jpg", photo, "image/jpeg")]
    )
    app.run()
    assert not app.exception
    assert "A zip is uploaded alone" in app.error[0].value

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    app.file_uploader(key="files_upload").set_value([("b.jpg", photo, "image/jpeg")]).run()
    assert not app.exception
    assert "No space left on device" in app.error[0].value


def test_weights_are_fetched_by_a_click_alone(open_app, no_first_start, product, tmp_path, monkeypatch):
    fetched = []
    monkeypatch.setenv("LOUPE_WEIGHTS", str(tmp_path / "weights"))

    def fetch(url, destination, *_, **__):
        fetched.append(url)
        raise urllib.error.URLError("no way out")

    monkeypatch.setattr(torch.hub, "download_url_to_file", fetch)
    app = choose_folder(open_app("pages/teach.py"), product)
    app.selectbox(key="backbone").set_value("resnet18").run()
    assert not app.exception
    assert "put the file resnet18" in app.warning[-1].value
    assert not [button for button in app.button if button.key == "teach"]
    assert fetched == []
    button = app.button(key="download_weights--resnet18")
    assert button.label == "Download 45 MB from download.pytorch.org"
    button.click().run()
    assert not app.exception
    assert fetched == ["https://download.pytorch.org/models/resnet18-f37072fd.pth"]
    assert "no way out" in app.error[-1].value


def test_settings_reach_the_order_and_its_forecast(
    open_app, no_first_start, product, monkeypatch, forecast_of_an_exported_graph
):
    orders = []
    monkeypatch.setattr(teaching, "start", orders.append)
    app = choose_folder(open_app("pages/teach.py"), product)
    make_small(app)
    app.radio(key="method").set_value("cop").run()
    assert app.segmented_control(key="guard_scores").value == "alone"
    app.segmented_control(key="guard_scores").set_value("fused").run()
    app.button(key="teach").click().run()
    assert not app.exception
    (order,) = orders
    assert (order.size, order.grid, order.method) == ((128, 128), (16, 16), "cop")
    asked = [(given.size, given.grid, methods_to_fit(given)) for given in forecast_of_an_exported_graph]
    assert asked[0] == ((256, 256), (32, 32), methods_in(CANDIDATES))
    assert asked[-1] == ((128, 128), (16, 16), ("cop",))
    assert order.photos.calibrate == ()
    assert order.fused_guard


def test_the_detector_is_chosen_for_the_photos_until_one_is_named(
    open_app, no_first_start, no_forecast, product, monkeypatch
):
    orders = []
    monkeypatch.setattr(teaching, "start", orders.append)
    app = choose_folder(open_app("pages/teach.py"), product)
    app.button(key="teach").click().run()
    app.radio(key="method").set_value("joined").run()
    app.button(key="teach").click().run()
    app.segmented_control(key="second_view").set_value("corp").run()
    app.button(key="teach").click().run()
    assert not app.exception
    assert [order.method for order in orders] == [None, "mahalanobis+quadrics", "mahalanobis+corp"]
    assert [set(order.parameters) for order in orders] == [set(), {"k", "components", "m", "robust"}, {"k"}]


def test_half_of_many_known_defects_choose_the_settings_unless_told_otherwise(open_app, no_forecast, monkeypatch):
    orders = []
    monkeypatch.setattr(teaching, "start", orders.append)
    app = open_app("pages/teach.py")
    assert "10 defects to choose settings" in " ".join(element.value for element in app.caption)
    app.button(key="teach").click().run()
    app.toggle(key="choose_by_defects").set_value(False).run()
    app.button(key="teach").click().run()
    assert not app.exception
    defects = [[sum(s.kind != "good" for s in part) for part in (o.photos.choose, o.photos.judge)] for o in orders]
    assert defects == [[10, 10], [0, 20]]


def test_quadrics_are_ordered_with_their_settings_and_a_robust_fit_takes_longer(
    open_app, no_first_start, product, monkeypatch
):
    orders = []
    monkeypatch.setattr(teaching, "start", orders.append)
    app = choose_folder(open_app("pages/teach.py"), product)
    app.radio(key="method").set_value("quadrics").run()
    quick = next(element.value for element in app.caption if "Training takes about" in element.value)
    app.slider(key="fit_components").set_value(88).run()
    app.toggle(key="fit_robust").set_value(True).run()
    slow = next(element.value for element in app.caption if "Training takes about" in element.value)
    assert "min" in slow
    assert slow != quick
    app.button(key="teach").click().run()
    assert not app.exception
    assert orders[0].parameters == {"m": 100, "components": 88, "robust": 1}


def test_the_depth_of_12_bit_photos_is_said_and_what_is_chosen_reaches_the_order(
    open_app, no_first_start, tmp_path, monkeypatch
):
    ordered = []
    monkeypatch.setattr(teaching, "start", ordered.append)
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    (tmp_path / "good").mkdir()
    rng = np.random.default_rng(0)
    for number in range(6):
        Image.fromarray(rng.integers(300, 2900, (64, 64), np.uint16)).save(tmp_path / "good" / f"{number}.png")
    app = choose_folder(open_app("pages/teach.py"), tmp_path)
    assert any("The photos have 12 bits" in text.value for text in app.markdown)
    app.toggle(key="depth_learned").set_value(True).run()
    app.selectbox(key="depth_bits").set_value(14).run()
    app.button(key="teach").click().run()
    depth = ordered[0].photos.fit[0].depth
    assert (depth.bits, depth.is_full) == (14, False)


def test_where_aligning_helps_it_is_said_and_preselected_before_learning(
    open_app, no_first_start, no_forecast, product, monkeypatch
):
    ordered = []
    monkeypatch.setattr(teaching, "start", ordered.append)
    monkeypatch.setattr(lying_panel, "_gain", lambda key, good: Gain(3.0, 1.0, len(good), 0.02))
    app = choose_folder(open_app("pages/teach.py"), product)
    assert any("differ 67% less from each other" in text.value for text in app.caption)
    (lying,) = (one for one in app.segmented_control if one.key.startswith("align-"))
    assert lying.value == "rigid"
    turn, shift = (one for one in app.number_input if one.key.startswith("align_"))
    turn.set_value(25)
    shift.set_value(15).run()
    app.button(key="teach").click().run()
    next(one for one in app.segmented_control if one.key == lying.key).set_value("none").run()
    app.button(key="teach").click().run()
    assert [(order.align, order.align_turn, order.align_shift) for order in ordered] == [
        ("rigid", 25.0, 0.15), ("none", Order.align_turn, Order.align_shift)
    ]  # fmt: skip
