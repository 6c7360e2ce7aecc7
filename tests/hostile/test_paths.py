"""Paths that lead nowhere, in circles, too deep, or to what is no file: a message at once, in every place of a verb."""

import contextlib
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.cli import commands
from inspect_core.datasets.dataset import ScanError
from inspect_core.datasets.folders import scan
from inspect_core.datasets.listing import MAX_DEPTH, photos_in
from inspect_core.datasets.photo_tree import resolve_allowed_path
from inspect_core.features.weights_files import read_weights
from inspect_core.methods import fitted_method
from inspect_core.recipe_format.recipe_package import RecipeError
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.runtime.workspace import expand_path
from inspect_core.ui import photo_source
from tests.examples import examples
from tests.hostile.files import linked, listening, photo

pytestmark = pytest.mark.usefixtures("no_waiting")


def in_a_circle(tmp: Path) -> Path:
    linked(tmp / "one.png", "two.png")
    return linked(tmp / "two.png", "one.png")


ODD = {
    "link to itself": lambda tmp: linked(tmp / "loop.png", "loop.png"),
    "links in a circle": in_a_circle,
    "below a link to itself": lambda tmp: linked(tmp / "loop", "loop") / "part.png",
    "link to nothing": lambda tmp: linked(tmp / "link.png", tmp / "gone"),
    "nothing": lambda tmp: tmp / "gone.png",
    "below a file": lambda tmp: photo(tmp / "a.png") / "part.png",
    "nobody's home": lambda tmp: Path("~nosuchuser/part.png"),
    "nobody's folder": lambda tmp: Path("~nosuchuser"),
    "long name": lambda tmp: tmp / ("n" * 300 + ".png"),
    "long path": lambda tmp: tmp / ("n/" * 3000 + "part.png"),
    "pipe": lambda tmp: os.mkfifo(tmp / "pipe.png") or tmp / "pipe.png",
    "pipe named zip": lambda tmp: os.mkfifo(tmp / "pipe.zip") or tmp / "pipe.zip",
    "link to a pipe": lambda tmp: os.mkfifo(tmp / "pipe") or linked(tmp / "link.zip", "pipe"),
    "socket": lambda tmp: listening(tmp / "socket.zip"),
    "endless device": lambda tmp: Path("/dev/zero"),
    "silent device": lambda tmp: Path("/dev/null"),
    "link to a device": lambda tmp: linked(tmp / "zero.png", "/dev/zero"),
}


@pytest.fixture
def refused(capsys, monkeypatch, tmp_path):
    """refused(*arguments) is the last line of errors: a photo that was not judged (exit code 1), or
    why it could not run (2). It must change nothing."""
    monkeypatch.chdir(tmp_path)
    for name in ("load", "shared"):
        monkeypatch.setattr(fitted_method, name, lambda *_, **__: pytest.fail("a backbone was loaded"))
    network = SimpleNamespace(engine="nothing", device=torch.device("cpu"))
    monkeypatch.setattr("inspect_core.recipe.loaded_backbone", lambda *_: network)

    def run(*arguments) -> str:
        try:
            code = commands.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        output = capsys.readouterr().err.strip().splitlines()
        assert code == (1 if output[-1].startswith("Not judged") else 2)
        assert output[-1].startswith(("loupe", "Not judged"))
        assert "Traceback" not in "".join(output)
        return output[-1]

    return run


PLACES = {
    "fit": lambda path, saved, good: ("fit", path, "--out", "new"),
    "evaluate": lambda path, saved, good: ("evaluate", path),
    "recipe": lambda path, saved, good: ("inspect", path, good),
    "photo": lambda path, saved, good: ("inspect", saved, path),
    "table": lambda path, saved, good: ("inspect", saved, good, "--csv", path),
    "maps": lambda path, saved, good: ("inspect", saved, good, "--maps", path),
}


