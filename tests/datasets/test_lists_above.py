"""A list beside the folder that was chosen, or one folder further up, says what its photos show."""

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from inspect_core.datasets import lists_above as module
from inspect_core.datasets.folders import labels_at, scan
from inspect_core.datasets.photo_labels import UnclearLabels
from inspect_core.ui.photo_source import fingerprint

NAMES = tuple(f"{number}.png" for number in range(8))
LABELS = [(name, "NG" if name in NAMES[:2] else "OK") for name in NAMES]


@pytest.fixture
def photos(tmp_path):
    """photos(folder) writes eight photos into a folder below line/, and returns it."""
    rng = np.random.default_rng(0)

    def write(folder: str) -> Path:
        path = tmp_path / "line" / folder
        path.mkdir(parents=True)
        for name in NAMES:
            Image.fromarray(rng.integers(0, 255, (12, 20, 3), np.uint8)).save(path / name)
        return path

    return write


def table(path: Path, rows) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("file", "label"), *rows])
    return path


def counts(folder: Path, **options) -> tuple[int, int]:
    dataset = scan(folder, **options)
    return len(dataset.good), len(dataset.defects)


@pytest.mark.parametrize("folder", ["bilder", "Serie 12", "2026/cam1"])
def test_a_list_above_counts(photos, folder, monkeypatch, tmp_path):
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    chosen = photos(folder)
    above = chosen.parents[folder.count("/")]
    assert counts(chosen) == (8, 0)
    before = fingerprint(chosen)
    table(above / "labels.csv", LABELS)
    assert counts(chosen) == (6, 2)
    assert {photo.name for photo in scan(chosen).defects} == set(NAMES[:2]), "named as below the folder chosen"
    assert set(labels_at([chosen]).values()) == {"good", "NG"}
    assert fingerprint(chosen) != before, "a page that holds what it read reads it again"


def test_photos_of_other_folders_are_not_missed(photos):
    chosen = photos("lot 1")
    photos("lot 2")
    rows = [(f"lot {lot}/{name}", "NG" if lot == 2 else label) for lot in (1, 2, 3) for name, label in LABELS]
    table(chosen.parent / "labels.csv", rows)
    assert counts(chosen) == (6, 2)
    assert not scan(chosen).skipped
    assert counts(chosen.parent, labels="names")[1] == 10


def test_names_that_lie_in_several_folders_are_asked_about(photos):
    chosen = photos("lot 1")
    photos("lot 2")
    table(chosen.parent / "labels.csv", LABELS)
    with pytest.raises(UnclearLabels, match=r"labels\.csv: line 2 names 0\.png, which lies in several"):
        scan(chosen)
    assert counts(chosen, labels="names") == (8, 0)


def test_only_lists_of_these_photos_that_may_be_read_count(photos, monkeypatch):
    chosen = photos("bilder")
    above = chosen.parent
    table(above / "labels.csv", [(f"other_{name}", "NG") for name in NAMES])
    (above / "0.json").write_text('{"judgement": "NG"}')
    assert counts(chosen) == (8, 0), "other photos, and an annotation of another photo of that name"
    table(above / "labels.csv", LABELS)
    assert counts(chosen, roots=[chosen]) == (8, 0), "a folder that is not allowed"
    monkeypatch.setattr(module, "MOST_LISTS", 1)
    assert counts(chosen) == (8, 0), "a store of other things"
    monkeypatch.undo()
    monkeypatch.setattr(module, "LARGEST", 10)
    assert counts(chosen) == (8, 0)
