import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from inspect_core.line import placing
from inspect_core.line.watch import FOLDERS, Watch, watching
from inspect_core.package.place import PlaceError

NAMES = (
    *("=1+1.png", "a\nreject 9.png", "\x1b[2J.png", "\u202egnp.png", "b\udcff.png", "ü 一.png", "%s{}$(x)`y`.png"),
    *("-n.png", "n" * 251 + ".png"),
)


@pytest.fixture
def begin(inspector, logged, tmp_path):
    """begin(**options) is a watch of `in` to `out` that takes photos at its second look."""
    (tmp_path / "in").mkdir()

    def start(judging=None, **options) -> Watch:
        judging = judging or inspector()
        with watching(tmp_path / "in", tmp_path / "out"):
            pass
        options = {"steady": 0.0, "patience": 0.0} | options
        return Watch(judging, tmp_path / "in", tmp_path / "out", logged(judging), **options)

    return start


def placed(out: Path) -> dict[str, list[str]]:
    """Names in each folder of verdicts."""
    return {
        verdict: sorted(path.relative_to(out / folder).as_posix() for path in (out / folder).rglob("*.*"))
        for verdict, folder in FOLDERS.items()
    }


def test_photos_are_moved_by_their_verdicts_and_recorded_where_they_lie(begin, photo, inspections, tmp_path):
    for name, level in (("a.png", 10), ("lot 7/a.png", 150), ("c.png", 250)):
        photo(tmp_path / "in" / name, level)
    (tmp_path / "in" / "d.png").write_bytes(b"no photo")
    (tmp_path / "in" / "notes.txt").write_text("of the user")
    told = []
    assert begin().poll(told.append) == 4
    assert placed(tmp_path / "out") == {
        "accept": ["a.png"], "review": ["lot 7/a.png"], "reject": ["c.png"], "not located": [],
            "not judged": ["d.png"],
    }  # fmt: skip
    assert [path.name for path in (tmp_path / "in").rglob("*.*")] == ["notes.txt"]
    recorded = inspections()
    assert recorded == told
    assert all(Path(facts["path"]).is_file() for facts in recorded)
    assert {facts["name"]: facts["score"] for facts in recorded} == {
        "a.png": 10, "lot 7/a.png": 150, "c.png": 250, "d.png": None,
    }  # fmt: skip
    assert {facts["source"] for facts in recorded} == {"watch"}


