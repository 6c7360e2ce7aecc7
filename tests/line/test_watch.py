import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from inspect_core.line import photo_claims
from inspect_core.line import watch as watching_module
from inspect_core.line.watch import FOLDERS, UnprocessedPhotos, Watch, watching
from inspect_core.recipe_format.output_paths import OutputPathError
from inspect_core.verdict import Limits

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
        options = {"settle_seconds": 0.0, "give_up_seconds": 0.0} | options
        return Watch(judging, tmp_path / "in", tmp_path / "out", logged(judging), **options)

    return start


def placed(out: Path) -> dict[str, list[str]]:
    """Names in each folder of verdicts."""
    return {
        verdict: sorted(path.relative_to(out / folder).as_posix() for path in (out / folder).rglob("*.*"))
        for verdict, folder in FOLDERS.items()
    }


def test_photos_are_moved_by_verdict_and_recorded_there(begin, photo, inspections, tmp_path):
    for name, level in (("a.png", 10), ("lot 7/a.png", 150), ("c.png", 250)):
        photo(tmp_path / "in" / name, level)
    (tmp_path / "in" / "d.png").write_bytes(b"no photo")
    (tmp_path / "in" / "notes.txt").write_text("of the user")
    reports = []
    assert begin().poll(reports.append) == 4
    moved = {"accept": ["a.png"], "review": ["lot 7/a.png"], "reject": ["c.png"], "not judged": ["d.png"]}
    assert placed(tmp_path / "out") == moved | {"not located": []}
    assert [path.name for path in (tmp_path / "in").rglob("*.*")] == ["notes.txt"]
    recorded = inspections()
    assert recorded == [row.facts() for row in reports]
    assert all(Path(facts["path"]).is_file() for facts in recorded)
    scores = {"a.png": 10, "lot 7/a.png": 150, "c.png": 250, "d.png": None}
    assert {facts["name"]: facts.get("score") for facts in recorded} == scores
    assert {facts["source"] for facts in recorded} == {"watch"}


