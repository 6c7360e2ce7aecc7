"""The Recipes page: what is in a recipe, adding, opening, deleting; files that are no recipes; the states."""

import asyncio
import csv
import hashlib
import json
import lzma
import os
import shutil
import tempfile
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from safetensors import SafetensorError

from inspect_core.audit import life_cycle
from inspect_core.audit.life_cycle import approve
from inspect_core.audit.log import AuditLog
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_format.fields import SCHEMA
from inspect_core.recipe_format.zipped import note_of
from inspect_core.recipe_io import recipe_file
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.ui import saved_recipes, server, shell, weights_panel
from inspect_core.ui.recipes import recipe_panels
from inspect_core.verdict import Limits
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import finish, open_recipe, press, wait_for_job, words

PAGE = "pages/recipes.py"
pytestmark = pytest.mark.usefixtures("no_first_start")


@pytest.fixture
def saved(flange, workspace):
    recipe = flange.study.recipe(product="flange", reason="first", product_check=flange.product_check)
    return save(recipe, workspace / "recipes/f.zip")


@pytest.fixture
def in_folder(workspace):
    """in_folder() are the names of all that lies among the recipes."""
    return lambda: {path.name for path in (workspace / "recipes").iterdir()}


def test_a_start_clears_what_a_killed_server_left(workspace, monkeypatch):
    async def start() -> None:
        async with server.first_page(None):
            pass

    monkeypatch.setattr(server.config, "get_option", lambda name: True)
    token = "a" * 32
    left = workspace / "recipes" / f".loupe-{token}"
    (left / "old").mkdir(parents=True)
    (left / "old" / "f.zip").write_bytes(b"taken aside")
    (left / "new.zip").write_bytes(b"half done")
    (workspace / "unfinished").mkdir()
    (workspace / "unfinished" / token).write_bytes(os.fsencode(left))
    with ThreadPoolExecutor() as another:  # in this thread runs the loop of a browser that another test opened
        another.submit(asyncio.run, start()).result()
    assert [path.name for path in (workspace / "recipes").iterdir()] == ["f.zip"]
    assert not list((workspace / "unfinished").iterdir())


def test_a_recipe_of_another_schema_is_refused_with_the_remedy(open_app, workspace, recipe):
    save(recipe, workspace / "recipes" / "flange.zip")
    with zipfile.ZipFile(workspace / "recipes" / "flange.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["recipe.json"] = files["recipe.json"].replace(f'"schema": {SCHEMA}'.encode(), b'"schema": 2')
    sums = b"".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n".encode()
        for name, content in sorted(files.items())
        if name != "SHA256SUMS"
    )
    with zipfile.ZipFile(workspace / "recipes" / "flange.zip", "w") as archive:
        for name, content in (files | {"SHA256SUMS": sums}).items():
            archive.writestr(name, content)
    app = open_app(PAGE)
    assert f"schema version is 2, this Loupe reads {SCHEMA} only; teach again" in app.error[0].value.replace("\\", "")


def test_a_workspace_that_cannot_be_written_is_named(open_app, workspace, monkeypatch):
    (workspace / "file").touch()
    monkeypatch.setenv("LOUPE_WORKSPACE", str(workspace / "file" / "below"))
    app = open_app(PAGE)
    assert "LOUPE_WORKSPACE" in app.error[0].value.replace("\\", "")
    assert not app.title


def test_recipe_shows_contents_opens_and_is_deleted(open_app, saved, in_folder):
    app = open_app(PAGE)
    assert app.header[0].value == r"flange, draft \(f\)", "a file of another name has no number"
    assert saved.digest in app.header[0].proto.help
    assert all(text in words(app) for text in ("k = ", "first"))
    open_recipe(app, "f.zip")
    part = shelf().last_used()
    assert part.recipe.digest == saved.digest
    assert part.suggested_limits(dict(part.recipe.live_values)) == saved.limits
    assert part.product_check is not None
    app.switch_page(PAGE).run()
    assert in_folder() == {"f.zip"}, "deleting asks first"
    press(app, "delete-f.zip")
    assert in_folder() == set()
    assert "No recipes yet." in words(app)
    assert app.button(key="to_inspect").label == "Go to Inspect"


