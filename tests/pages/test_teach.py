"""The Teach page: where photos come from, what can be set, and the order that follows from it."""

import io
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from inspect_core.images.alignment import NoAlignment
from inspect_core.images.tiles import TilePlan
from inspect_core.images.tolerances import DEFAULT_TOLERANCES, Tolerances
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.alignment_training import WITHOUT_ALIGNMENT
from inspect_core.ui import shell, teaching_job, weights_panel
from inspect_core.ui.teach import teach_panels
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import choose_folder, finish, press, wait_for_job, words

PAGE = "pages/teach.py"


@pytest.fixture(autouse=True)
def roots(product, monkeypatch):
    monkeypatch.setenv("LOUPE_ROOTS", str(product.parent))


@pytest.fixture
def forecasts(monkeypatch) -> list:
    """The orders for which a forecast would have been shown."""
    calls = []
    monkeypatch.setattr(teach_panels, "show_plan", calls.append)
    return calls


@pytest.fixture
def orders(monkeypatch) -> list:
    """What is taught."""
    calls = []
    monkeypatch.setattr(teaching_job, "start", calls.append)
    return calls


@pytest.fixture
def allowed(monkeypatch, tmp_path):
    """A folder of the test's own, from which photos may come."""
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    return tmp_path


@pytest.fixture
def on_product(open_app, no_first_start, product):
    return choose_folder(open_app(PAGE), product)


def make_small(app):
    app.radio(key="method").set_value("mahalanobis").run()
    app.select_slider(key="size").set_value(128)
    app.select_slider(key="grid").set_value(8)
    app.slider(key="fit_k").set_value(10)


def upload(app, *files: tuple[str, bytes]):
    """files: (name, content) of each."""
    app.segmented_control(key="photos_from").set_value("Upload").run()
    app.file_uploader(key="files_upload").set_value([(*file, "application/octet-stream") for file in files]).run()
    assert not app.exception
    return app


def names_of(photos) -> set[str]:
    return {sample.path.name for part in (photos.train, photos.calibration, photos.test) for sample in part}


@pytest.mark.usefixtures("unhurried")
def test_sample_is_ready_and_half_the_defects_choose(open_app, orders):
    app = open_app(PAGE)
    assert "80 good, 20 defects of 5 types" in words(app)
    assert app.button(key="teach").label == "Teach"
    assert "Teaching takes about" in words(app)
    assert "10 defects for validation" in words(app)
    app.slider(key="tolerance_noise").set_value(3.0).run()
    press(app, "teach")
    app.toggle(key="choose_by_defects").set_value(False).run()
    app.toggle(key="tolerate").set_value(False).run()
    press(app, "teach")
    parts = [(order.photos.validation, order.photos.test) for order in orders]
    assert [[sum(photo.label != "good" for photo in part) for part in pair] for pair in parts] == [[10, 10], [0, 20]]
    tolerated = Tolerances(
        3.0, DEFAULT_TOLERANCES.light, DEFAULT_TOLERANCES.shift, DEFAULT_TOLERANCES.focus, DEFAULT_TOLERANCES.jpeg
    )
    assert [order.tolerances for order in orders] == [tolerated, None]


@pytest.mark.usefixtures("unhurried")
def test_a_folder_is_taught_and_lies_in_hand(on_product):
    assert "18 good, 3 defects of 2 types" in words(on_product)
    make_small(on_product)
    press(on_product, "teach")
    assert shell.jobs().current.title == "Teaching flange"
    second = on_product.button(key="teach")
    assert second.disabled or not shell.jobs().current.active
    finish(on_product)
    (open_product,) = shelf().items.values()
    assert open_product.product == "flange"
    assert open_product.product_check is not None


def test_an_upload_leaves_no_file_behind_unsaid(open_app, no_first_start, product):
    """A table of labels of any kind comes along and is asked about; what cannot be used is named."""
    photos = [(path.name, path.read_bytes()) for path in sorted((product / "train/good").iterdir())[:6]]
    app = upload(open_app(PAGE), *photos, ("results.accdb", b"Standard ACE DB"), ("note.pdf", b"%PDF-1.7"))
    assert "results.accdb" in words(app)
    assert list(app.file_uploader(key="files_upload").proto.type) == [], "the browser offers every file"


