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

from inspect_core.datasets import owned_files
from inspect_core.inspection import COLUMNS
from inspect_core.line.batch import Outputs, photos_of, run
from inspect_core.line.map_folder import MapFolder
from inspect_core.line.record import key_of
from inspect_core.line.verdict_table import LARGEST, read_table
from inspect_core.recipe_format.output_paths import OutputPathError
from inspect_core.runtime.ordered_pool import THREADS
from inspect_core.runtime.progress import Cancelled
from inspect_core.verdict import NOT_JUDGED, Limits

LEVELS = (0, 50, 150, 250, 90, 210)


def rows_of(path: Path) -> list[dict]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def photos(photo, tmp_path):
    """(name, path) of six photos, of which the fifth is damaged."""
    for number, level in enumerate(LEVELS):
        photo(tmp_path / "photos" / f"{number}.png", level)
    (tmp_path / "photos" / "4.png").write_bytes(b"\x89PNG\r\n\x1a\n cut short")
    return photos_of([tmp_path / "photos"])


@pytest.fixture
def batch(photos, inspector, tmp_path):
    """batch(...) judges the photos into `v.csv`: (rows, names of those that were judged now)."""

    def run_batch(judging=None, *, photos=photos, **options):
        reports = []
        outputs = options.pop("outputs", Outputs(tmp_path / "v.csv"))
        rows = run(judging or inspector(), photos, outputs, on_row=lambda row: reports.append(row.name), **options)
        return rows, reports

    return run_batch


@pytest.fixture
def stopped(batch, tmp_path):
    """stopped(after=count, ...) is a batch cancelled once so many photos are done; gives the journal's path."""

    def stop(*, after: int, **options) -> Path:
        def report(fraction, step):
            if step.startswith(f"{after} of") and "checking" not in step:
                raise Cancelled

        with pytest.raises(Cancelled):
            batch(report=report, **options)
        return tmp_path / "v.csv.unfinished"

    return stop


def test_every_photo_has_a_row_in_order_with_its_limits(photos, batch, tmp_path):
    rows, _ = batch()
    table = rows_of(tmp_path / "v.csv")
    assert tuple(table[0]) == COLUMNS
    assert [row["name"] for row in table] == [name for name, _ in photos] == [row.name for row in rows]
    assert [row["verdict"] for row in table] == ["accept", "accept", "review", "reject", NOT_JUDGED, "reject"]
    assert [row["score"] for row in table] == ["0.0", "50.0", "150.0", "250.0", "", "210.0"]
    assert [row["percentile_among_good"] for row in table] == ["0.0", "62.5", "100.0", "100.0", "", "100.0"]
    by = {(row["review"], row["reject"], row["area"], row["recipe"]) for row in table}
    assert by == {("100.0", "200.0", "2", "d" * 64)}
    assert (table[4]["digest"], table[4]["regions"]) == ("", "")
    assert "; " in table[4]["reason"]
    assert all(row["time"].endswith("+00:00") and float(row["milliseconds"]) > 0 for row in table)


def test_unreadable_and_vanishing_photos_are_not_judged(batch, inspector, tmp_path):
    (tmp_path / "photos" / "5.png").unlink()
    rows, _ = batch(inspector(refused=150))
    assert [(rows[i].verdict, rows[i].score) for i in (2, 5)] == [(NOT_JUDGED, None)] * 2
    assert rows[2].reason == "score is not finite; teach it again"
    assert len(rows[2].digest) == 64
    assert "there is no such file" in rows[5].reason


def test_stopped_it_goes_on_where_it_was(photos, batch, stopped, inspector, logged, inspections, tmp_path):
    outputs, log = Outputs(tmp_path / "v.csv", MapFolder(tmp_path / "maps"), tmp_path / "r.html"), logged(inspector())
    stopped(after=3, outputs=outputs, record=log)
    assert not (tmp_path / "v.csv").exists()
    rows, reports = batch(outputs=outputs, record=log)
    assert reports == ["3.png", "4.png", "5.png"]
    assert [row.name for row in rows] == [row["name"] for row in rows_of(tmp_path / "v.csv")]
    assert [facts["name"] for facts in inspections()] == [name for name, _ in photos]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["maps", "photos", "r.html", "v.csv"]
    assert len(list((tmp_path / "maps").glob("?.*"))) == 10
    batch(outputs=outputs, record=log)
    assert len(inspections()) == 12, "a second run is recorded again"


