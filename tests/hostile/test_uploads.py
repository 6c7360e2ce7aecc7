"""Every uploaded photo is kept, under a name that leads nowhere else and as near to its own as the system allows."""

import threading
import unicodedata
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from inspect_core.datasets.folders import scan
from inspect_core.images.photo_reader import DecodedPhoto
from inspect_core.runtime import workspace
from inspect_core.workbench import uploads
from tests.hostile.files import encoded

ALIKE = {
    "no Latin letters": [f"{sign}.jpg" for sign in "一二三四五六七八九十甲乙"],
    "alike at first": [f"{'part ' * 18}{number}.jpg" for number in range(12)],
    "alike for too long": [f"{'ä' * 200}{number}.jpg" for number in range(12)],
    "another sign": [f"a{sign}.jpg" for sign in [" b", "-b", "_b", ".b", "  b", "+b", ":b", "?b"]] + ["(a)b.jpg"],
    "the same": ["part.jpg"] * 12,
    "the same with numbers": ["part.jpg", "part (2).jpg", "part.jpg", "part (2).jpg", "part.jpg"],
    "by case": ["PART.jpg", "part.jpg", "Part.JPG", "STRASSE.jpg", "straße.jpg"],
    "by accents": [unicodedata.normalize(form, "Prüfling é.jpg") for form in ("NFC", "NFD")],
    "devices of Windows": ["CON.jpg", "con.jpg", "nul.jpg", "COM1.jpg", "aux.a.jpg", "lpt9 .jpg"],
    "that lead elsewhere": [f"{way}a.jpg" for way in ("../", "../../", "/", "//", "./", "..\\", "C:\\", "C:")],
    "a file and a folder": ["a.jpg", "A.jpg/b.jpg", "a.jpg/B.jpg", "a.jpg"],
    "hidden": [".jpg", ".a.jpg", "._a.jpg", "..jpg", "...jpg", " .jpg"],
    "in hidden folders": [".git/a.jpg", "x/.cam 1/b.jpg", "__MACOSX/c.jpg", "Thumbs.db/d.jpg", "..%2f..%2fe.jpg"],
    "not printable": ["a\nb.jpg", "a\tb.jpg", "a\0b.jpg", "a\x1b[2J.jpg", "a\u202eb.jpg", "a\u202fb.jpg", "\ud800.jpg"],
    "Markdown": [f"{sign}.jpg" for sign in ("![x](https:192.0.2.1)", "<img src=x>", "$(id)", "-rf", "=1+1", "'\"")],
    "escapes": ["%00.jpg", "%2e%2e.jpg"],
}


def photos(count: int) -> list[bytes]:
    """As many pictures, none like another."""
    coarse = [np.random.default_rng(seed).integers(0, 256, (6, 6, 3), np.uint8) for seed in range(count)]
    return [encoded(Image.fromarray(pixels).resize((48, 40)), "JPEG") for pixels in coarse]