@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("place", PLACES)
def test_odd_paths_are_refused_by_name_in_every_place(recipe, tmp_path, tree, refused, what, place):
    if place in ("table", "maps") and what in ("nothing", "link to nothing", "link to a device"):
        pytest.skip("something new may be written there; and a test writes to no device")
    good, path = photo(tmp_path / "photos" / "good.png"), ODD[what](tmp_path)
    saved = tmp_path / "recipe.zip"
    save(recipe, saved)
    before = tree(tmp_path)
    message = refused(*PLACES[place](path, saved, good))
    assert any(part in message for part in (path.name[:40], os.path.realpath(path)[:40], "loop", "~nosuchuser", "nnnn"))
    assert ";" in message
    assert tree(tmp_path) == before


@pytest.mark.parametrize("what", ODD)
def test_odd_paths_are_refused_by_the_functions_behind_the_pages(tmp_path, what):
    path = ODD[what](tmp_path)
    with pytest.raises(ScanError, match=r"; "):
        scan(path)
    if not what.startswith("long"):
        with pytest.raises(RecipeError, match=r"; "):
            load(path)
    with pytest.raises(ValueError, match=r"; "):
        resolve_allowed_path(path, [tmp_path / "elsewhere"])
    assert isinstance(photo_source.fingerprint(path), str)


def test_paths_that_the_system_cannot_take_at_all(tmp_path):
    for path in ("a\0b", "\0", "~nosuchuser", "n" * 5000):
        with pytest.raises(ValueError, match=r"cannot be used \(.*; "):
            expand_path(path)
        with pytest.raises(ScanError, match=r"cannot be used"):
            scan(path)
    assert expand_path("~") == Path.home()
    assert expand_path(tmp_path / "gone" / "r.zip") == tmp_path / "gone" / "r.zip"


def test_odd_files_among_photos_are_listed_and_the_rest_used(tmp_path):
    for number in range(3):
        photo(tmp_path / "photos" / f"{number}.png", number)
    folder = tmp_path / "photos"
    linked(folder / "loop.png", "loop.png")
    linked(folder / "around", ".")
    linked(folder / "up", "..")
    linked(folder / "nowhere.jpg", "gone.jpg")
    linked(folder / "zero.png", "/dev/zero")
    os.mkfifo(folder / "pipe.png")
    os.mkfifo(folder / "pipe")
    listening(folder / "socket.png")
    (folder / "folder.png").mkdir()
    samples = scan(folder)
    assert [sample.name for sample in samples.good] == ["0.png", "1.png", "2.png"]
    reasons = {skipped.name: skipped.reason for skipped in samples.skipped}
    assert reasons.keys() == {"loop.png", "around", "up", "nowhere.jpg", "zero.png", "pipe.png", "pipe", "socket.png"}
    assert all("; " in reason for name, reason in reasons.items() if name != "pipe")
    assert "broken link" in reasons["loop.png"]
    listed = [name for name, _ in photos_in([folder])]
    assert [name for name in listed if name[:1].isdigit()] == ["0.png", "1.png", "2.png"]


@pytest.fixture(params=["d", "a folder with a longer name"], ids=["short names", "long names"])
def deep(request, tmp_path):
    """A folder with 1,500 folders in one another and a photo in the last; too deep to be removed by path."""
    top = tmp_path / "deep"
    photo(top / "0.png")
    with contextlib.chdir(top):
        for _ in range(1500):
            os.mkdir(request.param)
            os.chdir(request.param)
        photo(Path("last.png"))
        last = os.open(".", os.O_RDONLY)
    yield top
    with contextlib.chdir(top):
        os.fchdir(last)
        os.close(last)
        Path("last.png").unlink()
        for _ in range(1500):
            os.chdir("..")
            os.rmdir(request.param)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_folders_1500_deep(recipe, deep, tmp_path, refused):
    samples = scan(deep)
    assert [sample.name for sample in samples.good] == ["0.png"]
    (skipped,) = samples.skipped
    assert skipped.reason == f"the folder is nested more than {MAX_DEPTH} levels deep; move it up"
    save(recipe, tmp_path / "recipe.zip")
    assert "levels deep; move it up" in refused("inspect", tmp_path / "recipe.zip", deep)
    (deep / "0.png").unlink()
    assert "levels deep; move it up" in refused("fit", deep, "--out", "r")
    assert isinstance(photo_source.fingerprint(deep), str)
    photo(deep / "0.png")