def test_a_recipe_opened_before_its_page_is_drawn_is_in_hand(open_app, saved, in_the_hand, monkeypatch):
    app, go_to = open_app(PAGE), shell.go_to

    def wait_and_go(page: str) -> None:
        wait_for_job()
        go_to(page)

    monkeypatch.setattr(shell, "go_to", wait_and_go)
    open_recipe(app, "f.zip")
    assert app.session_state["in_hand"] == shelf().last_used().id != in_the_hand.id


def test_uploaded_recipe_is_checked_before_it_is_stored(open_app, saved, workspace, in_folder):
    data = (workspace / "recipes/f.zip").read_bytes()
    app = open_app(PAGE)

    def add(name: str, content: bytes) -> str:
        app.file_uploader(key="recipe_upload").set_value([(name, content, "application/zip")]).run()
        press(app, "add_recipe")
        return " ".join(error.value for error in app.error)

    assert "not a complete recipe zip" in add("../other.zip", data[:-50])
    assert in_folder() == {"f.zip"}
    for name in ("other.zip", "一.zip", "二.zip"):
        assert add(name, data) == ""
    assert "already exists" in add("一.zip", data)
    assert in_folder() == {"f.zip", "other.zip", "一.zip", "二.zip"}


def test_an_approval_elsewhere_is_told_and_does_not_count_here(open_app, recipe, workspace, monkeypatch):
    """The downloaded zip carries words on it; another workspace imports it as a draft that says so."""
    path = workspace / "recipes/first.zip"
    saved = save(recipe, path)
    with AuditLog.open() as log:
        approve(log, digest=saved.digest, product=saved.product, reason="new lamp", user="eve [x](y)")
    open_app(PAGE)
    package = recipe_panels._to_download(path, saved, "approved")
    assert load_bytes(package) == saved.digest, "its files are the same"
    monkeypatch.setenv("LOUPE_WORKSPACE", str(workspace.parent / "elsewhere"))
    app = open_app(PAGE)
    app.file_uploader(key="recipe_upload").set_value([("first.zip", package, "application/zip")]).run()
    press(app, "add_recipe")
    app.run()
    assert state_of(saved.digest) == "draft"
    shown = words(app)
    assert "by eve" in shown
    assert "at its source, not here" in shown
    assert "[x](y)" not in shown
    assert note_of(path) == {}


def load_bytes(package: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "r.zip")
        path.write_bytes(package)
        return load(path).digest


def flipped(folder: Path, path: Path, kind: int) -> None:
    """A recipe zip with one byte changed."""
    with zipfile.ZipFile(path, "w", kind) as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0xFF
    path.write_bytes(data)


def edited(folder: Path, name: str, change) -> None:
    """Change one file and put its digest right."""
    (folder / name).write_bytes(change((folder / name).read_bytes()))
    names = [path.name for path in folder.iterdir() if path.name != recipe_package.SUMS]
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / recipe_package.SUMS).write_bytes(recipe_package.listing_of(sums))


def overflowing(data: bytes) -> bytes:
    document = json.loads(data)
    document["geometry"]["size"] = ["HUGE", 64]
    return json.dumps(document).replace('"HUGE"', "1e400").encode()