def test_a_damaged_photo_is_listed_and_the_others_can_be_taught(open_app, no_first_start, product, allowed):
    folder = allowed / "with_damage"
    shutil.copytree(product, folder)
    (folder / "train/good/half.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    app = choose_folder(open_app(PAGE), folder)
    assert "1 skipped" in words(app)
    assert any("half.png" in element.value for element in app.text), [element.value for element in app.text]
    assert not app.button(key="teach").disabled


def test_a_folder_that_cannot_be_used_says_why(open_app, no_first_start, allowed):
    (allowed / "empty").mkdir()
    (allowed / "loop").symlink_to("loop")
    os.mkfifo(allowed / "pipe.zip")
    app = open_app(PAGE)
    for path, reason in (
        (allowed / "gone", "gone"),
        (allowed / "../..", "LOUPE\\_ROOTS"),
        (f'"{allowed / "empty"}"', "is empty"),
        (r'"C:\photos\part 17"', "is a Windows path,"),
        (allowed / "empty", "is empty"),
        ("~nosuchuser/x", "cannot be used"),
        ("n" * 5000, "cannot be used"),
        ("a\0b", "cannot be used"),
        (allowed / "loop", "does not exist"),
        (allowed / "pipe.zip", "zip archive or list of photos;"),
    ):
        choose_folder(app, path)
        assert [reason in error.value for error in app.error] == [True], [error.value for error in app.error]
        assert not [button for button in app.button if button.key == "teach"]


def test_uploaded_photos_and_zips_are_kept_under_safe_names(open_app, no_first_start, product, workspace):
    photos = sorted((product / "train/good").iterdir())[:5]
    app = upload(open_app(PAGE), *((f"../{photo.name}", photo.read_bytes()) for photo in photos))
    assert "5 good" in words(app)
    assert len([path for path in (workspace / "uploads").rglob("*") if path.is_file()]) == 5

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for photo in photos:
            archive.write(photo, f"good/{photo.name}")
    upload(app, ("part 7.zip", buffer.getvalue()))
    assert "5 good" in words(app)
    assert app.text_input(key="product-part 7").value == "part 7"


def test_every_uploaded_photo_is_taught_under_its_own_name(open_app, no_first_start, orders, product):
    odd = ["a b.jpg", "a-b.jpg", "a_b.jpg", "same.jpg", "same.jpg", "CON.jpg"]
    names = [*(f"{sign}.jpg" for sign in "一二三四五"), *odd]
    photos = sorted((product / "train/good").iterdir())
    files = [(name, photo.read_bytes()) for name, photo in zip(names, photos, strict=False)]
    app = upload(open_app(PAGE), *files)
    assert f"{len(names)} good" in words(app)
    press(app, "teach")
    assert names_of(orders[0].photos) == {*names, "same (2).jpg"}


def test_a_zip_among_photos_and_a_full_disk_are_said(open_app, no_first_start, product, monkeypatch):
    photo = next((product / "train/good").iterdir()).read_bytes()
    app = upload(open_app(PAGE), ("a.zip", b"PK"), ("b.jpg", photo))
    assert "Upload either photos or one zip" in app.error[0].value

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert "No space left on device" in upload(app, ("b.jpg", photo)).error[0].value


def test_weights_are_fetched_by_a_click_alone(on_product, tmp_path, monkeypatch):
    fetched, app = [], on_product
    monkeypatch.setenv("LOUPE_WEIGHTS", str(tmp_path / "weights"))

    def fetch(spec, report):
        fetched.append(spec.name)
        report(0.5, "22 of 45 MB")
        raise ValueError("no way out")

    monkeypatch.setattr(weights_panel, "download_apart", fetch)
    app.selectbox(key="backbone").set_value("resnet18").run()
    assert not app.exception
    assert "put the file resnet18" in app.warning[-1].value
    assert not [button for button in app.button if button.key == "teach"]
    assert fetched == []
    assert app.button(key="download_weights--resnet18").label == "Download 45 MB from download.pytorch.org"
    press(app, "download_weights--resnet18")
    wait_for_job()
    app.run()
    assert fetched == ["resnet18"]
    assert app.error[-1].value == "**Downloading resnet18** failed: no way out"


@pytest.mark.usefixtures("unhurried")
def test_networks_worth_having_are_offered(on_product, tmp_path, monkeypatch):
    app, folder = on_product, tmp_path / "weights"
    monkeypatch.setenv("LOUPE_WEIGHTS", str(folder))
    app.run()
    assert not app.exception
    small = "timm:vit_small_patch14_reg4_dinov2.lvd142m"
    assert app.button(key=f"download_weights-{small}").label == "Download 88 MB"
    assert small not in app.selectbox(key="backbone").options
    folder.mkdir()
    (folder / f"{small.removeprefix('timm:')}.safetensors").touch()
    app.run()
    assert f"download_weights-{small}" not in [button.key for button in app.button]
    app.selectbox(key="backbone").set_value(small).run()
    assert not app.exception
    sizes = app.select_slider(key="size-(224, 448)")
    assert sizes.options == ["224 × 224 px", "448 × 448 px"]


@pytest.mark.usefixtures("unhurried")
def test_settings_reach_the_config_and_its_forecast(on_product, orders, forecast_of_an_exported_graph):
    app = on_product
    app.radio(key="method").set_value("quadrics").run()

    def shown_texts() -> str:
        return next(element.value for element in app.caption if "Teaching takes about" in element.value)

    quick = shown_texts()
    app.slider(key="fit_components").set_value(88).run()
    app.toggle(key="fit_robust").set_value(True).run()
    assert "min" in shown_texts()
    assert shown_texts() != quick
    press(app, "teach")
    assert orders[-1].parameters == {"m": 100, "components": 88, "robust": 1}

    make_small(app)
    app.radio(key="method").set_value("cop").run()
    assert app.segmented_control(key="guard_scores").value == "alone"
    app.segmented_control(key="guard_scores").set_value("fused").run()
    press(app, "teach")
    order = orders[-1]
    assert (order.size, order.grid, order.method) == ((128, 128), (16, 16), "cop")
    assert order.photos.calibration == ()
    assert order.fused_product_check
    asked = [(order.size, order.grid, order.method) for order in forecast_of_an_exported_graph]
    assert asked[0] == ((256, 256), (32, 32), None)
    assert asked[-1] == ((128, 128), (16, 16), "cop")


def test_detector_is_chosen_by_the_photos_until_named(on_product, forecasts, orders):
    press(on_product, "teach")
    on_product.radio(key="method").set_value("joined").run()
    press(on_product, "teach")
    on_product.segmented_control(key="second_view").set_value("corp").run()
    press(on_product, "teach")
    assert [order.method for order in orders] == [None, "mahalanobis+quadrics", "mahalanobis+corp"]
    assert [set(order.parameters) for order in orders] == [
        set(),
        {"k", "components", "m", "robust"},
        {"k", "explained_variance"},
    ]


def test_depth_of_12_bit_photos_is_stated_and_selectable(open_app, no_first_start, forecasts, orders, allowed):
    (allowed / "good").mkdir()
    rng = np.random.default_rng(0)
    for number in range(6):
        Image.fromarray(rng.integers(300, 2900, (64, 64), np.uint16)).save(allowed / "good" / f"{number}.png")
    app = choose_folder(open_app(PAGE), allowed)
    assert "The photos have 12 bits" in words(app)
    next(toggle for toggle in app.toggle if toggle.key.startswith("depth_learned-")).set_value(True).run()
    app.selectbox(key="depth_bits").set_value(14).run()
    press(app, "teach")
    depth = orders[0].photos.train[0].depth
    assert (depth.bits, depth.is_full) == (14, False)


def test_alignment_is_tried_by_itself_unless_chosen(open_app, no_first_start, forecasts, orders, product):
    app = choose_folder(open_app(PAGE), product)

    def lying():
        return next(widget for widget in app.selectbox if widget.key.startswith("align-"))

    assert lying().value == "auto"
    assert "used only where it gains" in words(app)
    assert not [widget for widget in app.number_input if widget.key.startswith("align_")]
    press(app, "teach")
    lying().set_value("rigid").run()
    turn, shift = (widget for widget in app.number_input if widget.key.startswith("align_"))
    turn.set_value(25)
    shift.set_value(15).run()
    press(app, "teach")
    lying().set_value("none").run()
    press(app, "teach")
    usual = TeachingConfig.align_turn, TeachingConfig.align_shift
    assert [(order.align, order.align_turn, order.align_shift) for order in orders] == [
        ("auto", *usual),
        ("rigid", 25, 0.15),
        ("none", *usual),
    ]


def test_a_folder_is_chosen_by_clicking(open_app, no_first_start, forecasts, product):
    app = open_app(PAGE)
    app.segmented_control[0].set_value("Folder on this computer").run()
    app.session_state["browse-folder"] = True
    app.run()
    press(app, "folder-root-0")
    number = sorted(path.name for path in product.parent.iterdir() if path.is_dir()).index(product.name)
    press(app, f"folder-into-{number}")
    press(app, "folder-use")
    assert app.text_input(key="folder").value == str(product)
    assert "14 in train/, 4 in test/" in words(app)


def test_a_teaching_that_fails_for_alignment_goes_on_without(on_product, forecasts, monkeypatch):
    asked = []

    def teach(order, report):
        asked.append(order.align)
        raise NoAlignment(f"the part was located in 20 of 31 good photos; {WITHOUT_ALIGNMENT}")

    monkeypatch.setattr(teaching_job, "teach", teach)
    app = on_product
    next(widget for widget in app.selectbox if widget.key.startswith("align-")).set_value("rigid").run()
    press(app, "teach")
    wait_for_job()
    app.run()
    assert "located in 20 of 31" in app.error[0].value
    press(app, "teach_as_taken")
    wait_for_job()
    assert asked == ["rigid", "none"]


def test_smallest_defect_recommends_tiles_and_plans_them(on_product, forecasts):
    """Photos of 320 px for a network of 128 px."""
    app = on_product
    app.radio(key="method").set_value("mahalanobis").run()
    app.select_slider(key="size").set_value(256).run()
    assert not [toggle for toggle in app.toggle if toggle.key == "tiles"]
    app.select_slider(key="size").set_value(128).run()
    (message,) = (text.value for text in app.markdown if "px after resizing to" in text.value)
    assert message.startswith("A defect of 20 px is 8 px after resizing to 128 × 128 px; at least 16 px")
    assert message.endswith("use tiles.")
    assert forecasts[-1].tiles is None, "recommended, and left to the user"
    app.number_input(key="smallest_defect").set_value(60).run()
    assert "tiles are not needed" in words(app)
    app.number_input(key="smallest_defect").set_value(20).run()

    app.toggle(key="tiles").set_value(True).run()
    plan = TilePlan((256, 256), (128, 128), 64, 8)
    assert forecasts[-1].tiles == plan
    assert forecasts[-1].parameters["k"] <= plan.largest_k
    assert app.select_slider(key="grid").disabled
    assert f"{len(plan.tiles)} tiles of 128 × 128 px" in words(app)
    app.selectbox(key="tile_cell").set_value("32").run()
    assert forecasts[-1].tiles.cell == 32
    assert not app.exception


def test_what_was_chosen_stays_when_another_page_is_looked_at(open_app, no_first_start, product, forecasts):
    """Uploaded photos too: the browser forgets them with the page."""
    files = [(path.name, path.read_bytes(), "image/jpeg") for path in sorted((product / "train/good").iterdir())[:9]]
    app = open_app(PAGE)
    app.segmented_control(key="photos_from").set_value("Upload").run()
    app.file_uploader(key="files_upload").set_value(files).run()
    app.radio(key="method").set_value("mahalanobis").run()
    app.toggle(key="tolerate").set_value(False).run()
    before = forecasts[-1]
    app.switch_page("pages/history.py").run()
    app.switch_page(PAGE).run()
    assert not app.exception
    assert "The 9 uploaded files of before are used; choose others to replace them." in words(app)
    assert forecasts[-1] == before
    assert before.method == "mahalanobis"
    assert before.tolerances is None
