import asyncio
import csv
import hashlib
import json
import lzma
import os
import shutil
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from safetensors import SafetensorError

from inspect_core.audit import life_cycle
from inspect_core.audit.log import AuditLog
from inspect_core.package import manifest
from inspect_core.records import recipe_file
from inspect_core.records.recipe_file import save
from inspect_core.ui import server, shelf, weights_panel
from inspect_core.verdict import Limits


@pytest.fixture
def saved(taught, workspace):
    return save(taught.study.recipe(product="flange", reason="first", guard=taught.guard), workspace / "recipes/f.zip")


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


def test_a_workspace_that_cannot_be_written_is_named(open_app, no_first_start, workspace, monkeypatch):
    (workspace / "file").touch()
    monkeypatch.setenv("LOUPE_WORKSPACE", str(workspace / "file" / "below"))
    app = open_app("pages/recipes.py")
    assert "LOUPE_WORKSPACE" in app.error[0].value.replace("\\", "")
    assert not app.title


def words(app) -> str:
    return " ".join(element.value for element in (*app.markdown, *app.caption, *app.subheader, *app.info))


def test_an_empty_page_says_what_to_do_next(open_app, no_first_start):
    app = open_app("pages/recipes.py")
    assert "No recipe has been saved yet" in words(app)
    assert app.button(key="to_inspect").label == "Go to Inspect"


def test_a_recipe_shows_what_is_in_it(open_app, no_first_start, saved):
    app = open_app("pages/recipes.py")
    assert app.subheader[0].value == "flange"
    assert saved.digest[:12] in words(app)
    assert "k = " in words(app)
    assert "first" in words(app)


def test_opening_puts_it_in_the_hand_with_its_limits_and_guard(open_app, no_first_start, exported, saved):
    app = open_app("pages/recipes.py")
    app.button(key="open-f.zip").click().run()
    assert not app.exception
    part = shelf._shelf().last_used()
    assert part.recipe.digest == saved.digest
    assert part.suggested_limits(dict(part.recipe.live)) == saved.limits
    assert part.guard is not None


def test_deleting_asks_first(open_app, no_first_start, saved, workspace):
    app = open_app("pages/recipes.py")
    assert (workspace / "recipes/f.zip").exists()
    app.button(key="delete-f.zip").click().run()
    assert not (workspace / "recipes/f.zip").exists()
    assert "No recipe has been saved yet" in words(app)


def test_a_damaged_recipe_is_named_and_the_others_stay(open_app, no_first_start, saved, workspace):
    (workspace / "recipes/broken.zip").write_bytes((workspace / "recipes/f.zip").read_bytes()[:3000])
    app = open_app("pages/recipes.py")
    assert any("broken.zip" in error.value for error in app.error)
    assert app.button(key="open-f.zip").label == "Open"


def test_a_recipe_from_a_file_is_checked_before_it_is_kept(open_app, no_first_start, saved, workspace):
    data = (workspace / "recipes/f.zip").read_bytes()
    app = open_app("pages/recipes.py")
    app.file_uploader(key="recipe_upload").set_value([("../other.zip", data[:-50], "application/zip")]).run()
    app.button(key="add_recipe").click().run()
    assert any("not a complete recipe zip" in error.value for error in app.error)
    assert sorted(path.name for path in (workspace / "recipes").iterdir()) == ["f.zip"]
    app.file_uploader(key="recipe_upload").set_value([("other.zip", data, "application/zip")]).run()
    app.button(key="add_recipe").click().run()
    assert not app.exception
    assert sorted(path.name for path in (workspace / "recipes").iterdir()) == ["f.zip", "other.zip"]


def test_recipes_whose_names_have_no_latin_letters_are_all_kept(open_app, no_first_start, saved, workspace):
    data = (workspace / "recipes/f.zip").read_bytes()
    app = open_app("pages/recipes.py")
    for name in ("一.zip", "二.zip", "一.zip"):
        app.file_uploader(key="recipe_upload").set_value([(name, data, "application/zip")]).run()
        app.button(key="add_recipe").click().run()
        assert not app.exception
    assert {path.name for path in (workspace / "recipes").iterdir()} == {"f.zip", "一.zip", "二.zip"}
    assert "already exists" in app.error[0].value


def rezipped(folder: Path, path: Path, kind: int) -> None:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)


