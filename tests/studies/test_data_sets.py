"""The sets that studies take: what is said of a folder that holds them, other files, or nothing."""

import sys

import pytest

from benchmarks.studies import data_sets
from benchmarks.studies.common import PHOTOS
from benchmarks.studies.data_sets import StudySet, digest, known


@pytest.fixture
def folder(tmp_path):
    for name in ("train/good/a.png", "train/good/b.png", "test/crack/c.png"):
        path = tmp_path / "part" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def set_of(folder, **changed):
    below = folder / "part"
    files = {"train/good": 2, "test/crack": 1}
    measured = digest(below, sorted(path for path in below.rglob("*") if path.is_file()))
    facts = {"source": "", "licence": "free", "get": "ask its authors", "cut": "", "sha256": measured, "files": files}
    return StudySet(path="part/train", **facts | changed)


def test_a_folder_as_measured_is_told_from_any_other(folder):
    listed = set_of(folder)
    assert listed.state(folder) == "as measured"
    assert set_of(folder, sha256="").state(folder).startswith("there; it is made anew")
    assert listed.state(folder / "elsewhere") == "not there: ask its authors"
    (folder / "part/test/crack/c.png").write_text("changed")
    assert listed.state(folder) == "not as measured: its files have the names and numbers, and other contents"
    (folder / "part/test/crack/c.png").unlink()
    assert listed.state(folder) == "not as measured: test/crack holds 0 files, not 1"


def test_every_set_says_whose_it_is_and_how_to_get_it():
    assert set(PHOTOS) | {"kolektorsdd", "mnist", "transistor", "screw", "faces"} == set(known())
    for listed in known().values():
        assert all((listed.source, listed.licence, listed.get, listed.cut))
        assert len(listed.sha256) in (0, 64)
        assert bool(listed.sha256) == bool(listed.files)


def test_the_command_fails_for_a_folder_that_differs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["data_sets", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        data_sets.main()
    assert ended.value.code == 0
    assert "mnist: not there: the arrays" in capsys.readouterr().out
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist/digits.npz").write_bytes(b"others")
    with pytest.raises(SystemExit) as ended:
        data_sets.main()
    assert ended.value.code == 1