def test_folders_as_deep_as_allowed(tmp_path):
    photo(tmp_path / "0.png", 90)
    photo(tmp_path.joinpath(*["d"] * MAX_DEPTH, "1.png"))
    assert [path.name for _, path in photos_in([tmp_path])] == ["0.png", "1.png"]
    assert len(scan(tmp_path).defects) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser can read everything")
def test_a_closed_folder_below_the_photos_is_named(recipe, tmp_path, refused):
    photo(tmp_path / "photos" / "0.png")
    (tmp_path / "photos" / "closed").mkdir(mode=0)
    save(recipe, tmp_path / "recipe.zip")
    assert "closed: the folder cannot be read" in refused("inspect", tmp_path / "recipe.zip", tmp_path / "photos")
    assert "closed" in scan(tmp_path / "photos").skipped[0].name
    (tmp_path / "photos" / "closed").chmod(0o700)


VERBS = {
    "fit": ("fit", "photos", "--out", "r.zip"),
    "evaluate": ("evaluate", "photos"),
    "inspect": ("inspect", "recipe.zip", "photos"),
}


def unusable_workspaces(tmp: Path) -> list[Path]:
    (tmp / "file").write_bytes(b"of the user")
    places = [tmp / "file", tmp / "file" / "below", linked(tmp / "loop", "loop"), Path("/proc/loupe")]
    if os.geteuid() != 0:
        (tmp / "closed").mkdir(mode=0o500)
        places += [tmp / "closed", tmp / "closed" / "below"]
    return places


@pytest.mark.parametrize("verb", VERBS)
def test_unwritable_workspace_is_named_with_the_remedy(recipe, tmp_path, monkeypatch, refused, verb):
    photo(tmp_path / "photos" / "0.png")
    save(recipe, tmp_path / "recipe.zip")
    for place in unusable_workspaces(tmp_path):
        monkeypatch.setenv("LOUPE_WORKSPACE", str(place))
        message = refused(*VERBS[verb])
        assert f"the workspace {place} cannot be written" in message
        assert "set LOUPE_WORKSPACE to a writable folder" in message


def test_doctor_says_that_the_workspace_cannot_be_written(tmp_path, monkeypatch, capsys):
    for place in unusable_workspaces(tmp_path):
        monkeypatch.setenv("LOUPE_WORKSPACE", str(place))
        assert commands.main(["doctor"]) == 0
        assert "set LOUPE_WORKSPACE to a writable folder" in capsys.readouterr().out


PASSWORDS = b"root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"


STARTS = [b"", PASSWORDS, b"\x80\x02", b"\x80\x02}q\x00", b"PK\x03\x04", b"{}", b"(lp0\n", b"cos\nsystem\n"]


@given(
    st.sampled_from(STARTS), st.binary(max_size=60), st.sampled_from(["weights", "weights.pth", "weights.safetensors"])
)
@settings(deadline=None, max_examples=examples(60))
def test_files_that_hold_no_weights_are_refused_by_name(tmp_path_factory, start, rest, name):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(start + rest)
    with pytest.raises(ValueError, match=rf"{path}.*; "):
        read_weights(path).tensors()


@pytest.mark.parametrize("what", [what for what in ODD if not what.startswith("long")])
def test_odd_paths_hold_no_weights(tmp_path, what):
    with pytest.raises((ValueError, OSError), match=r"; "):
        read_weights(ODD[what](tmp_path)).tensors()
