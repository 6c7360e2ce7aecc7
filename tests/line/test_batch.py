import csv
import json
import os
import shutil
import weakref
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from inspect_core.images import written
from inspect_core.line.batch import Outputs, photos_of, run
from inspect_core.line.maps import Maps
from inspect_core.line.overlap import THREADS
from inspect_core.line.record import key_of
from inspect_core.line.row import COLUMNS
from inspect_core.line.table import LARGEST, read_table
from inspect_core.package.place import PlaceError
from inspect_core.runtime.progress import Cancelled
from inspect_core.verdict import NOT_JUDGED, Limits

LEVELS = (0, 50, 150, 250, 90, 210)


def rows_of(path: Path) -> list[dict]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def photos(photo, tmp_path):
    """(name, path) of six photos, of which the fifth is damaged."""
    for number, level in enumerate(LEVELS):
        photo(tmp_path / "photos" / f"{number}.png", level)
    (tmp_path / "photos" / "4.png").write_bytes(b"\x89PNG\r\n\x1a\n cut short")
    return photos_of([tmp_path / "photos"])


def stopping_after(count: int):
    """A report that cancels once so many photos are done."""

    def report(fraction, step):
        if step.startswith(f"{count} of") and "checking" not in step:
            raise Cancelled

    return report


def test_every_photo_has_a_row_in_order_with_what_it_was_judged_by(photos, inspector, tmp_path):
    rows = run(inspector(), photos, Outputs(tmp_path / "v.csv"))
    table = rows_of(tmp_path / "v.csv")
    assert tuple(table[0]) == COLUMNS
    assert [row["name"] for row in table] == [name for name, _ in photos] == [row.name for row in rows]
    assert [row["verdict"] for row in table] == ["accept", "accept", "review", "reject", NOT_JUDGED, "reject"]
    assert [row["score"] for row in table] == ["0.0", "50.0", "150.0", "250.0", "", "210.0"]
    assert [row["percentile_among_good"] for row in table] == ["0.0", "62.5", "100.0", "100.0", "", "100.0"]
    assert {(row["review"], row["reject"], row["area"], row["recipe"]) for row in table} == {
        ("100.0", "200.0", "2", "d" * 64)
    }
    assert (table[4]["digest"], table[4]["regions"]) == ("", "")
    assert "; " in table[4]["reason"]
    assert all(row["time"].endswith("+00:00") and float(row["milliseconds"]) > 0 for row in table)


def test_a_photo_that_cannot_be_judged_keeps_its_digest(photos, inspector, tmp_path):
    rows = run(inspector(refused=150), photos, Outputs())
    assert (rows[2].verdict, rows[2].score, rows[2].reason) == (
        NOT_JUDGED, None, "score is not finite; teach it again",
    )  # fmt: skip
    assert len(rows[2].digest) == 64


def test_stopped_it_goes_on_where_it_was(photos, inspector, logged, inspections, tmp_path):
    outputs, told = Outputs(tmp_path / "v.csv", Maps(tmp_path / "maps"), tmp_path / "r.html"), []
    with pytest.raises(Cancelled):
        run(inspector(), photos, outputs, record=logged(inspector()), report=stopping_after(3))
    assert not (tmp_path / "v.csv").exists()
    rows = run(inspector(), photos, outputs, record=logged(inspector()), told=told.append)
    assert [row.name for row in told] == ["3.png", "4.png", "5.png"]
    assert [row.name for row in rows] == [row["name"] for row in rows_of(tmp_path / "v.csv")]
    assert [facts["name"] for facts in inspections()] == [name for name, _ in photos]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["maps", "photos", "r.html", "v.csv"]
    assert len(list((tmp_path / "maps").glob("?.*"))) == 10
    run(inspector(), photos, outputs, record=logged(inspector()))
    assert len(inspections()) == 12, "a second run is recorded again"


def test_rows_of_another_release_are_judged_again(photos, inspector, logged, inspections, tmp_path):
    outputs, told = Outputs(tmp_path / "v.csv"), []
    with pytest.raises(Cancelled):
        run(inspector(), photos, outputs, record=logged(inspector()), report=stopping_after(3))
    exported = inspector(release="e" * 64, limits=Limits(1.0, 2.0))
    rows = run(exported, photos, outputs, record=logged(exported), told=told.append)
    assert [row.name for row in told] == [name for name, _ in photos]
    assert {row.release for row in rows} == {row["release"] for row in rows_of(tmp_path / "v.csv")} == {"e" * 64}
    assert [facts.get("release", "") for facts in inspections()] == 3 * [""] + 6 * ["e" * 64]
    assert rows == read_table(tmp_path / "v.csv")