def edited(folder: Path, name: str, change) -> None:
    """Change one file and put its digest right."""
    (folder / name).write_bytes(change((folder / name).read_bytes()))
    names = [path.name for path in folder.iterdir() if path.name != manifest.SUMS]
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / manifest.SUMS).write_bytes(manifest.listing_of(sums))


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
    for kind, name in ((zipfile.ZIP_DEFLATED, "flipped.zip"), (zipfile.ZIP_LZMA, "lzma.zip")):
        rezipped(whole, folder / name, kind)
        data = bytearray((folder / name).read_bytes())
        data[len(data) // 3] ^= 0xFF
        (folder / name).write_bytes(data)
    for name, file, change in (
        ("1e400", manifest.RECIPE, overflowing),
        ("long field", manifest.CALIBRATION, lambda data: data + b"x" * 200_000 + b",0,1\n"),
        ("no number", manifest.CALIBRATION, lambda data: data + b"x,0,one\n"),
    ):
        shutil.copytree(whole, folder / name)
        edited(folder / name, file, change)
    (folder / "x.zip").mkdir()
    (folder / "x.zip/notes.txt").write_text("mine")
    (folder / "empty.zip").write_bytes(b"")
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


def test_each_damaged_entry_fails_alone_and_can_be_deleted(
    open_app, no_first_start, broken, saved, workspace, tmp_path
):
    app = open_app("pages/recipes.py")
    assert app.button(key="open-f.zip").label == "Open"
    assert len(app.error) == len(broken)
    left = {"f.zip", *broken}
    for name in broken:
        key = name if name.isprintable() else os.fsencode(name).hex()
        app.button(key=f"delete-{key}").click().run()
        assert not app.exception
        left.remove(name)
        assert {path.name for path in (workspace / "recipes").iterdir()} == left
    assert not app.error
    assert (tmp_path / "mine/photo.png").read_bytes() == b"mine"


def test_what_fails_around_a_sound_file_ends_at_its_card(open_app, no_first_start, saved, monkeypatch):
    def fail(name, key):
        raise PermissionError("weights cannot be searched")

    monkeypatch.setattr(weights_panel, "offer_missing", fail)
    app = open_app("pages/recipes.py")
    assert [error.value for error in app.error] == ["weights cannot be searched"]
    assert app.button(key="open-f.zip").disabled
    assert app.button(key="delete-f.zip")


def test_whatever_a_file_causes_ends_at_its_card(open_app, no_first_start, saved, workspace, monkeypatch):
    problems = [
        *(
            zlib.error("x"),
            lzma.LZMAError("x"),
            OverflowError("x"),
            csv.Error("x"),
            SafetensorError("x"),
            TypeError("x"),
        ),
        *(IndexError("x"), ZeroDivisionError("x"), zipfile.BadZipFile("x"), MemoryError("x"), RecursionError("x")),
        *(
            KeyError("x"),
            AssertionError("x"),
            UnicodeDecodeError("utf-8", b"x", 0, 1, "x"),
            EOFError("x"),
            OSError(5, "x"),
        ),
    ]
    app, last = open_app("pages/recipes.py"), {}

    def fail(path):
        raise last["problem"]

    monkeypatch.setattr(recipe_file, "load", fail)
    st.cache_resource.clear()
    for last["problem"] in problems:
        app.run()
        assert not app.exception
        assert len(app.error) == 1
    app.button(key="delete-f.zip").click().run()
    assert not app.exception
    assert list((workspace / "recipes").iterdir()) == []


def test_missing_weights_are_a_state_of_the_card(open_app, no_first_start, recipe, workspace, tmp_path, monkeypatch):
    monkeypatch.setenv("LOUPE_WEIGHTS", str(tmp_path))
    monkeypatch.setattr("torch.hub.download_url_to_file", lambda *_, **__: pytest.fail("a download began"))
    save(replace(recipe, backbone=replace(recipe.backbone, name="resnet18")), workspace / "recipes/r.zip")
    app = open_app("pages/recipes.py")
    assert not app.error
    assert app.button(key="open-r.zip").disabled
    assert "put the file resnet18" in app.warning[0].value
    assert app.button(key="download_weights-r.zip-resnet18").label == "Download 45 MB from download.pytorch.org"
    assert app.button(key="delete-r.zip")


def state_of(digest: str) -> str:
    with AuditLog.open() as log:
        return life_cycle.state_of(log, digest)


def test_a_recipe_is_approved_and_retired_with_a_reason(open_app, no_first_start, recipe, workspace):
    first = save(recipe, workspace / "recipes/first.zip")
    second = save(replace(recipe, limits=Limits(5, 5)), workspace / "recipes/second.zip")
    shutil.copy(workspace / "recipes/second.zip", workspace / "recipes/copy.zip")
    app = open_app("pages/recipes.py")
    assert app.button(key="approved-first.zip").disabled
    for saved, name in ((first, "first.zip"), (second, "second.zip")):
        app.text_input(key=f"reason-approved-{name}").set_value("new lamp").run()
        app.button(key=f"approved-{name}").click().run()
        assert not app.exception
        assert state_of(saved.digest) == "approved"
    assert state_of(first.digest) == "retired"
    assert "verified" in words(app)
    app.text_input(key="reason-retired-copy.zip").set_value("end of the series").run()
    app.button(key="retired-copy.zip").click().run()
    assert state_of(second.digest) == "retired"


def test_without_an_audit_log_the_recipes_stay_usable(open_app, no_first_start, recipe, workspace):
    save(recipe, workspace / "recipes/first.zip")
    (workspace / "loupe.sqlite").write_bytes(b"no database" * 100)
    app = open_app("pages/recipes.py")
    assert "loupe.sqlite" in app.error[0].value.replace("\\", "")
    assert "state unknown" in words(app)
    assert "approved-first.zip" not in [button.key for button in app.button]
    assert app.button(key="open-first.zip")
