"""Verdicts against what the photos show, by hand."""

import csv
import re

import pytest

from inspect_core.datasets.dataset import GOOD
from inspect_core.inspection import Inspection
from inspect_core.line import confusion
from inspect_core.line.batch import Outputs, photos_of, run
from inspect_core.line.batch_report import html_of
from inspect_core.line.verdict_changes import compare_verdicts
from inspect_core.line.verdict_table import read_table
from inspect_core.scoring.limits import format_upper_bound


def row(name: str, verdict: str, truth: str = "", digest: str = "") -> Inspection:
    return Inspection(
        name=name, digest=digest, verdict=verdict, truth=truth, review=1.0, reject=2.0, area=1, recipe="r"
    )


@pytest.fixture
def labelled(photo, tmp_path, inspector):
    """Two good photos of which one is rejected, a taught one, two dents and a scratch; their rows, and the outputs."""
    levels = {"train/good/a": 10, "test/good/b": 20, "test/good/c": 250, "test/dent/d": 30, "test/dent/e": 150}
    for name, level in (levels | {"test/scratch/f": 240}).items():
        photo(tmp_path / "part" / f"{name}.png", level)

    def judge(**options):
        photos, outputs = photos_of([tmp_path / "part"]), Outputs(tmp_path / "v.csv", report=tmp_path / "r.html")
        truths, _ = confusion.truths_of(photos, [tmp_path / "part"])
        return run(inspector(**options), photos, outputs, truths=truths)

    digest = judge()[-1].digest
    (tmp_path / "v.csv").unlink()
    assert judge()[-1].name == "train/good/a.png"
    return judge(calibration_digests=frozenset([digest]))


def test_labelled_folder_gives_bounds_without_training_photos(labelled, tmp_path):
    assert [row.truth for row in labelled] == ["dent", "dent", GOOD, GOOD, "scratch", confusion.TAUGHT]
    assert read_table(tmp_path / "v.csv") == labelled
    assert confusion.escape_sentence(labelled) == (
        f"Rejects 1 of 2 good parts (long-run upper bound {format_upper_bound(1, 2)}), misses 1 of 3 defects, "
        "sends 1 of 5 to review: 1 defect. 1 photo used for training not counted."
    )
    table = confusion.table_of(labelled)
    assert table["Ground truth"] == [GOOD, "dent", "scratch", "all defects"]
    assert [table[head] for head in ("Photos", "Accepted", "To review", "Rejected")] == [
        ["2", "2", "1", "3"], ["1", "1", "0", "1"], ["0", "1", "0", "1"], ["1", "0", "1", "1"],
    ]  # fmt: skip
    assert table["Errors"] == ["50.0%", "50.0%", "0.0%", "33.3%"]
    assert table["Upper bound (95%)"][2] == "95 of 100"
    assert "Compared with ground truth" in (tmp_path / "r.html").read_text()


def test_folders_that_say_nothing_give_no_truth(photo, tmp_path, inspector):
    def truths(folder, *names):
        for name in names:
            photo(tmp_path / folder / name, 100)
        return confusion.truths_of(photos_of([tmp_path / folder]), [tmp_path / folder])

    assert truths("silent", "a.png", "lot 7/b.png", "shift 2/c.png") == ({}, ())
    assert truths("said", "NG/a.png", "b.png") == ({"NG/a.png": "NG", "b.png": GOOD}, ())
    unclear, (note,) = truths("unclear", "part_1.png", "part_2_NG.png")
    assert unclear == {}
    assert "1 photos look good by their names and 1 look defective" in note
    rows = [row("a", "accept"), row("b", "reject", confusion.TAUGHT)]
    assert (confusion.escape_sentence(rows), confusion.confusion(rows)) == ("", {})
    assert "Compared with ground truth" not in html_of(inspector(), rows, {})
    assert "Known as" not in html_of(inspector(), rows, {})


def test_a_report_marks_each_wrong_verdict(inspector, labelled):
    text = html_of(inspector(), labelled, {}, folder="/photos/<tray>")
    for row in labelled:
        mark = {("accept", True): " · escape", ("reject", False): " · false reject"}.get(
            (row.verdict, row.truth not in (GOOD, confusion.TAUGHT)), ""
        )
        assert f"<td>{row.truth}{mark if row.truth != confusion.TAUGHT else ''}</td>" in text
    assert text.count(" · ") == 2, "one defect accepted, one good part rejected"
    assert "<th>Folder</th><td>/photos/&lt;tray&gt;</td>" in text
    assert re.search("<th>Limits</th><td>.*reject", text, re.IGNORECASE)
    assert "<thead>" in text
    assert "counter(pages)" in text


def test_a_list_of_photos_is_judged_with_what_it_says_of_them(photo, tmp_path, inspector):
    for number in range(3):
        photo(tmp_path / f"{number}.png", 100 * number)
    table = tmp_path / "labels.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([("file", "label"), ("0.png", "good"), ("1.png", "dent")])
    photos = photos_of([table])
    assert photos == [("0.png", tmp_path / "0.png"), ("1.png", tmp_path / "1.png")]
    truths, _ = confusion.truths_of(photos, [table])
    assert [row.truth for row in run(inspector(), photos, Outputs(), truths=truths)] == [GOOD, "dent"]


def test_changes_between_two_recipes_are_rated():
    before = [row("a", "accept", "dent", "1"), row("b", "reject", GOOD, "2"), row("c", "accept", "", "3")]
    before += [row("d", "review", GOOD, "4"), row("e", "accept", GOOD, "5"), row("f", "not judged", "dent")]
    after = [row("a", "review", "dent", "1"), row("b", "accept", GOOD, "2"), row("c2", "reject", "", "3")]
    after += [row("d", "reject", GOOD, "4"), row("e", "accept", GOOD, "other"), row("f", "reject", "dent")]
    comparison = compare_verdicts(before, after)
    assert comparison.common == 5
    assert [(change.after.name, change.direction) for change in comparison.changes] == [
        ("d", "worse"), ("c2", ""), ("f", ""), ("a", "better"), ("b", "better"),
    ]  # fmt: skip
    assert comparison.sentence().startswith("5 of 5 verdicts change: 1 to review → rejected, 1 accepted → rejected")
    assert comparison.sentence().endswith("; 2 better, 1 worse.")
    assert compare_verdicts(before, before).sentence() == "No verdicts change (6 photos)."


def test_escape_is_a_known_defect_newly_accepted():
    before = [row("a", "review", "dent", "1"), row("b", "reject", "", "2"), row("c", "accept", "dent", "3")]
    after = [row("a", "accept", "dent", "1"), row("b", "accept", "", "2"), row("c", "accept", "dent", "3")]
    assert [escape.after.name for escape in compare_verdicts(before, after).escapes] == ["a"]