def test_a_table_from_before_there_was_a_release(photos, inspector, tmp_path):
    rows = run(inspector(), photos, Outputs(tmp_path / "v.csv"))
    lines = [line.split(",") for line in (tmp_path / "v.csv").read_text().splitlines()]
    place = lines[0].index("release")
    (tmp_path / "v.csv").write_text("\n".join(",".join(line[:place] + line[place + 1 :]) for line in lines))
    assert read_table(tmp_path / "v.csv") == rows
    (tmp_path / "v.csv").write_text("name,digest,score,verdict\n")
    for line in ("", "1,2,3\n", f"{'1' * 200_000}\n"):
        (tmp_path / "v.csv").write_text("name,digest,score,verdict\n" + line)
        with pytest.raises(ValueError, match="is not a table of verdicts"):
            read_table(tmp_path / "v.csv")


def test_what_is_larger_than_loupe_writes_is_refused_before_it_is_read(photos, inspector, tmp_path, monkeypatch):
    maps = Maps(tmp_path / "maps")
    run(inspector(), photos, Outputs(tmp_path / "v.csv", maps))
    os.truncate(tmp_path / "v.csv", LARGEST + 1)
    with pytest.raises(ValueError, match=r"v\.csv is larger than 256 MB, so it is not read; open it .* run the batch"):
        read_table(tmp_path / "v.csv")
    again = Maps(tmp_path / "maps")
    again.expect([name for name, _ in photos])
    monkeypatch.setattr(written, "LARGEST", 10)
    with pytest.raises(PlaceError, match=r"0\.png is already there .* choose another folder"):
        again.expect([name for name, _ in photos])


def test_what_is_there_is_checked_before_it_is_kept(photos, photo, inspector, tmp_path):
    outputs, told = Outputs(tmp_path / "v.csv", Maps(tmp_path / "maps")), []
    with pytest.raises(Cancelled):
        run(inspector(), photos, outputs, report=stopping_after(4))
    photo(tmp_path / "photos" / "0.png", 240)
    (tmp_path / "maps" / "1.npy").unlink()
    with (tmp_path / "v.csv.unfinished").open("ab") as file:
        file.write(b'{"file": "", "row": {"name": "4.p')
    photos = [*photos[:2], ("new.png", photo(tmp_path / "photos" / "new.png", 7)), *photos[2:]]
    rows = run(inspector(), photos, outputs, told=told.append)
    assert [row.name for row in told] == ["0.png", "1.png", "new.png", "4.png", "5.png"]
    assert [row.name for row in rows] == [name for name, _ in photos]
    assert rows[0].score == 240


@pytest.mark.parametrize("damage", [b"", b"\0" * 50, b'{"file": 3}\n', b"[]\n", b"3\n", b'{"file": "", "row": 3}\n'])
def test_a_damaged_journal_costs_time_and_nothing_else(photos, inspector, tmp_path, damage):
    journal = tmp_path / "v.csv.unfinished"
    with pytest.raises(Cancelled):
        run(inspector(), photos, Outputs(tmp_path / "v.csv"), report=stopping_after(4))
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:3]) + damage + b"".join(lines[3:]))
    rows = run(inspector(), photos, Outputs(tmp_path / "v.csv"))
    assert [row.score for row in rows] == [0, 50, 150, 250, None, 210]
    assert not journal.exists()


def edited(journal: Path, change, *, sealed: bool) -> None:
    """Change the row of the journal's second photo; sealed: with a check sum that fits."""
    head, *lines = journal.read_bytes().splitlines()
    entry = json.loads(lines[1])
    entry["row"] |= change
    if sealed:
        run_of = json.loads(head)["unfinished batch of Loupe"]["run"]
        entry["sum"] = key_of(run_of, entry["file"], json.dumps(entry["row"]))
    lines[1] = json.dumps(entry).encode()
    journal.write_bytes(b"\n".join([head, *lines, b""]))


@pytest.mark.parametrize("sealed", [False, True], ids=["as it is", "with a check sum that fits"])
@pytest.mark.parametrize(
    "change", [{"verdict": "reject"}, {"score": 3.0}, {"reason": "other product"}, {"digest": "0" * 64}, {"limit": 3}]
)
def test_an_edited_row_is_not_believed_and_not_recorded_again(
    photos, inspector, logged, inspections, tmp_path, change, sealed
):
    outputs, told = Outputs(tmp_path / "v.csv"), []
    with pytest.raises(Cancelled):
        run(inspector(), photos, outputs, record=logged(inspector()), report=stopping_after(4))
    edited(tmp_path / "v.csv.unfinished", change, sealed=sealed)
    rows = run(inspector(), photos, outputs, record=logged(inspector()), told=told.append)
    assert [row.name for row in told] == ["1.png", "4.png", "5.png"]
    assert [(row.score, row.verdict, row.reason) for row in rows[:2]] == [(0, "accept", ""), (50, "accept", "")]
    assert [facts["name"] for facts in inspections()] == [name for name, _ in photos]


