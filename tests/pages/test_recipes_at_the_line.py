"""Recipes: the export with its proof, and challenge parts."""

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from inspect_core.audit import challenges
from inspect_core.audit.life_cycle import approve
from inspect_core.audit.log import AuditLog
from inspect_core.images.photo_reader import read
from inspect_core.methods.registry import METHODS
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_format.recorded_photos import ChallengePart
from inspect_core.recipe_format.zipped import zipped
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.runner import Runner
from inspect_core.ui import shell
from inspect_core.verdict import Limits
from tests.pages.waiting import finish, press, wait_for_job
from tests.test_runner import signed

pytestmark = pytest.mark.usefixtures("no_first_start")


def opened(app, key: str):
    """The page with one of the tabs of a recipe opened, as by a click on it."""
    name, label = key.split(":")
    app.session_state[f"more-{name}"] = label
    return app.run()


@pytest.mark.usefixtures("unhurried")
def test_a_recipe_is_exported_with_its_proof(open_app, small_recipe, workspace, monkeypatch, product, tmp_path):
    recipe = small_recipe("mahalanobis")
    named = replace(recipe, backbone=replace(recipe.backbone, name="efficientnet_lite0"))  # the page refuses others
    saved = save(named, workspace / "recipes/f.zip")
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    app = opened(open_app("pages/recipes.py"), "f.zip:Export")
    assert "outside the allowed folders" in app.error[0].value
    app.text_input(key="photos-f.zip").set_value(str(tmp_path)).run()
    press(app, "export-f.zip")
    wait_for_job()
    assert "none of the" in str(shell.jobs().current.error)

    monkeypatch.setenv("LOUPE_ROOTS", str(product.parent))
    app = opened(open_app("pages/recipes.py"), "f.zip:Export")
    assert app.text_input(key="photos-f.zip").value == str(product)
    finish(press(app, "export-f.zip"))
    assert "all verdicts match," in app.success[0].value
    written = next((workspace / "exports").glob("*.zip"))
    assert Runner(written).digest == saved.digest == written.stem
    assert [code.value for code in app.code] == [Runner(written).release]
    with zipfile.ZipFile(written) as archive:
        archive.extractall(tmp_path / "forged")
    with (tmp_path / "forged" / recipe_package.PARITY).open("a") as file:
        file.write("\n")
    written.write_bytes(zipped(signed(tmp_path / "forged")))
    app.run()
    assert "The audit log has no record of this export (release" in app.error[0].value
    assert not app.code
    monkeypatch.setattr(type(METHODS[recipe.method]), "exportable", False)
    app.run()
    assert "for the line," in app.info[0].value
    assert "export-f.zip" not in {button.key for button in app.button}
    press(app, "delete-f.zip")
    assert not written.exists()


@pytest.mark.usefixtures("unhurried")
def test_after_the_approval_comes_the_export(open_app, small_recipe, workspace, monkeypatch, product):
    recipe = small_recipe("mahalanobis")
    named = replace(recipe, backbone=replace(recipe.backbone, name="efficientnet_lite0"))
    saved = save(named, workspace / "recipes/f.zip")
    monkeypatch.setenv("LOUPE_ROOTS", str(product.parent))
    app = open_app("pages/recipes.py")
    assert "next-export-f.zip" not in {button.key for button in app.button}
    with AuditLog.open() as log:
        approve(log, digest=saved.digest, product=saved.product, reason="new lamp", user="eve")
    app.run()
    finish(press(app, "next-export-f.zip"))
    assert "next-export-f.zip" not in {button.key for button in app.button}
    assert any(element.proto.label.startswith("Download for the line") for element in app.get("download_button"))


def taken_again(path: Path) -> bytes:
    """Another photo of the same part: compressed anew."""
    content = io.BytesIO()
    Image.open(path).save(content, "JPEG", quality=90)
    return content.getvalue()


def test_parts_are_named_challenged_and_overridden(open_app, flange, workspace, product):
    highest = float(flange.study.scores()[flange.scored.good_and_defect()[0]].max())
    limits = Limits(2 * highest, 3 * highest)  # three photos alone set the suggested ones
    recipe = flange.study.recipe(limits, product="flange", product_check=flange.product_check)
    saved = save(recipe, workspace / "recipes/f.zip")
    scores = {row.name: row.score for row in saved.test_photos}
    best = min((product / "test/good").iterdir(), key=lambda path: scores[f"test/good/{path.name}"])
    photo = [("plain.jpg", best.read_bytes(), "image/jpeg")]
    app = opened(open_app("pages/recipes.py"), "f.zip:Challenge parts")
    app.file_uploader(key="name-good-f.zip").set_value(photo).run()
    press(app, "name-f.zip")
    assert not app.error, app.error[0].value
    recipe = load(workspace / "recipes/flange.zip")
    (part,) = recipe.challenge_parts
    assert part == ChallengePart("plain", True, "accept", part.score, digest=read(best).digest)
    assert recipe.provenance.parent == saved.digest

    opened(app, "flange.zip:Challenge parts")
    assert "its challenge has never been run here;" in app.warning[0].value
    app.file_uploader(key="challenge-files-flange.zip").set_value(photo).run()
    press(app, "run-challenge-flange.zip")
    assert any("the photo that named this part; take one now" in element.value for element in app.markdown)
    app.file_uploader(key="challenge-files-flange.zip").set_value(
        [("plain.jpg", taken_again(best), "image/jpeg")]
    ).run()
    press(app, "run-challenge-flange.zip")
    assert not app.error, app.error[0].value
    assert "cleared for watched folders" in app.success[0].value
    assert any("passed" in element.value and "of its margin" in element.value for element in app.markdown)
    with AuditLog.open() as log:
        assert challenges.why_blocked(log, recipe.digest) is None
        challenges.record(log, [{"name": "plain", "passed": False}], product="flange", recipe=recipe.digest, user="Ana")
    app.run()
    assert "challenge failed" in app.warning[0].value
    app.text_input(key="override-reason-flange.zip").set_value("lamp ordered").run()
    press(app, "override-flange.zip")
    with AuditLog.open() as log:
        assert challenges.last(log, recipe.digest).facts == {"reason": "lamp ordered"}
