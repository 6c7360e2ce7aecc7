"""The measurement study page: set up, led through by photos and by people, results and report."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from inspect_core.recipe import LoadedRecipe
from inspect_core.recipe_io.recipe_file import save
from inspect_core.spc import msa_study
from inspect_core.ui.measurement import msa_panels
from inspect_core.ui.measurement.msa_panels import html_of
from inspect_core.verdict import Verdict
from tests.inspectors import inspect_in_one_step
from tests.pages.waiting import press, words

PAGE = "pages/measurement.py"
pytestmark = pytest.mark.usefixtures("no_first_start")


@pytest.fixture
def begun(open_app, recipe, workspace, monkeypatch):
    """A study of three parts in two trials, by Loupe and Ann; the score goes by the brightness."""

    def inspect(self, image):
        score = float(image.mean()) / 30
        return Verdict(score, self.limits.decide(score)[0], np.zeros((4, 6), np.float32))

    inspect_in_one_step(monkeypatch, LoadedRecipe, inspect)
    monkeypatch.setattr(msa_panels, "loaded_backbone", lambda choice: type("Network", (), {"device": "cpu"})())
    save(replace(recipe, product="tile"), workspace / "recipes/tile.zip")
    app = open_app(PAGE)
    app.text_area(key="measurement_parts").set_value("1, good\n2, good\n3, defective").run()
    app.number_input(key="measurement_trials").set_value(2).run()
    app.text_input(key="measurement_people").set_value("Ann").run()
    return press(app, "measurement_begin")


def photo(brightness: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((16, 20, 3), brightness, np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def test_parts_are_taken_from_a_folder(open_app, recipe, workspace, tmp_path, monkeypatch):
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    save(replace(recipe, product="tile"), workspace / "recipes/tile.zip")
    for name in ("good/part_1.png", "good/part_2.png", "scratch/part_7.png"):
        (path := tmp_path / "tray" / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(photo(100))
    app = open_app(PAGE)
    app.text_input(key="measurement_folder").set_value(str(tmp_path / "tray")).run()
    press(app, "measurement_take")
    assert app.text_area(key="measurement_parts").value == "part_1, good\npart_2, good\npart_7, defective"
    press(app, "measurement_begin")
    assert [part.name for part in msa_study.load("MSA-study").parts] == ["part_1", "part_2", "part_7"]


def test_parts_of_which_nothing_is_known_are_not_taken(open_app, recipe, workspace, tmp_path, monkeypatch):
    """Two series are neither good nor defective until somebody says so."""
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    save(replace(recipe, product="tile"), workspace / "recipes/tile.zip")
    for name in ("Serie A/1.png", "Serie B/2.png"):
        (path := tmp_path / "tray" / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(photo(100))
    app = open_app(PAGE)
    app.text_input(key="measurement_folder").set_value(str(tmp_path / "tray")).run()
    assert "Nothing says whether 2 of its 2 photos show good parts." in words(app)
    assert app.button(key="measurement_take").disabled


def test_a_study_is_set_up_led_through_and_reported(begun, tmp_path):
    app, stem = begun, "MSA-study"
    for trial in (1, 2):
        app.segmented_control(key=f"way-{stem}").set_value("All photos of one trial").run()
        part = msa_study.load(stem).next_for("Loupe")[0].name
        files = [
            (f"part_{number}.png", photo(10 * number + trial + 100 * (number == 3)), "image/png")
            for number in (1, 2, 3)
        ]
        app.file_uploader(key=f"trial-{stem}-{part}-{trial}").set_value(files).run()
        press(app, f"judge-{stem}-{part}-{trial}")
        assert len(msa_study.load(stem).appraisals) == 3 * trial
    assert "has completed all trials." in " ".join(element.value for element in app.success)
    assert "Results stay hidden while the parts are appraised: 6 appraisals to go." in words(app)
    assert "distinct categories" not in words(app)
    app.toggle(key=f"ended-{stem}").set_value(True).run()
    assert "distinct categories" in words(app)
    assert not [control for control in app.segmented_control if control.key == f"who-{stem}"]
    app.toggle(key=f"ended-{stem}").set_value(False).run()
    app.segmented_control(key=f"who-{stem}").set_value("Ann").run()
    assert (list(app.title), list(app.progress)) == ([], []), "nothing but the part and the call"
    press(app, f"back-{stem}")
    assert app.title[0].value == "MSA study"
    app.segmented_control(key=f"who-{stem}").set_value("Ann").run()
    while (turn := msa_study.load(stem).next_for("Ann")) is not None:
        part, trial = turn
        press(app, f"{'Defective' if part.defective else 'Good'}-{stem}-Ann-{part.name}-{trial}")
    assert "Kappa between Loupe and Ann\\: 1.00" in words(app)
    report = html_of(msa_study.load(stem), {"": ["Effectiveness"], "Ann": ["3 of 3"]}, ["<b>said</b>"], "Capable")
    assert "&lt;b&gt;said" in report
    assert "http" not in report.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_a_tray_that_shows_nothing_is_refused_in_words(open_app, recipe, workspace):
    save(recipe, workspace / "recipes/tile.zip")
    app = open_app(PAGE)
    press(app, "measurement_begin")
    assert "2 to 500 parts, this one 0; list them" in app.error[0].value
    assert msa_study.names() == []


def test_photos_are_matched_to_parts_in_words(begun):
    app, stem = begun, "MSA-study"
    app.segmented_control(key=f"way-{stem}").set_value("All photos of one trial").run()
    part = msa_study.load(stem).next_for("Loupe")[0].name
    app.file_uploader(key=f"trial-{stem}-{part}-1").set_value([("other.png", photo(9), "image/png")]).run()
    press(app, f"judge-{stem}-{part}-1")
    assert "other.png does not match a part of the study" in app.error[0].value.replace("\\", "")
    assert not app.exception
    assert not msa_study.load(stem).appraisals