def test_a_photo_that_is_still_written_waits(begin, photo, inspections, tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("inspect_core.line.watch.time", SimpleNamespace(monotonic=lambda: clock[0]))
    watch, whole = begin(steady=1.0, patience=10.0), photo(tmp_path / "whole.png", 10).read_bytes()
    growing = tmp_path / "in" / "a.png"
    for end in range(10, len(whole) - 20, 10):
        growing.write_bytes(whole[:end])
        clock[0] += 0.9
        assert (watch.poll(), watch.waiting) == (0, 1)
    clock[0] += 5
    assert (watch.poll(), watch.waiting) == (0, 1), "it is steady and cut short: perhaps the camera is slow"
    growing.write_bytes(whole)
    clock[0] += 0.5
    assert watch.poll() == 0
    clock[0] += 1
    assert (watch.poll(), watch.waiting) == (1, 0)
    assert [facts["verdict"] for facts in inspections()] == ["accept"]


def test_a_photo_that_changes_while_it_is_judged_waits(begin, photo, inspector, inspections, tmp_path):
    judging = inspector()
    watch, judge = begin(judging), judging.inspect

    def meanwhile(image):
        photo(tmp_path / "in" / "a.png", 250)
        os.utime(tmp_path / "in" / "a.png", ns=(1, 1))
        judging.inspect = judge
        return judge(image)

    judging.inspect = meanwhile
    photo(tmp_path / "in" / "a.png", 10)
    assert watch.poll() == 0
    assert watch.poll() == 1
    assert [facts["verdict"] for facts in inspections()] == ["reject"]


def test_names_met_again_replace_nothing(begin, photo, inspections, tmp_path):
    watch = begin()
    for level in (10, 20, 20, 20):
        photo(tmp_path / "in" / "a.png", level)
        assert watch.poll() == 1
    names = placed(tmp_path / "out")["accept"]
    assert len(names) == 4
    assert "a.png" in names
    assert all(name.startswith("a-") for name in names[:3])
    assert len({facts["path"] for facts in inspections()}) == 4


@pytest.mark.parametrize("linked", [True, False], ids=["with hard links", "without"])
@pytest.mark.parametrize("step", ["record", "arrived", "away"])
def test_killed_anywhere_the_log_and_the_folders_agree(
    begin, photo, inspector, inspections, tmp_path, monkeypatch, step, linked
):
    if not linked:
        monkeypatch.setattr(placing.os, "link", _no_links)
    photo(tmp_path / "in" / "a.png", 150)
    photo(tmp_path / "out" / "review" / "a.png", 3)
    with monkeypatch.context() as patch:
        if step == "record":
            patch.setattr("inspect_core.line.watch.move", _killed)
        else:
            patch.setattr(Path, "unlink", _killed if step == "arrived" else _after(Path.unlink))
        with pytest.raises(KeyboardInterrupt):
            begin().poll()
    never = inspector()
    never.inspect = lambda image: pytest.fail("inspected twice")
    begin(never).poll()
    (facts,) = inspections()
    assert placed(tmp_path / "out")["review"] == sorted(["a.png", Path(facts["path"]).name])
    assert not (tmp_path / "in" / "a.png").exists()


def _killed(*_, **__):
    raise KeyboardInterrupt


def _after(work):
    def killed(*arguments, **options):
        work(*arguments, **options)
        raise KeyboardInterrupt

    return killed


def _no_links(*_, **__):
    raise OSError(errno.EPERM, "Operation not permitted")


def test_another_recipe_judges_anew(begin, photo, inspector, inspections, tmp_path):
    photo(tmp_path / "in" / "a.png", 150)
    begin().poll()
    shutil.move(tmp_path / "out" / "review" / "a.png", tmp_path / "in" / "a.png")
    begin().poll()
    assert len(inspections()) == 1, "the same photo by the same recipe"
    shutil.move(tmp_path / "out" / "review" / "a.png", tmp_path / "in" / "a.png")
    begin(inspector(digest="e" * 64)).poll()
    assert len(inspections()) == 2


def test_an_output_folder_that_has_gone_is_named_and_nothing_is_lost(begin, photo, inspections, tmp_path):
    watch = begin()
    photo(tmp_path / "in" / "a.png", 10)
    shutil.move(tmp_path / "out", tmp_path / "elsewhere")
    with pytest.raises(OSError, match="out is gone; put it back"):
        watch.poll()
    assert not (tmp_path / "out").exists()
    shutil.move(tmp_path / "elsewhere", tmp_path / "out")
    assert watch.poll() == 1
    assert len(inspections()) == 1


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_takes_no_photos_keeps_them_where_they_are(begin, photo, inspections, tmp_path, monkeypatch, code):
    watch = begin()
    photo(tmp_path / "in" / "a.png", 10)
    with monkeypatch.context() as patch:

        def refuse(*_, **__):
            raise OSError(code, os.strerror(code))

        patch.setattr(placing.os, "link", refuse)
        patch.setattr(placing.shutil, "copy2", refuse)
        with pytest.raises(OSError, match=os.strerror(code)):
            watch.poll()
        assert (tmp_path / "in" / "a.png").is_file()
    assert watch.poll() == 1
    assert placed(tmp_path / "out")["accept"] == ["a.png"]
    assert len(inspections()) == 1


def test_hostile_names_are_moved_as_they_are(begin, photo, inspections, tmp_path):
    for name in NAMES:
        photo(tmp_path / "in" / name, 10)
    (tmp_path / "in" / "link.png").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "in" / "pipe.png")
    watch = begin()
    assert watch.poll() == len(NAMES)
    assert placed(tmp_path / "out")["accept"] == sorted(NAMES)
    assert watch.poll() == 0
    assert len(inspections()) == len(NAMES)


def test_one_watch_at_a_time_and_folders_apart(tmp_path):
    (tmp_path / "in").mkdir()
    with watching(tmp_path / "in", tmp_path / "out"):
        for folder, out in (("in", "other"), ("out", "other")):
            with (
                pytest.raises(PlaceError, match="used by another watch; "),
                watching(tmp_path / folder, tmp_path / out),
            ):
                pass
    with watching(tmp_path / "in", tmp_path / "out"):
        pass
    for out in ("in", "in/out", ".", "in/../in"):
        with pytest.raises(PlaceError, match="choose another"), watching(tmp_path / "in", tmp_path / out):
            pass
    with pytest.raises(FileNotFoundError, match="there is no folder"), watching(tmp_path / "gone", tmp_path / "out"):
        pass