@pytest.mark.parametrize("names", ALIKE.values(), ids=ALIKE)
def test_every_photo_is_kept_and_found(tmp_path, names):
    given_files = list(zip(names, photos(len(names)), strict=True))
    folder = uploads.keep(given_files, tmp_path / "uploads")
    samples = scan(folder)
    assert len(samples.good) + len(samples.defects) == len(names), samples.skipped
    contents = sorted(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert contents == sorted(content for _, content in given_files)
    assert [path.name for path in (tmp_path / "uploads").iterdir()] == [folder.name]
    assert uploads.keep(given_files, tmp_path / "uploads") == folder


def test_names_stay_as_they_came():
    names = ["一.jpg", "Prüfling 3 (links).JPG", "a_b.jpg", "a b.jpg", "lot 7/cam-1/001.png", "![x](y).jpg", "..a.jpg"]
    assert uploads.paths_of(names, windows=False) == [*names[:-1], "_..a.jpg"]
    assert uploads.paths_of(["a.jpg", "A.jpg", "a.jpg"]) == ["a.jpg", "A (2).jpg", "a (3).jpg"]


@given(
    names=st.lists(st.text(min_size=1, max_size=120).map(lambda text: f"{text}.png"), max_size=8), windows=st.booleans()
)
def test_paths_lead_nowhere_and_are_never_the_same(names, windows):
    paths = uploads.paths_of(names + names, windows=windows)
    assert len({unicodedata.normalize("NFC", path).casefold() for path in paths}) == 2 * len(names)
    for path in paths:
        parts = path.split("/")
        assert not path.startswith("/")
        assert path.endswith(".png")
        for part in parts:
            assert part not in ("", ".", "..")
            assert part.isprintable()
            assert len(part.encode()) <= workspace.NAME_BYTES
        if windows:
            assert not set("".join(parts)) & set('<>:"\\|?*')
            assert not any(PureWindowsPath(part).is_reserved() or part.endswith((".", " ")) for part in parts)


@given(st.text(max_size=300))
def test_a_title_gives_a_file_name_on_any_system(title):
    name = workspace.file_name(title)
    assert 0 < len(name.encode()) <= workspace.NAME_BYTES + 1
    assert PurePosixPath(name).name == name
    assert not set(name) & set('<>:"/\\|?*. ')
    assert not PureWindowsPath(name).is_reserved()
    assert name.isprintable()


def test_titles_without_latin_letters_stay_apart():
    assert workspace.file_name("一") == "一"
    assert workspace.file_name("Prüfling / links") == "Prüfling-links"


@pytest.mark.parametrize("same", [True, False])
def test_simultaneous_uploads_stay_separate(tmp_path, same):
    pictures = photos(60)
    sets = [[(f"{i}.jpg", pictures[i if same else 6 * session + i]) for i in range(6)] for session in range(8)]
    ready, folders = threading.Barrier(len(sets)), {}

    def upload(session: int) -> None:
        ready.wait()
        folders[session] = uploads.keep(sets[session], tmp_path)

    threads = [threading.Thread(target=upload, args=(session,)) for session in range(len(sets))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for session, files in enumerate(sets):
        assert {path.name: path.read_bytes() for path in folders[session].iterdir()} == dict(files)
    assert set(tmp_path.iterdir()) == set(folders.values())


@pytest.mark.parametrize("swapped", ["another photo", "cut short", "removed", "link", "folder"])
def test_a_photo_changed_since_it_was_kept_is_written_again(tmp_path, swapped):
    files = [("a.jpg", b"one"), ("lot/b.jpg", b"two")]
    folder = uploads.keep(files, tmp_path / "uploads")
    path, elsewhere = folder / "lot" / "b.jpg", tmp_path / "elsewhere.jpg"
    elsewhere.write_bytes(b"two")
    path.unlink()
    if swapped == "link":
        path.symlink_to(elsewhere)
    elif swapped == "folder":
        path.mkdir()
    elif swapped != "removed":
        path.write_bytes({"another photo": b"six", "cut short": b"tw"}[swapped])
    assert uploads.keep(files, tmp_path / "uploads") == folder
    assert path.read_bytes() == b"two"
    assert not path.is_symlink()
    assert elsewhere.read_bytes() == b"two"
    assert [*(tmp_path / "uploads").iterdir()] == [folder]


def test_foreign_photo_is_neither_used_nor_deleted(tmp_path):
    folder = uploads.keep([("a.jpg", b"one")], tmp_path)
    (folder / ".DS_Store").write_bytes(b"of the system")
    assert uploads.keep([("a.jpg", b"one")], tmp_path) == folder
    (folder / "b.jpg").write_bytes(b"two")
    with pytest.raises(OSError, match=r"b\.jpg is not part of this upload; remove it"):
        uploads.keep([("a.jpg", b"one")], tmp_path)
    assert (folder / "b.jpg").read_bytes() == b"two"


def test_a_picture_changed_since_it_was_kept_is_written_again(tmp_path):
    picture = DecodedPhoto("a.png", np.full((8, 9, 3), 7, np.uint8), "a" * 64)
    path = uploads.keep_picture(picture, tmp_path)
    Image.new("RGB", (9, 8), "red").save(path)
    assert uploads.keep_picture(picture, tmp_path) == path
    assert np.array_equal(np.asarray(Image.open(path)), picture.pixels)


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(self: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        uploads.keep([("a.jpg", b"x")], tmp_path)
    assert list(tmp_path.iterdir()) == []