def test_without_a_log_the_check_sum_tells(photos, inspector, tmp_path):
    with pytest.raises(Cancelled):
        run(inspector(), photos, Outputs(tmp_path / "v.csv"), report=stopping_after(4))
    edited(tmp_path / "v.csv.unfinished", {"verdict": "reject"}, sealed=False)
    assert run(inspector(), photos, Outputs(tmp_path / "v.csv"))[1].verdict == "accept"


def test_what_the_log_holds_under_the_key_is_the_verdict(photos, inspector, logged, tmp_path):
    """A row recorded and not yet in the journal is judged again, perhaps on another machine."""
    with pytest.raises(Cancelled):
        run(inspector(), photos, Outputs(tmp_path / "v.csv"), record=logged(inspector()), report=stopping_after(4))
    journal, elsewhere = tmp_path / "v.csv.unfinished", inspector()
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:2]))
    elsewhere.inspect = lambda image: replace(inspector().inspect(image), score=float(image.mean()) + 1e-9)
    rows = run(elsewhere, photos, Outputs(tmp_path / "v.csv"), record=logged(inspector()))
    assert [row.score for row in rows] == [0, 50, 150, 250, None, 210 + 1e-9]


@pytest.mark.parametrize("length", [0, 1, 29, 60])
def test_a_journal_that_never_began_stands_in_no_ones_way(photos, inspector, tmp_path, length):
    journal = tmp_path / "v.csv.unfinished"
    with pytest.raises(Cancelled):
        run(inspector(), photos, Outputs(tmp_path / "v.csv"), report=stopping_after(1))
    journal.write_bytes(journal.read_bytes()[:length])
    assert len(run(inspector(), photos, Outputs(tmp_path / "v.csv"))) == 6
    assert not journal.exists()


@pytest.mark.parametrize("where", ["head", "row"])
def test_a_journal_nested_beyond_reason_is_not_believed(photos, inspector, tmp_path, where):
    journal, told = tmp_path / "v.csv.unfinished", []
    with pytest.raises(Cancelled):
        run(inspector(), photos, Outputs(tmp_path / "v.csv"), report=stopping_after(4))
    head, *lines = journal.read_bytes().splitlines(keepends=True)
    deep = b"[" * 100_000 + b"]" * 100_000
    if where == "head":
        head = b'{"unfinished batch of Loupe": ' + deep + b"}\n"
    else:
        lines.insert(1, b'{"file": ' + deep + b"}\n")
    journal.write_bytes(b"".join([head, *lines]))
    run(inspector(), photos, Outputs(tmp_path / "v.csv"), told=told.append)
    assert len(told) == (6 if where == "head" else 2)


def test_another_recipe_and_another_batch_leave_an_unfinished_one_alone(photos, inspector, tmp_path, tree):
    with pytest.raises(Cancelled):
        run(inspector(), photos, Outputs(tmp_path / "v.csv"), report=stopping_after(2))
    before = tree(tmp_path)
    with pytest.raises(PlaceError, match=r"v\.csv\.unfinished is a batch started with recipe d{12}.*; "):
        run(inspector(digest="e" * 64), photos, Outputs(tmp_path / "v.csv"))
    assert tree(tmp_path) == before

    def meanwhile(row):
        with pytest.raises(PlaceError, match="written by another batch; "):
            run(inspector(), photos, Outputs(tmp_path / "v.csv"))

    assert len(run(inspector(), photos, Outputs(tmp_path / "v.csv"), told=meanwhile)) == 6


@pytest.mark.parametrize("name", ["v.csv", "v.csv.unfinished", "r.html"])
def test_nothing_of_others_is_replaced(photos, inspector, tmp_path, tree, name):
    (tmp_path / name).write_text("of the user")
    before = tree(tmp_path)
    with pytest.raises(PlaceError, match=f"{name} is already there"):
        run(inspector(), photos, Outputs(tmp_path / "v.csv", report=tmp_path / "r.html"))
    assert tree(tmp_path) == before


def test_a_full_disk_stops_it_with_the_remedy_and_it_goes_on(photos, inspector, tmp_path, monkeypatch):
    outputs, write = Outputs(tmp_path / "v.csv", Maps(tmp_path / "maps")), Maps.write

    def full(maps, name, files):
        if name == "2.png":
            raise OSError(28, "No space left on device")
        write(maps, name, files)

    monkeypatch.setattr(Maps, "write", full)
    with pytest.raises(OSError, match=r"No space left on device.*continues where it stopped"):
        run(inspector(), photos, outputs)
    monkeypatch.setattr(Maps, "write", write)
    told = []
    run(inspector(), photos, outputs, told=told.append)
    assert [row.name for row in told] == ["2.png", "3.png", "4.png", "5.png"]


