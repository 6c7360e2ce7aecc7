"""Which photo a reference means, and that none leads out of the folder of its list."""

import contextlib
import os
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspect_core.datasets.dataset import ScanError
from inspect_core.datasets.folders import scan
from inspect_core.datasets.manifests import list_file, photo_list
from inspect_core.datasets.manifests.photo_list import FileIndex
from inspect_core.datasets.verdict_words import LONGEST_LABEL

BELOW = [PurePosixPath(name) for name in ("lot 1/a.png", "lot 1/b.png", "lot 2/a.png", "a.png", "ä.png")]


def listing(folder, *rows):
    (folder / "list.csv").write_text("".join(f"{row},good\n" for row in rows))
    return folder / "list.csv"


@pytest.mark.parametrize(
    ("reference", "file"),
    [
        ("b.png", "lot 1/b.png"),
        ("a.png", "a.png"),
        ("s3://bucket/x/lot 2/a.png", "lot 2/a.png"),
        ("C:\\photos\\lot 1\\a.png", "lot 1/a.png"),
        ("/home/else/lot 1/b.png", "lot 1/b.png"),
        ("lot 9/b.png", "lot 1/b.png"),
        ("a\u0308.png", "ä.png"),
    ],
)
def test_a_reference_means_the_file_that_fits_its_end_best(reference, file):
    assert str(FileIndex(BELOW).resolve(reference)) == file


def test_ambiguous_name_is_refused_and_missing_photo_listed(photos):
    dataset = scan(listing(photos, "a.png", "lot 2/a.png", "d.png", "gone.png"))
    assert {sample.name: sample.group for sample in dataset.good} == {"lot 2/a.png": "lot 2", "d.png": None}
    assert [(skipped.name, skipped.role) for skipped in dataset.skipped] == [("a.png", "photo"), ("gone.png", "photo")]
    assert "line 1 names it, but 2 files fit this name" in dataset.skipped[0].reason
    assert "line 4 names it" in dataset.skipped[1].reason
    assert any("2 photos skipped (a.png, gone.png)" in warning for warning in dataset.warnings)


@given(st.text(max_size=40))
def test_no_reference_gives_anything_but_a_file_of_the_folder(reference):
    with contextlib.suppress(LookupError):
        assert FileIndex(BELOW).resolve(reference) in BELOW


@pytest.mark.parametrize(
    "reference", ["../secret.png", "{outside}", "lot 1/../../secret.png", "file://{outside}", "~/secret.png"]
)
def test_no_photo_outside_is_reached(photos, reference):
    outside = photos.parent / "secret.png"
    (photos / "d.png").rename(outside)
    dataset = scan(listing(photos, reference.format(outside=outside), "b.png"))
    assert [sample.name for sample in dataset.good] == ["lot 1/b.png"]
    assert len(dataset.skipped) == 1


def test_links_out_of_the_folder_are_refused(photos):
    outside = photos.parent / "secret.png"
    (photos / "d.png").rename(outside)
    os.symlink(outside, photos / "d.png")
    os.symlink(photos.parent, photos / "up", target_is_directory=True)
    dataset = scan(listing(photos, "d.png", "up/secret.png", "b.png"))
    assert [sample.name for sample in dataset.good] == ["lot 1/b.png"]
    assert {skipped.name: skipped.reason for skipped in dataset.skipped} == {
        "d.png": "link to a file outside the folder; copy the file itself",
        "up/secret.png": "line 2 names it, but it is outside the folder of the list; copy it there",
    }


def test_a_photo_called_good_and_a_defect_is_left_to_the_user(photos):
    (photos / "list.csv").write_text("b.png,good\nd.png,good\nb.png,scratch\nc.png,dent\nc.png,scratch\nlot 2/a.png,\n")
    dataset = scan(photos / "list.csv")
    assert {sample.name: sample.label for sample in dataset.defects} == {"lot 2/c.png": "dent"}
    assert {skipped.name: skipped.reason for skipped in dataset.skipped} == {
        "lot 1/b.png": "line 1 calls it good, line 3 scratch; correct one of them",
        "lot 2/a.png": "line 6 has no label for it; enter good or the defect type",
    }


def test_lists_without_end_are_refused(photos, refused, monkeypatch):
    monkeypatch.setattr(photo_list, "MOST_ENTRIES", 2)
    refused(listing(photos, "b.png", "c.png", "d.png"), "more than 2 photos; split it")
    monkeypatch.setattr(list_file, "MOST_BYTES", 20)
    refused(listing(photos, "b.png", "c.png", "d.png"), "larger than")


def test_a_pipe_with_the_name_of_a_list_keeps_nobody_waiting(photos):
    os.mkfifo(photos / "list.csv")
    with pytest.raises(ScanError, match="is not a folder, zip archive or list"):
        scan(photos / "list.csv")


@pytest.mark.parametrize("label", ["\x1b[2J", "x" * 10_000, "a\u202eb", "<b>", "../.."])
def test_labels_are_words_that_can_be_shown(photos, label):
    (photos / "list.csv").write_text(f"b.png,{label}\nd.png,good\n")
    (defect,) = scan(photos / "list.csv").defects
    assert defect.label.isprintable()
    assert len(defect.label) <= LONGEST_LABEL