def test_rows_of_another_release_are_judged_again(photos, batch, stopped, inspector, logged, inspections, tmp_path):
    stopped(after=3, record=logged(inspector()))
    exported = inspector(release="e" * 64, limits=Limits(1.0, 2.0))
    rows, reports = batch(exported, record=logged(exported))
    assert reports == [name for name, _ in photos]
    assert {row.release for row in rows} == {row["release"] for row in rows_of(tmp_path / "v.csv")} == {"e" * 64}
    assert [facts.get("release", "") for facts in inspections()] == 3 * [""] + 6 * ["e" * 64]
    assert rows == read_table(tmp_path / "v.csv")


def test_a_table_from_before_there_was_a_release(batch, tmp_path):
    table, (rows, _) = tmp_path / "v.csv", batch()
    lines = [line.split(",") for line in table.read_text().splitlines()]
    place = lines[0].index("release")
    table.write_text("\n".join(",".join(line[:place] + line[place + 1 :]) for line in lines))
    assert read_table(table) == rows
    for line in ("", "1,2,3\n", f"{'1' * 200_000}\n"):
        table.write_text("name,digest,score,verdict\n" + line)
        with pytest.raises(ValueError, match="is not a table of verdicts"):
            read_table(table)


def test_oversized_table_is_refused_before_it_is_read(photos, batch, tmp_path, monkeypatch):
    batch(outputs=Outputs(tmp_path / "v.csv", MapFolder(tmp_path / "maps")))
    os.truncate(tmp_path / "v.csv", LARGEST + 1)
    with pytest.raises(
        ValueError, match=r"v\.csv is larger than 256 MB, so it was not read; open it .* split the batch"
    ):
        read_table(tmp_path / "v.csv")
    folder = MapFolder(tmp_path / "maps")
    folder.assign_file_names([name for name, _ in photos])
    monkeypatch.setattr(owned_files, "LARGEST", 10)
    with pytest.raises(OutputPathError, match=r"0\.png already exists .* choose another folder"):
        folder.assign_file_names([name for name, _ in photos])


def test_what_is_there_is_checked_before_it_is_kept(photos, photo, batch, stopped, tmp_path):
    outputs = Outputs(tmp_path / "v.csv", MapFolder(tmp_path / "maps"))
    journal = stopped(after=4, outputs=outputs)
    photo(tmp_path / "photos" / "0.png", 240)
    (tmp_path / "maps" / "1.npy").unlink()
    journal.write_bytes(journal.read_bytes() + b'{"file": "", "row": {"name": "4.p')
    photos = [*photos[:2], ("new.png", photo(tmp_path / "photos" / "new.png", 7)), *photos[2:]]
    rows, reports = batch(photos=photos, outputs=outputs)
    assert reports == ["0.png", "1.png", "new.png", "4.png", "5.png"]
    assert [row.name for row in rows] == [name for name, _ in photos]
    assert rows[0].score == 240


DEEP = b"[" * 100_000 + b"]" * 100_000
DAMAGES = [
    *(b"", b"\0" * 50, b'{"file": 3}\n', b"[]\n", b"3\n", b'{"file": "", "row": 3}\n'),
    b'{"file": ' + DEEP + b"}\n",
]


@pytest.mark.parametrize("damage", DAMAGES, ids=range(len(DAMAGES)))
def test_a_damaged_journal_costs_time_and_nothing_else(batch, stopped, damage):
    journal = stopped(after=4)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:3]) + damage + b"".join(lines[3:]))
    rows, reports = batch()
    assert [row.score for row in rows] == [0, 50, 150, 250, None, 210]
    assert not journal.exists()
    assert not {"0.png", "1.png"} & set(reports)


@pytest.mark.parametrize("length", [0, 1, 29, 60, None])
def test_a_journal_that_never_began_stands_in_no_ones_way(batch, stopped, length):
    journal = stopped(after=1)
    head, *lines = journal.read_bytes().splitlines(keepends=True)
    deep = b"".join([b'{"unfinished batch of Loupe": ' + DEEP + b"}\n", *lines])
    journal.write_bytes(deep if length is None else head[:length])
    assert len(batch()[1]) == 6
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
    photos, batch, stopped, inspector, logged, inspections, change, sealed
):
    edited(stopped(after=4, record=logged(inspector())), change, sealed=sealed)
    rows, reports = batch(record=logged(inspector()))
    assert reports == ["1.png", "4.png", "5.png"]
    assert [(row.score, row.verdict, row.reason) for row in rows[:2]] == [(0, "accept", ""), (50, "accept", "")]
    assert [facts["name"] for facts in inspections()] == [name for name, _ in photos]


def test_without_a_log_the_check_sum_tells(batch, stopped):
    edited(stopped(after=4), {"verdict": "reject"}, sealed=False)
    assert batch()[0][1].verdict == "accept"