def test_a_photo_that_is_still_written_waits(begin, photo, inspections, tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("inspect_core.line.watch.time", SimpleNamespace(monotonic=lambda: clock[0]))
    watch, whole = begin(settle_seconds=1.0, give_up_seconds=10.0), photo(tmp_path / "whole.png", 10).read_bytes()
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


@pytest.mark.parametrize("when", ["judged", "recorded", "moved", "copied"])
def test_photo_under_a_used_name_is_the_next_one(begin, photo, inspector, inspections, tmp_path, monkeypatch, when):
    judging, camera = inspector(), tmp_path / "in" / "a.png"
    watch = begin(judging)

    def meanwhile(work, *, first=False):
        """`work`, and before or after it the camera's next photo, by the renaming of a whole file."""
        cameras = iter([photo(tmp_path / "next.png", 250)])

        def done(*arguments, **options):
            result = None if first else work(*arguments, **options)
            for path in cameras:
                os.replace(path, camera)
            return work(*arguments, **options) if first else result

        return done

    photo(camera, 10)
    with monkeypatch.context() as patch:
        if when == "judged":
            patch.setattr(judging, "inspect", meanwhile(judging.inspect))
        elif when == "recorded":
            patch.setattr("inspect_core.line.watch.move", meanwhile(photo_claims.move, first=True))
        elif when == "moved":
            patch.setattr(photo_claims.os, "link", meanwhile(os.link))
        else:
            patch.setattr(photo_claims.os, "link", _no_links)
            patch.setattr(photo_claims.shutil, "copy2", meanwhile(shutil.copy2))
        assert watch.poll() == 1
    assert watch.poll() == 1
    assert list((tmp_path / "in").iterdir()) == []
    assert [(facts["verdict"], facts["score"]) for facts in inspections()] == [("accept", 10), ("reject", 250)]
    for level, facts in zip((10, 250), inspections(), strict=True):
        assert Path(facts["path"]).read_bytes() == photo(tmp_path / "again.png", level).read_bytes()


def test_a_photo_put_there_before_it_is_claimed_waits(begin, photo, inspections, tmp_path, monkeypatch):
    watch, claim = begin(), watching_module.claim

    def late(path):
        os.replace(photo(tmp_path / "next.png", 250), path)
        monkeypatch.setattr(watching_module, "claim", claim)
        return claim(path)

    monkeypatch.setattr(watching_module, "claim", late)
    photo(tmp_path / "in" / "a.png", 10)
    assert (watch.poll(), watch.waiting) == (0, 1)
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["a.png"]
    assert watch.poll() == 1
    assert [facts["verdict"] for facts in inspections()] == ["reject"]


@pytest.mark.parametrize("linked", [True, False], ids=["with hard links", "without"])
def test_photo_still_being_written_waits(begin, photo, inspector, inspections, tmp_path, monkeypatch, linked):
    judging = inspector()
    watch, judge = begin(judging), judging.inspect
    if not linked:
        monkeypatch.setattr(photo_claims.os, "link", _no_links)
    other = photo(tmp_path / "other.png", 250).read_bytes()
    with photo(tmp_path / "in" / "a.png", 10).open("rb+") as camera:

        def meanwhile(image):
            camera.write(other)
            camera.truncate()
            camera.flush()
            judging.inspect = judge
            return judge(image)

        judging.inspect = meanwhile
        assert (watch.poll(), watch.waiting) == (0, 1)
    photo(tmp_path / "in" / "a.png", 150) if not linked else None
    while watch.waiting:
        watch.poll()
    assert sorted(facts["score"] for facts in inspections()) == ([250] if linked else [150, 250])
    assert list((tmp_path / "in").iterdir()) == []


def test_one_photo_that_cannot_be_taken_keeps_no_other_waiting(begin, photo, inspections, tmp_path):
    watch = begin()
    for name in ("lot 7/a.png", "b.png", "c.png"):
        photo(tmp_path / "in" / name, 10)
    (tmp_path / "out" / "accept" / "lot 7").write_text("in the way")
    (tmp_path / "in" / ".loupe-claimed").symlink_to(tmp_path)
    with pytest.raises(UnprocessedPhotos, match=r"[bc]\.png cannot be picked up .*is a link\).* 2 more"):
        watch.poll()
    (tmp_path / "in" / ".loupe-claimed").unlink()
    for _ in range(2):
        with pytest.raises(
            UnprocessedPhotos, match=r"lot 7/\.loupe-claimed/a\.png cannot be moved to .*lot 7/a\.png .*; "
        ):
            watch.poll()
    assert placed(tmp_path / "out")["accept"] == ["b.png", "c.png"]
    (tmp_path / "out" / "accept" / "lot 7").unlink()
    assert watch.poll() == 1
    assert len(inspections()) == 3


@pytest.mark.parametrize(
    "name",
    ["n" * 251 + ".png", "ü" * 125 + "n.png", "n" + "\udcff" * 250 + ".png"],
    ids=["letters", "two bytes each", "no UTF-8"],
)
def test_a_name_as_long_as_can_be_is_shortened_when_it_is_taken(begin, photo, inspections, tmp_path, name):
    watch = begin()
    for level in (10, 20, 30):
        photo(tmp_path / "in" / name, level)
        photo(tmp_path / "in" / "z.png", level)
        assert watch.poll() == 2
    names = [name for name in placed(tmp_path / "out")["accept"] if not name.startswith("z")]
    assert len(names) == 3
    assert all(len(os.fsencode(placed_name)) <= 255 and placed_name[:100] == name[:100] for placed_name in names)
    assert len(inspections()) == 6


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
        monkeypatch.setattr(photo_claims.os, "link", _no_links)
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


@pytest.mark.parametrize("linked", [True, False], ids=["with hard links", "without"])
def test_claims_of_a_killed_watch_are_inspected_later(begin, photo, inspections, tmp_path, monkeypatch, linked):
    photo(tmp_path / "in" / "lot 7" / "a.png", 10)
    photo(tmp_path / "in" / "lot 7" / "b.png", 20)
    with monkeypatch.context() as patch:
        patch.setattr(Watch, "_give_back", lambda watch: None)
        patch.setattr("inspect_core.line.watch.prepare", _killed)
        with pytest.raises(KeyboardInterrupt):
            begin().poll()
    assert [path.name for path in (tmp_path / "in").rglob("a.png")] == ["a.png"]
    assert not (tmp_path / "in" / "lot 7" / "a.png").exists()
    if not linked:
        monkeypatch.setattr(photo_claims.os, "link", _no_links)
    photo(tmp_path / "in" / "lot 7" / "a.png", 250)
    watch = begin()
    while watch.poll():
        pass
    scores = sorted((facts["name"], facts["score"]) for facts in inspections())
    assert scores == [("lot 7/a.png", 10), ("lot 7/a.png", 250), ("lot 7/b.png", 20)]
    assert list((tmp_path / "in" / "lot 7").iterdir()) == []


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


def test_vanished_output_folder_is_named_without_loss(begin, photo, inspections, tmp_path):
    watch = begin()
    photo(tmp_path / "in" / "a.png", 10)
    shutil.move(tmp_path / "out", tmp_path / "elsewhere")
    with pytest.raises(OSError, match="out is missing; restore it"):
        watch.poll()
    assert not (tmp_path / "out").exists()
    shutil.move(tmp_path / "elsewhere", tmp_path / "out")
    assert watch.poll() == 1
    assert len(inspections()) == 1


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_takes_no_photos_keeps_them_claimed(begin, photo, inspections, tmp_path, monkeypatch, code):
    watch = begin()
    link = os.link
    photo(tmp_path / "in" / "a.png", 10)
    with monkeypatch.context() as patch:

        def refuse(source, target):
            if Path(target).is_relative_to(tmp_path / "out"):
                raise OSError(code, os.strerror(code))
            link(source, target)

        patch.setattr(photo_claims.os, "link", refuse)
        patch.setattr(photo_claims.shutil, "copy2", refuse)
        with pytest.raises(OSError, match=os.strerror(code)):
            watch.poll()
        assert list((tmp_path / "in").iterdir()) == [tmp_path / "in" / ".loupe-claimed"]
        assert (tmp_path / "in" / ".loupe-claimed" / "a.png").is_file()
        photo(tmp_path / "in" / "a.png", 250)
    while watch.poll():
        pass
    assert list((tmp_path / "in").iterdir()) == []
    assert placed(tmp_path / "out")["accept"] == placed(tmp_path / "out")["reject"] == ["a.png"]
    assert [facts["score"] for facts in inspections()] == [10, 250]


def test_what_another_release_recorded_is_judged_again(begin, inspector, photo, inspections, tmp_path, monkeypatch):
    photo(tmp_path / "in" / "a.png", 150)
    with monkeypatch.context() as patch:
        patch.setattr("inspect_core.line.watch.move", _killed)
        with pytest.raises(KeyboardInterrupt):
            begin(inspector(release="a" * 64, limits=Limits(1e9, 1e9))).poll()
    begin(inspector(release="b" * 64)).poll()
    assert placed(tmp_path / "out")["review"] == ["a.png"]
    verdicts = [(facts["release"], facts["verdict"]) for facts in inspections()]
    assert verdicts == [("a" * 64, "accept"), ("b" * 64, "review")]


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
                pytest.raises(OutputPathError, match="is already being watched;"),
                watching(tmp_path / folder, tmp_path / out),
            ):
                pass
    with watching(tmp_path / "in", tmp_path / "out"):
        pass
    for out in ("in", "in/out", ".", "in/../in"):
        with pytest.raises(OutputPathError, match="choose another"), watching(tmp_path / "in", tmp_path / out):
            pass
    with pytest.raises(FileNotFoundError, match="there is no folder"), watching(tmp_path / "gone", tmp_path / "out"):
        pass
