"""Saving replaces nothing but a recipe, and a process killed on the way leaves the old one or the new one."""

import os
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inspect_core.cli import commands, teaching_options
from inspect_core.datasets import archives
from inspect_core.features.store import FeatureStore
from inspect_core.methods.registry import FIELDS
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_format.output_paths import OutputPathError
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.recipe_io.recipe_path import check_place
from inspect_core.runtime import atomic_write
from tests.hostile.files import linked, listening, made

NAMES = ("r", "r.zip")
TOUCHES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "fcntl.flock"}


def photos_of(folder: Path) -> Path:
    (folder / "good").mkdir(parents=True)
    for number in range(3):
        (folder / "good" / f"{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n a photo")
    return folder


def zip_of(folder: Path, path: Path, **more: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*.*"):
            archive.write(file, file.relative_to(folder).as_posix())
        for name, content in more.items():
            archive.writestr(name, content)
    return path


def written(path: Path, content: bytes = b"of the user") -> Path:
    made(path).write_bytes(content)
    return path


def changed(recipe, path: Path, file: str, content: bytes | None) -> Path:
    """A recipe folder with one file more, changed, or away."""
    save(recipe, path)
    (path / file).unlink(missing_ok=True)
    return path if content is None else written(path / file, content) and path


FOREIGN = {
    "photo folder": lambda tmp, recipe: photos_of(tmp / "others"),
    "empty folder": lambda tmp, recipe: (tmp / "empty").mkdir() or tmp / "empty",
    "folder above": lambda tmp, recipe: tmp,
    "here": lambda tmp, recipe: Path("."),
    "file": lambda tmp, recipe: written(tmp / "notes.txt"),
    "empty file": lambda tmp, recipe: written(tmp / "nothing", b""),
    "file named zip": lambda tmp, recipe: written(tmp / "notes.zip"),
    "zip of photos": lambda tmp, recipe: zip_of(photos_of(tmp / "others"), tmp / "others.zip"),
    "folder named zip": lambda tmp, recipe: photos_of(tmp / "others.zip"),
    "recipe folder named zip": lambda tmp, recipe: save(recipe, tmp / "a") and (tmp / "a").rename(tmp / "a.zip"),
    "recipe zip without its ending": lambda tmp, recipe: (
        save(recipe, tmp / "a.zip") and (tmp / "a.zip").rename(tmp / "a")
    ),
    "recipe and notes": lambda tmp, recipe: changed(recipe, tmp / "a", "notes.txt", b"of the user"),
    "recipe and a folder": lambda tmp, recipe: (
        changed(recipe, tmp / "a", "more/notes.txt", b"of the user").parent / "a"
    ),
    "recipe and a hidden file": lambda tmp, recipe: changed(recipe, tmp / "a", ".notes", b"of the user"),
    "recipe without arrays": lambda tmp, recipe: changed(recipe, tmp / "a", recipe_package.ARRAYS, None),
    "recipe with other fields": lambda tmp, recipe: changed(recipe, tmp / "a", recipe_package.RECIPE, b'{"schema": 1}'),
    "recipe zip and notes": lambda tmp, recipe: (
        save(recipe, tmp / "a") and zip_of(tmp / "a", tmp / "a.zip", notes=b"of the user")
    ),
    "link to a recipe": lambda tmp, recipe: save(recipe, tmp / "a") and linked(tmp / "b", "a"),
    "link to a recipe zip": lambda tmp, recipe: save(recipe, tmp / "a.zip") and linked(tmp / "b.zip", "a.zip"),
    "link to photos": lambda tmp, recipe: linked(tmp / "b", photos_of(tmp / "others")),
    "link to nothing": lambda tmp, recipe: linked(tmp / "b", tmp / "gone"),
    "link to itself": lambda tmp, recipe: linked(tmp / "b.zip", "b.zip"),
    "below a link to itself": lambda tmp, recipe: linked(tmp / "b", "b") / "r",
    "below a file": lambda tmp, recipe: written(tmp / "notes.txt") / "r.zip",
    "below a recipe": lambda tmp, recipe: save(recipe, tmp / "a") and tmp / "a" / "sub" / "r.zip",
    "pipe": lambda tmp, recipe: os.mkfifo(tmp / "pipe") or tmp / "pipe",
    "pipe named zip": lambda tmp, recipe: os.mkfifo(tmp / "pipe.zip") or tmp / "pipe.zip",
    "socket": lambda tmp, recipe: listening(tmp / "socket"),
    "long name": lambda tmp, recipe: tmp / ("n" * 300),
    "nobody's home": lambda tmp, recipe: Path("~nosuchuser/r.zip"),
}
ABOUT_THE_PHOTOS = {
    "the same": lambda photos: photos,
    "the same by another way": lambda photos: photos / "good" / "..",
    "with a slash": lambda photos: f"{photos}/",
    "in it": lambda photos: photos / "r",
    "in it, as a zip": lambda photos: photos / "r.zip",
    "far in it": lambda photos: photos / "good" / "new" / "r",
    "holds it": lambda photos: photos.parent,
    "a link to it": lambda photos: linked(photos.parent / "link", photos),
    "in a link to it": lambda photos: linked(photos.parent / "link", photos) / "r",
    "in a link into it": lambda photos: linked(photos.parent / "link", photos / "good") / "r.zip",
    "a photo": lambda photos: photos / "good" / "0.png",
    "a part of it": lambda photos: photos / "good",
}


@pytest.fixture(autouse=True)
def nothing_is_read(monkeypatch, tmp_path):
    """Refusals come before a photo is read; and whatever a relative path names lies in the test's own folder."""
    monkeypatch.setattr(teaching_options, "scan", lambda folder: pytest.fail("photos were read"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def refused(capsys, arguments) -> str:
    try:
        code = commands.main([str(argument) for argument in arguments])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    output = capsys.readouterr().err.strip().splitlines()[-1]
    assert output.startswith("loupe")
    return output


@pytest.mark.parametrize("what", FOREIGN)
def test_what_is_no_recipe_is_not_replaced(recipe, tmp_path, tree, capsys, what):
    photos = photos_of(tmp_path / "photos")
    out = FOREIGN[what](tmp_path, recipe)
    before = tree(tmp_path)
    with pytest.raises((OSError, ValueError), match=rf"{out.name}.*; .*"):
        save(recipe, out)
    assert out.name in refused(capsys, ["fit", photos, "--out", out])
    assert tree(tmp_path) == before


@pytest.mark.parametrize("what", ABOUT_THE_PHOTOS)
def test_a_recipe_is_not_saved_on_in_or_around_the_photos(tmp_path, tree, capsys, what):
    photos = photos_of(tmp_path / "a" / "photos")
    out = ABOUT_THE_PHOTOS[what](photos)
    before = tree(tmp_path)
    assert "overlaps the photo folder" in refused(capsys, ["fit", photos, "--out", out])
    assert "overlaps the photo folder" in refused(capsys, ["fit", os.path.relpath(photos), "--out", out])
    assert tree(tmp_path) == before


def test_a_recipe_does_not_replace_the_zip_it_is_taught_from(tmp_path, tree, capsys):
    photos = zip_of(photos_of(tmp_path / "photos"), tmp_path / "x.zip")
    before = tree(tmp_path)
    for out in (photos, os.path.relpath(photos), linked(tmp_path / "link.zip", photos)):
        assert "x.zip" in refused(capsys, ["fit", photos, "--out", out])
    (tmp_path / "link.zip").unlink()
    assert tree(tmp_path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser writes everywhere")
def test_a_folder_that_takes_no_files_is_named_before_teaching(tmp_path, capsys):
    (tmp_path / "closed").mkdir(mode=0o500)
    assert "closed" in refused(capsys, ["fit", photos_of(tmp_path / "photos"), "--out", tmp_path / "closed" / "r"])


@pytest.mark.parametrize("name", ["r", "r.zip", "new/r.zip", "ä b", "n" * 251 + ".zip", "-r", ".r", "old", "new"])
def test_a_recipe_and_nothing_are_replaced(recipe, tmp_path, name):
    save(recipe, tmp_path / name)
    check_place(tmp_path / name, photos=photos_of(tmp_path / "photos"))
    save(replace(recipe, product="other"), tmp_path / name)
    assert load(tmp_path / name).product == "other"
    assert sorted(path.name for path in (tmp_path / name).parent.iterdir() if path.name.startswith(".loupe")) == []


def killed_at(step: int, work) -> bool:
    """Do `work` in a process of its own that dies at its step-th touch of the file system; False if it ended before."""
    child = os.fork()
    if child == 0:
        left = step

        def die(event, _):
            nonlocal left
            if event in TOUCHES:
                left -= 1
                if left < 0:
                    os._exit(9)

        sys.addaudithook(die)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9), "the work failed by itself"
    return code == 9


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
@pytest.mark.forks
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("replaced", [False, True])
def test_kill_at_any_file_access_leaves_the_old_or_the_new(recipe, tmp_path, workspace, name, replaced):
    new, step, products = replace(recipe, product="new"), 0, set()
    place = tmp_path / "recipes" / name
    place.parent.mkdir()
    if replaced:
        save(recipe, place)
    while killed_at(step, lambda: save(new, place)):
        atomic_write.clear()
        assert [path.name for path in place.parent.iterdir()] in ([name], [] if not replaced else [name]), step
        assert not list(workspace.glob("unfinished/*")), step
        if place.exists():
            products.add(recipe_package.read_document(recipe_package.check(place), FIELDS)["product"])
        if "new" in products and place.exists():
            save(recipe, place) if replaced else _remove(place)
        step += 1
    assert step > 8
    assert products <= {"tile", "new"}
    assert load(place).product == "new"


def _remove(place: Path) -> None:
    for file in place.iterdir() if place.is_dir() else ():
        file.unlink()
    place.rmdir() if place.is_dir() else place.unlink()


def killed_at_every(work, after) -> None:
    """Do the work, killed at one touch later each time, until it ends; `after` looks at what the next start leaves."""
    step = 0
    while killed_at(step, work):
        atomic_write.clear()
        after()
        step += 1
    assert step > 5


@pytest.mark.slow
@pytest.mark.forks
def test_killed_while_unpacking_the_copy_goes_at_the_next_start(tmp_path, workspace, tree):
    packed = zip_of(photos_of(tmp_path / "photos"), tmp_path / "x.zip")
    before = tree(tmp_path)

    def nothing_is_left() -> None:
        assert [file for file in workspace.rglob("*") if file.name not in ("unfinished", "unpacked")] == []

    killed_at_every(lambda: archives.unpacked(packed), nothing_is_left)
    assert tree(tmp_path) == before


@pytest.mark.slow
@pytest.mark.forks
def test_kill_while_storing_leaves_nothing_after_the_next_start(tmp_path):
    store, array = FeatureStore(tmp_path / "store"), np.ones(8, np.float32)

    def all_or_nothing() -> None:
        assert [path.suffix for path in store.folder.iterdir()] in ([], [".npy"])
        (result := store.get("a", (8,))) is None or np.testing.assert_array_equal(result, array)

    killed_at_every(lambda: store.put("a", array), all_or_nothing)


HOLDING = """
from inspect_core.runtime import atomic_write, workspace
print(atomic_write.process_folder(workspace.root() / "unpacked"), flush=True)
input()
"""


def test_what_a_living_process_holds_stays_until_it_is_gone(workspace):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": Path(__file__).parents[2]}
    killed, ending = (subprocess.Popen([sys.executable, "-c", HOLDING], **pipes) for _ in range(2))
    folders = [Path(process.stdout.readline().strip()) for process in (killed, ending)]
    (folders[0] / "copy.png").write_bytes(b"a copy")
    atomic_write.clear()
    assert all(folder.is_dir() for folder in folders)
    killed.kill()
    killed.wait()
    atomic_write.clear()
    assert [folder.is_dir() for folder in folders] == [False, True]
    ending.communicate("\n")
    assert not folders[1].exists()
    assert not list(workspace.glob("unfinished/*"))


def test_clearing_touches_only_what_a_record_names_rightly(tmp_path, workspace, tree):
    photos, records, token = photos_of(tmp_path / "photos"), workspace / "unfinished", "0" * 32
    records.mkdir()
    (tmp_path / f".loupe-{'1' * 32}").symlink_to(photos)
    (tmp_path / f".loupe-{'2' * 32}").write_bytes(b"a file")
    (tmp_path / ".loupe-short").mkdir()
    before = tree(tmp_path)
    os.mkfifo(records / ("3" * 32))
    (records / ("4" * 32)).mkdir()
    (records / ("5" * 32)).symlink_to(photos / "good" / "0.png")
    for number, record in enumerate([photos, tmp_path / f".loupe-{'9' * 32}", "", "\0", "../..", "/", b"\xff" * 5000]):
        content = record if isinstance(record, bytes) else os.fsencode(str(record))
        (records / f"a{number}".ljust(32, "0")).write_bytes(content)
    for digit in "12":
        (records / (digit * 32)).write_bytes(os.fsencode(tmp_path / f".loupe-{digit * 32}"))
    (records / token).write_bytes(os.fsencode(photos))
    atomic_write.clear()
    assert tree(tmp_path) == before


def test_what_was_moved_aside_is_put_back_but_not_through_a_link(tmp_path, workspace, tree):
    photos = photos_of(tmp_path / "photos")
    (workspace / "unfinished").mkdir()
    for digit in "12":
        (tmp_path / f".loupe-{digit * 32}").mkdir()
        (workspace / "unfinished" / (digit * 32)).write_bytes(os.fsencode(tmp_path / f".loupe-{digit * 32}"))
    (tmp_path / f".loupe-{'1' * 32}" / "old" / "recipe").mkdir(parents=True)
    (tmp_path / f".loupe-{'2' * 32}" / "old").symlink_to(photos)
    before = tree(photos)
    atomic_write.clear()
    assert tree(photos) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "photos", "recipe"]


@pytest.mark.parametrize("folder", [False, True])
def test_writers_of_one_place_do_not_meet(tmp_path, folder):
    target, contents = tmp_path / "place", [bytes([65 + number]) * 50_000 for number in range(8)]

    def write(content):
        for _ in range(5):
            with atomic_write.atomic_replace(target) as new:
                if folder:
                    new.mkdir()
                (new / "file" if folder else new).write_bytes(content)

    with ThreadPoolExecutor(len(contents)) as pool:
        assert list(pool.map(write, contents)) == [None] * len(contents)
    assert (target / "file" if folder else target).read_bytes() in contents
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_error_while_writing_leaves_the_old_file_and_no_rest(tmp_path, workspace):
    (tmp_path / "table.csv").write_bytes(b"old")
    with pytest.raises(OSError, match="No space"), atomic_write.atomic_replace(tmp_path / "table.csv"):
        raise OSError(28, "No space left on device")
    assert (tmp_path / "table.csv").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "table.csv"]
    assert not list(workspace.glob("unfinished/*"))


def test_a_place_error_is_shown_by_the_page_as_it_is():
    assert (OutputPathError("r.zip is there").strerror or str(OutputPathError("r.zip is there"))) == "r.zip is there"