def test_what_the_log_holds_under_the_key_is_the_verdict(batch, stopped, inspector, logged):
    """A row recorded and not yet in the journal is judged again, perhaps on another machine."""
    journal, elsewhere = stopped(after=4, record=logged(inspector())), inspector()
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:2]))
    elsewhere.inspect = lambda image: replace(inspector().inspect(image), score=float(image.mean()) + 1e-9)
    rows, _ = batch(elsewhere, record=logged(inspector()))
    assert [row.score for row in rows] == [0, 50, 150, 250, None, 210 + 1e-9]


def test_other_recipe_or_batch_leaves_an_unfinished_one_alone(photos, batch, stopped, inspector, tree, tmp_path):
    stopped(after=2)
    before = tree(tmp_path)
    with pytest.raises(OutputPathError, match=r"v\.csv\.unfinished belongs to a batch started with recipe d{12}.*; "):
        batch(inspector(digest="e" * 64))
    assert tree(tmp_path) == before

    def meanwhile(row):
        with pytest.raises(OutputPathError, match="written by another batch; "):
            batch()

    assert len(run(inspector(), photos, Outputs(tmp_path / "v.csv"), on_row=meanwhile)) == 6


@pytest.mark.parametrize("name", ["v.csv", "v.csv.unfinished", "r.html"])
def test_nothing_of_others_is_replaced(batch, tmp_path, tree, name):
    (tmp_path / name).write_text("of the user")
    before = tree(tmp_path)
    with pytest.raises(OutputPathError, match=f"{name} already exists"):
        batch(outputs=Outputs(tmp_path / "v.csv", report=tmp_path / "r.html"))
    assert tree(tmp_path) == before


def test_a_full_disk_stops_it_with_the_remedy_and_it_goes_on(batch, tmp_path, monkeypatch):
    outputs, write = Outputs(tmp_path / "v.csv", MapFolder(tmp_path / "maps")), MapFolder.write

    def full(maps, name, files):
        if name == "2.png":
            raise OSError(28, "No space left on device")
        write(maps, name, files)

    with monkeypatch.context() as patch:
        patch.setattr(MapFolder, "write", full)
        with pytest.raises(OSError, match=r"No space left on device.*then start it again to resume"):
            batch(outputs=outputs)
    assert batch(outputs=outputs)[1] == ["2.png", "3.png", "4.png", "5.png"]


def test_zips_and_folders_are_taken_together(photo, tmp_path):
    for name in ("a/1.png", "b/1.png"):
        photo(tmp_path / name, 3)
    with zipfile.ZipFile(tmp_path / "lot.zip", "w") as archive:
        archive.write(tmp_path / "a/1.png", "sub/2.png")
    assert [name for name, _ in photos_of([tmp_path / "lot.zip", tmp_path / "a"])] == ["sub/2.png", "1.png"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no photos found at the given paths;"):
        photos_of([tmp_path / "empty"])


def test_maps_of_one_kind_only(batch, tmp_path):
    batch(outputs=Outputs(maps=MapFolder(tmp_path / "maps", [".npy"])))
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
    sources = [value for tag, attributes in tags.found for name, value in attributes if name in ("src", "href")]
    assert len(sources) == 4
    assert all(source.startswith("data:image/webp;base64,") for source in sources)


def test_the_journal_keeps_names_that_are_no_utf8(photo, batch, stopped, tmp_path):
    for name in ("b\udcff.png", "c.png"):
        photo(tmp_path / "few" / name, 3)
    few = photos_of([tmp_path / "few"])
    assert json.loads(stopped(after=1, photos=few).read_bytes().splitlines()[1])["row"]["score"] == 3
    assert len(batch(photos=few)[1]) == 1


def test_vanished_output_folder_is_made_again_or_named(photos, batch, inspector, tmp_path, monkeypatch):
    def on_row(row):
        if row.name == "2.png":
            shutil.rmtree(tmp_path / "out")

    run(inspector(), photos, Outputs(tmp_path / "out" / "v.csv", report=tmp_path / "out" / "r.html"), on_row=on_row)
    assert len(rows_of(tmp_path / "out" / "v.csv")) == 6

    def read_only(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "touch", read_only)
    with pytest.raises(OSError, match=r"Read-only file system.*make the folder writable"):
        batch()


def test_memory_holds_a_few_photos_however_many_there_are(photo, inspector, tmp_path):
    judging, sizes = inspector(), []
    inspect = judging.inspect

    def counted(image):
        images.append(weakref.ref(image))
        return inspect(image)

    images, judging.inspect = [], counted
    for number in range(40):
        photo(tmp_path / "many" / f"{number:02d}.png", number)

    def on_row(row):
        sizes.append(sum(image() is not None for image in images))

    run(judging, photos_of([tmp_path / "many"]), Outputs(maps=MapFolder(tmp_path / "maps")), on_row=on_row)
    assert max(sizes) <= 2 * THREADS
