"""A folder is not taught while files beside its photos may say which are defective, and nothing else does."""

import numpy as np
import pytest
from PIL import Image

from inspect_core.datasets.folders import labels_at, scan
from inspect_core.datasets.photo_labels import UnclearLabels, reading_of


@pytest.fixture
def photos(tmp_path):
    """photos(*names) writes them."""
    rng = np.random.default_rng(0)

    def write(*names):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 255, (12, 20, 3), np.uint8)).save(tmp_path / name)
        return tmp_path

    return write


NAMES = tuple(f"{number:04d}.png" for number in range(8))
TELLING = {
    "results.xls": b"\xd0\xcf\x11\xe0",
    "results.xlsx": b"no workbook",
    "results.db": b"SQLite format 3\0",
    "results.parquet": b"PAR1",
    "defects.csv": b"ImageId,ClassId,EncodedPixels\n0001.png,3,491 10\n",
    "boxes.json": b'{"objects": [{"on": "0001.png", "at": [1, 2]}]}',
    "log.txt": b"10:31 part 7\n10:32 scratch\n",
    "line 4.log": b"10:31 0001.png camera 2\n",
    "rejects.txt": b"17 of lot 4\n",
}


@pytest.mark.parametrize("name", TELLING)
def test_a_file_that_may_hold_labels_is_asked_about(photos, name):
    folder = photos(*NAMES)
    (folder / name).write_bytes(TELLING[name])
    with pytest.raises(UnclearLabels, match=name) as error:
        scan(folder)
    assert [reading.key for reading in error.value.readings] == ["none"]
    assert len(scan(folder, labels="none").good) == len(NAMES)
    assert labels_at([folder]) == {}, "where nothing is taught, nothing is asked"


def test_files_named_like_photos_are_asked_about(photos):
    folder = photos(*(f"{number:04d}_test.png" for number in range(8)))
    (folder / "boxes").mkdir()
    for number in range(3):
        (folder / f"boxes/{number:04d}.txt").write_text("10 10 20 20 1")
    with pytest.raises(UnclearLabels, match=r"0000\.txt"):
        scan(folder)


QUIET = {
    "readme.md": "Taken by Ana on line 4.",
    "shots.csv": "file,exposure,gain\n" + "".join(f"{name},3,1.5\n" for name in NAMES),
    "0001.md5": "0" * 32,
    "0001.xmp": "<x/>",
    "0002.xmp": "<x/>",
    "notes.pdf": "%PDF",
}


@pytest.mark.parametrize("name", QUIET)
def test_other_files_are_no_reason_to_ask(photos, name):
    folder = photos(*NAMES)
    (folder / name).write_text(QUIET[name])
    assert len(scan(folder).good) == len(NAMES)


def test_an_unread_file_beside_labels_is_asked_about(photos):
    folder = photos(*(f"good/{name}" for name in NAMES), "scratch/a.png")
    (folder / "results.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(UnclearLabels, match=r"results\.xls"):
        scan(folder)
    assert (len(scan(folder, labels="names").good), len(scan(folder, labels="names").defects)) == (8, 1)


def test_folders_0_and_1_are_asked_about_in_both_directions(photos):
    folder = photos(*(f"0/{name}" for name in NAMES), "1/a.png", "1/b.png")
    with pytest.raises(UnclearLabels, match="which of these are good parts: 0, 1") as error:
        scan(folder)
    counts = {reading.key: (len(reading.good), len(reading.defective)) for reading in error.value.readings}
    by_zero, by_one = (reading_of({"0": word, "1": other}) for word, other in (("good", "NG"), ("NG", "good")))
    assert counts == {by_zero: (8, 2), by_one: (2, 8), "none": (10, 0)}
    assert {photo.name for photo in scan(folder, labels=by_zero).defects} == {"1/a.png", "1/b.png"}
    photos("2/c.png")
    assert len(scan(folder).good) == 11, "cameras or lots"


def test_test_photos_are_labelled_by_their_masks(photos):
    folder = photos(*(f"train/{name}" for name in NAMES), "test/a.png", "test/b.png", "test/c.png")
    for name, value in {"a": 0, "b": 255}.items():
        mask = np.zeros((12, 20), np.uint8)
        mask[2:6, 2:6] = value
        Image.fromarray(mask).save(folder / f"test/{name}_GT.png")
    dataset = scan(folder)
    labels = {photo.name: photo.label for photo in (*dataset.good, *dataset.defects) if photo.split_side == "test"}
    assert labels == {"test/a.png": "good", "test/b.png": "defect"}
    assert [file.name for file in dataset.skipped] == ["test/c.png"]
