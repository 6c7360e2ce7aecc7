"""Heatmaps that Loupe wrote among photos are not photos to anything that reads folders."""

import shutil
import zipfile

import numpy as np
import pytest
from PIL import Image

from inspect_core.datasets.folders import scan
from inspect_core.datasets.listing import photos_in, walk
from inspect_core.datasets.owned_files import LIST, OwnedFiles
from inspect_core.line.map_folder import MapFolder

NAMES = ("1.jpg", "2.jpg", "lot 7/ü =1.jpg")


@pytest.fixture
def product(tmp_path):
    """A folder of good photos, below `train/good`, with a heatmap and a raw map beside each."""
    good, maps = tmp_path / "part" / "train" / "good", MapFolder(tmp_path / "part" / "train")
    for number, name in enumerate(NAMES):
        (good / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((32, 32, 3), 60 + 40 * number, np.uint8)).save(good / name)
    maps.assign_file_names([f"good/{name}" for name in NAMES])
    for name in NAMES:
        maps.write(f"good/{name}", {".png": (good / name).read_bytes(), ".npy": b"raw"})
    assert len([path for path in good.rglob("*.*") if path.is_file()]) == 9
    return tmp_path / "part"


def test_no_reader_of_folders_takes_them(product, tmp_path):
    for place in (product, product / "train", product / "train" / "good"):
        samples = scan(place)
        assert sorted(sample.path.name for sample in samples.good) == ["1.jpg", "2.jpg", "ü =1.jpg"]
        assert samples.skipped == ()
        assert len(list(walk(place))) == len(photos_in([place])) == 3
    maps = MapFolder(tmp_path / "maps")
    maps.assign_file_names(["a.png"])
    maps.write("a.png", {".png": (product / "train/good/1.jpg").read_bytes()})
    assert len(scan(tmp_path).good) == 3, "a folder of nothing but maps does not change the layout"
    with zipfile.ZipFile(tmp_path / "part.zip", "w") as archive:
        for path in product.rglob("*"):
            archive.write(path, path.relative_to(product))
    assert len(scan(tmp_path / "part.zip").good) == 3
    (product / "list.csv").write_text("file,label\n1.jpg,good\n1.png,good\n")
    assert [sample.path.name for sample in scan(product / "list.csv").good] == ["1.jpg"]


def test_own_files_are_skipped_by_name_unless_changed(product):
    good = product / "train" / "good"
    paths = [good / "1.jpg", good / "1.png", good / "lot 7" / "ü =1.png"]
    assert [path for _, path in photos_in(paths)] == [good / "1.jpg"]
    shutil.copy(good / "2.jpg", good / "1.png")
    assert {name for name, _ in photos_in([good])} == {*NAMES, "1.png"}


@pytest.mark.parametrize("content", [b"of the user\n", b"\0" * 99, None], ids=["a text", "zeros", "a link"])
def test_a_list_that_loupe_did_not_write_hides_nothing(tmp_path, content):
    Image.fromarray(np.zeros((32, 32, 3), np.uint8)).save(tmp_path / "a.png")
    if content is None:
        (tmp_path / LIST).symlink_to("/dev/zero")
    else:
        (tmp_path / LIST).write_bytes(content)
    assert len(photos_in([tmp_path])) == 1
    with pytest.raises(ValueError, match="is not a list that Loupe wrote"):
        OwnedFiles(tmp_path)