@pytest.fixture
def broken(recipe, workspace, tmp_path) -> list[str]:
    """Names of entries among the recipes that are none, each of its own kind."""
    folder, whole = workspace / "recipes", tmp_path / "whole"
    folder.mkdir(exist_ok=True)
    save(recipe, whole)
    flipped(whole, folder / "flipped.zip", zipfile.ZIP_DEFLATED)
    flipped(whole, folder / "lzma.zip", zipfile.ZIP_LZMA)
    for name, file, change in (
        ("1e400", recipe_package.RECIPE, overflowing),
        ("long field", recipe_package.CALIBRATION, lambda data: data + b"x" * 200_000 + b",0,1\n"),
        ("no number", recipe_package.CALIBRATION, lambda data: data + b"x,0,one\n"),
    ):
        shutil.copytree(whole, folder / name)
        edited(folder / name, file, change)
    (folder / "x.zip").mkdir()
    (folder / "x.zip/notes.txt").write_text("mine")
    (folder / "empty.zip").write_bytes(b"")
    (folder / "cut short.zip").write_bytes((folder / "flipped.zip").read_bytes()[:3000])
    (folder / "dangling.zip").symlink_to(tmp_path / "gone")
    (folder / "self.zip").symlink_to(folder / "self.zip")
    (folder / "![x](https:192.0.2.1).zip").write_bytes(b"no zip")
    (folder / "linked").symlink_to(tmp_path / "mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/photo.png").write_bytes(b"mine")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.zip")
        os.mkfifo(folder / "pipe")
        (folder / os.fsdecode(b"latin \xe9.zip")).write_bytes(b"no zip")
    return sorted(path.name for path in folder.iterdir())


def test_each_damaged_entry_fails_alone_and_can_be_deleted(open_app, broken, saved, in_folder, tmp_path):
    app = open_app(PAGE)
    assert app.button(key="open-f.zip").label == "Open"
    assert len(app.error) == len(broken)
    assert any("cut short.zip" in error.value for error in app.error)
    left = {"f.zip", *broken}
    for name in broken:
        press(app, f"delete-{name if name.isprintable() else os.fsencode(name).hex()}")
        left.remove(name)
        assert in_folder() == left
    assert not app.error
    assert (tmp_path / "mine/photo.png").read_bytes() == b"mine"


PROBLEMS = [
    *(zlib.error("x"), lzma.LZMAError("x"), zipfile.BadZipFile("x"), csv.Error("x"), SafetensorError("x")),
    *(TypeError("x"), KeyError("x"), IndexError("x"), OverflowError("x"), ZeroDivisionError("x"), MemoryError("x")),
    *(RecursionError("x"), AssertionError("x"), EOFError("x"), OSError(5, "x")),
    UnicodeDecodeError("utf-8", b"x", 0, 1, "x"),
]


def test_errors_around_a_recipe_file_stay_at_its_card(open_app, saved, in_folder, monkeypatch):
    def failing(problem: Exception):
        def fail(*_):
            raise problem

        return fail

    with monkeypatch.context() as patch:
        patch.setattr(weights_panel, "offer_missing", failing(PermissionError("weights cannot be searched")))
        app = open_app(PAGE)
    assert [error.value for error in app.error] == ["Weights cannot be searched"]
    assert app.button(key="open-f.zip").disabled
    assert app.button(key="delete-f.zip")
    st.cache_resource.clear()
    st.cache_data.clear()
    for problem in PROBLEMS:
        monkeypatch.setattr(recipe_file, "load", failing(problem))
        app.run()
        assert not app.exception
        assert len(app.error) == 1
    press(app, "delete-f.zip")
    assert in_folder() == set()


def test_missing_weights_are_a_state_of_the_card(open_app, recipe, workspace, tmp_path, monkeypatch):
    monkeypatch.setenv("LOUPE_WEIGHTS", str(tmp_path))
    monkeypatch.setattr("torch.hub.download_url_to_file", lambda *_, **__: pytest.fail("a download began"))
    save(replace(recipe, backbone=replace(recipe.backbone, name="resnet18")), workspace / "recipes/r.zip")
    app = open_app(PAGE)
    assert not app.error
    assert app.button(key="open-r.zip").disabled
    assert "put the file resnet18" in app.warning[0].value
    assert app.button(key="download_weights-r.zip-resnet18").label == "Download 45 MB from download.pytorch.org"
    assert app.button(key="delete-r.zip")


