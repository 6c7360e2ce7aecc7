"""The labels and places of known defects as files, read back by a scan."""

import io
import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from inspect_core.datasets.folders import scan
from inspect_core.images.areas import filled
from inspect_core.images.photo_reader import read_mask
from inspect_core.images.placement import Placement
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.workbench.defect_export import ANNOTATIONS, exported

BOX = ((0.25, 0.25), (0.5, 0.25), (0.5, 0.75), (0.25, 0.75))
SIZE = (40, 60)


@pytest.fixture
def folder(tmp_path) -> Path:
    """Four good photos and three dents, in MVTec AD's layout."""
    rng = np.random.default_rng(0)
    for name, count in (("train/good", 4), ("test/dent", 3)):
        (tmp_path / name).mkdir(parents=True)
        for number in range(count):
            pixels = rng.integers(0, 255, (*SIZE, 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / name / f"{number}.png")
    return tmp_path


@pytest.fixture
def files(folder) -> zipfile.ZipFile:
    """Those of a product on which one of the dents was drawn, and one has a mask on disk."""
    photos = scan(folder)
    scored = [
        ScoredPhoto(sample.name, sample.name, SIZE, sample.label, "test", sample.path, placement=Placement(SIZE))
        for sample in (*photos.good, *photos.defects)
    ]
    mask = folder / "of_the_second.png"
    Image.fromarray(np.pad(np.full((10, 20), 255, np.uint8), ((15, 15), (20, 20)))).save(mask)
    scored[4] = scored[4].with_drawing((BOX,))
    scored[5] = replace(scored[5], mask=mask)
    content = exported(SimpleNamespace(scored=SimpleNamespace(photos=scored)))
    mask.unlink()
    return zipfile.ZipFile(io.BytesIO(content))


def test_masks_are_read_back_in_the_layout_of_mvtec(files, folder):
    files.extractall(folder)
    (folder / ANNOTATIONS).unlink()
    masks = {sample.path.stem: sample.mask for sample in scan(folder).defects}
    assert np.array_equal(read_mask(masks["0"], SIZE), filled(BOX, SIZE))
    on_disk = read_mask(masks["1"], SIZE)
    assert on_disk[16:24, 21:39].all()
    assert on_disk.sum() < 12 * 22
    assert masks["2"] is None


def test_the_annotations_say_the_same_of_all_photos(files, folder):
    document = json.loads(files.read(ANNOTATIONS))
    assert len(document["images"]) == 7
    assert [row["name"] for row in document["categories"]] == ["dent"]
    first, second, third = document["annotations"]
    assert first["bbox"] == [15.0, 10.0, 15.0, 20.0]
    assert first["area"] == 300
    assert second["area"] == 19 * 9, "its outline runs through the middles of its outer pixels"
    assert "segmentation" not in third
    (folder / ANNOTATIONS).write_bytes(files.read(ANNOTATIONS))
    photos = scan(folder)
    assert (len(photos.good), [sample.label for sample in photos.defects]) == (4, ["dent"] * 3)
    assert [sample.mask is not None for sample in photos.defects] == [True, True, False]


def test_photos_of_one_name_have_a_mask_each(folder):
    shutil.copytree(folder / "test" / "dent", folder / "test" / "more")
    photos = [
        ScoredPhoto(f"{place}/0.png", place, SIZE, "dent", "test", folder / place / "0.png").with_drawing((BOX,))
        for place in ("dent", "more")
    ]
    files = zipfile.ZipFile(io.BytesIO(exported(SimpleNamespace(scored=SimpleNamespace(photos=photos)))))
    assert files.namelist() == [ANNOTATIONS, "ground_truth/dent/0_mask.png", "ground_truth/dent/0-2_mask.png"]