def test_zips_and_folders_are_taken_together(photo, inspector, tmp_path):
    for name in ("a/1.png", "b/1.png"):
        photo(tmp_path / name, 3)
    with zipfile.ZipFile(tmp_path / "lot.zip", "w") as archive:
        archive.write(tmp_path / "a/1.png", "sub/2.png")
    photos = photos_of([tmp_path / "lot.zip", tmp_path / "a"])
    assert [row.name for row in run(inspector(), photos, Outputs())] == ["sub/2.png", "1.png"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no photo was found"):
        photos_of([tmp_path / "empty"])


def test_photos_that_vanish_on_the_way_are_not_judged(photos, inspector, tmp_path):
    (tmp_path / "photos" / "5.png").unlink()
    rows = run(inspector(), photos, Outputs(tmp_path / "v.csv"))
    assert (rows[5].verdict, rows[5].score) == (NOT_JUDGED, None)
    assert "there is no such file" in rows[5].reason


def test_maps_of_one_kind_only(photos, inspector, tmp_path):
    run(inspector(), photos, Outputs(maps=Maps(tmp_path / "maps", [".npy"])))
    assert sorted(path.name for path in (tmp_path / "maps").glob("?.*")) == [f"{i}.npy" for i in (0, 1, 2, 3, 5)]
    assert np.load(tmp_path / "maps" / "5.npy").max() == 210


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, attrs))


def test_the_report_holds_counts_scores_and_names_as_text_only(photo, inspector, tmp_path):
    names = ["<script>alert(1)</script>.png", "a\nb.png", '"><img src=x>.png', "\udcff.png"]
    for level, name in zip((10, 150, 250, 251), names, strict=True):
        photo(tmp_path / "photos" / name.replace("/", "⁄"), level)
    photos = photos_of([tmp_path / "photos"])
    run(inspector(product="<b>tile</b>"), photos, Outputs(report=tmp_path / "r.html"))
    report = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Accepted 1 of 4; 1 to review, 2 rejected." in report
    tags = Tags()
    tags.feed(report)
    assert not {"script", "b", "link", "iframe"} & {tag for tag, _ in tags.found}
    sources = [value for tag, given in tags.found for name, value in given if name in ("src", "href")]
    assert len(sources) == 4
    assert all(source.startswith("data:image/webp;base64,") for source in sources)


def test_the_journal_keeps_names_that_are_no_utf8(photo, inspector, tmp_path):
    photo(tmp_path / "photos" / "b\udcff.png", 3)
    photo(tmp_path / "photos" / "c.png", 3)
    photos, told = photos_of([tmp_path / "photos"]), []
    with pytest.raises(Cancelled):
        run(inspector(), photos, Outputs(tmp_path / "v.csv"), report=stopping_after(1))
    assert json.loads((tmp_path / "v.csv.unfinished").read_bytes().splitlines()[1])["row"]["score"] == 3
    run(inspector(), photos, Outputs(tmp_path / "v.csv"), told=told.append)
    assert len(told) == 1


def test_an_output_folder_that_vanishes_on_the_way_is_made_again(photos, inspector, tmp_path):
    def told(row):
        if row.name == "2.png":
            shutil.rmtree(tmp_path / "out")

    run(inspector(), photos, Outputs(tmp_path / "out" / "v.csv", report=tmp_path / "out" / "r.html"), told=told)
    assert len(rows_of(tmp_path / "out" / "v.csv")) == 6


def test_an_output_folder_that_takes_nothing_is_named_with_the_remedy(photos, inspector, tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "touch", _read_only)
    with pytest.raises(OSError, match=r"Read-only file system.*make the folder writable"):
        run(inspector(), photos, Outputs(tmp_path / "v.csv"))


def _read_only(*_, **__):
    raise OSError(30, "Read-only file system")


def test_memory_holds_a_few_photos_however_many_there_are(photo, inspector, tmp_path):
    judging, held = inspector(), []
    inspect = judging.inspect

    def counted(image):
        images.append(weakref.ref(image))
        return inspect(image)

    images, judging.inspect = [], counted
    for number in range(40):
        photo(tmp_path / "many" / f"{number:02d}.png", number)

    def told(row):
        held.append(sum(image() is not None for image in images))

    run(judging, photos_of([tmp_path / "many"]), Outputs(maps=Maps(tmp_path / "maps")), told=told)
    assert max(held) <= 2 * THREADS