def choose(app, saved) -> None:
    """Choose the first row of this version."""
    table = app.dataframe[0]
    row = table.value["Version"].tolist().index(saved_recipes.versions()(saved.digest))
    app.session_state[table.key] = {"selection": {"rows": [row]}}
    app.run()
    assert not app.exception


def test_table_counts_test_photos_and_opens_those_that_exist(
    open_app, flange, saved, workspace, product, tmp_path, monkeypatch
):
    recipe = flange.study.recipe(Limits(0, 0), product="bracket")
    save(recipe, workspace / "recipes/b.zip")
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    app = open_app(PAGE)
    assert app.dataframe[0].value[["Escapes", "False rejects", "Photos"]].values.tolist() == [["0 of 3", "4 of 4", 10]]
    assert "open-alone-b.zip" not in {button.key for button in app.button}, "outside the allowed folders"
    assert not app.get("image")
    app.pills(key="product").set_value("flange").run()
    assert app.button(key="open-f.zip")

    photos = shutil.copytree(product, tmp_path / "photos")
    moved = replace(recipe, provenance=replace(recipe.provenance, photo_root=str(photos)))
    save(moved, workspace / "recipes/b.zip")
    next((photos / "test/good").iterdir()).write_bytes(b"changed")
    app = open_app(PAGE)
    assert app.get("image")
    finish(press(app, "open-b.zip"))
    part = shelf().last_used()
    assert part.notes == ("Missing or changed: 1 photo of the 7 used for its figures.",)
    recorded = {row.digest: (row.label, row.score) for row in recipe.test_photos}
    scores = part.scored.scores(**dict(part.recipe.live_values))
    assert [recorded[photo.digest][0] for photo in part.scored.photos] == [photo.label for photo in part.scored.photos]
    assert [recorded[photo.digest][1] for photo in part.scored.photos] == pytest.approx(scores.tolist())
    assert all(photo.mask for photo in part.scored.photos if photo.is_defect)
    assert len(part.thumbnails) == 6


def state_of(digest: str) -> str:
    with AuditLog.open() as log:
        return life_cycle.state_of(log, digest)


@pytest.mark.usefixtures("unhurried")
def test_recipe_is_approved_and_retired_with_a_reason(open_app, recipe, workspace):
    first = save(recipe, workspace / "recipes/first.zip")
    second = save(replace(recipe, limits=Limits(5, 5)), workspace / "recipes/second.zip")
    shutil.copy(workspace / "recipes/second.zip", workspace / "recipes/copy.zip")
    app = open_app(PAGE)
    choose(app, first)
    assert app.button(key="approved-first.zip").disabled, "it was tried on no defect"

    def change(state: str, name: str, reason: str) -> None:
        if state == "approved":
            app.checkbox(key=f"poor-{name}").check().run()
            press(app, f"{state}-{name}")
            assert "Enter a reason." in app.warning[0].value
        app.text_input(key=f"reason-{state}-{name}").set_value(reason).run()
        press(app, f"{state}-{name}")

    for saved, name in ((first, "first.zip"), (second, "copy.zip")):
        choose(app, saved)
        change("approved", name, "new lamp")
        assert state_of(saved.digest) == "approved"
    assert state_of(first.digest) == "retired"
    assert sorted(app.dataframe[0].value["State"]) == ["– retired", "✓ approved", "✓ approved"]
    assert "Compared with the approved version" not in words(app)
    choose(app, first)
    assert "Compared with the approved version" in words(app)
    choose(app, second)
    change("retired", "copy.zip", "end of the series")
    assert state_of(second.digest) == "retired"

    (workspace / "loupe.sqlite").write_bytes(b"no database" * 100)
    app.run()
    assert "loupe.sqlite" in app.error[0].value.replace("\\", "")
    assert set(app.dataframe[0].value["State"]) == {"state unknown"}
    assert "approved-copy.zip" not in [button.key for button in app.button]
    assert app.button(key="open-copy.zip")
