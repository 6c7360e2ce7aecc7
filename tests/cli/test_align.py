"""A part that never lies the same way, from the folder to the line: located, inspected, or said not to be located."""

import csv

import cv2
import numpy as np
import pytest
from PIL import Image

from inspect_core.cli.commands import main
from inspect_core.features.store import Store
from inspect_core.images.alignment import learn
from inspect_core.images.folders import scan, split
from inspect_core.images.read import read
from inspect_core.recipe import inspect, loaded_backbone
from inspect_core.records.recipe_file import load
from inspect_core.runner import Runner
from inspect_core.study.study import Study

pytestmark = pytest.mark.slow


def laid(pixels, rng, *, reach=0.06, turn=8.0):
    """The photo shifted by up to a share of its side and turned by up to some degrees, dark where it ends."""
    height, width = pixels.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), turn * rng.uniform(-1, 1), 0.9)
    matrix[:, 2] += reach * rng.uniform(-1, 1, 2) * (width, height)
    return cv2.warpAffine(pixels, matrix, (width, height), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REFLECT)


@pytest.fixture(scope="module")
def moved(product, tmp_path_factory):
    """The small product as a conveyor brings it."""
    folder = tmp_path_factory.mktemp("moved") / "flange"
    rng = np.random.default_rng(0)
    for path in sorted(product.rglob("*.jpg")):
        target = (folder / path.relative_to(product)).with_suffix(".png")
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(laid(np.asarray(Image.open(path).convert("RGB")), rng)).save(target)
    return folder


def test_from_the_folder_to_the_line(teach, moved, tmp_path, capsys):
    saved, line, table = tmp_path / "r.zip", tmp_path / "line.zip", tmp_path / "verdicts.csv"
    assert teach("fit", "--out", saved, "--guard", "off", "--align", "rigid", photos=moved) == 0
    assert "The part was found on" in capsys.readouterr().out
    recipe = load(saved)

    photo = next((moved / "train").rglob("*.png"))
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (200, 200, 3), np.uint8)).save(tmp_path / "noise.png")
    half = cv2.warpAffine(read(photo).pixels, np.float32([[1, 0, 120], [0, 1, 0]]), read(photo).pixels.shape[1::-1])
    Image.fromarray(half).save(tmp_path / "half.png")
    shown = [photo, tmp_path / "noise.png", tmp_path / "half.png"]
    assert main(["inspect", str(saved), *map(str, shown), "--csv", str(table), "--device", "cpu"]) == 1
    assert "Not located noise.png" in capsys.readouterr().err
    rows = {row["name"]: row for row in csv.DictReader(table.open())}
    assert (rows["noise.png"]["verdict"], rows["noise.png"]["score"]) == ("not located", "")
    assert rows["noise.png"]["reason"]
    assert rows["half.png"]["verdict"] != "accept"
    backbone = loaded_backbone(recipe.backbone, "cpu")
    verdict = inspect(read(photo).pixels, recipe, backbone=backbone)
    assert float(rows[photo.name]["score"]) == pytest.approx(verdict.score, rel=1e-6)

    assert main(["export", str(saved), "--out", str(line), "--photos", str(moved)]) == 0
    runner = Runner(line)
    for path in shown:
        ours, theirs = inspect(read(path).pixels, recipe, backbone=backbone), runner.inspect(read(path).pixels)
        assert (theirs.verdict, theirs.reason) == (ours.verdict, ours.reason)
        assert theirs.score == (None if ours.score is None else pytest.approx(ours.score, rel=1e-3))
        assert np.array_equal(theirs.left_out, ours.left_out)


def test_a_study_and_its_recipe_say_the_same_to_the_bit(moved, small_backbone, tmp_path):
    """And what is stored goes by the alignment: another one finds nothing of it."""
    parts, store = split(scan(moved), seed=0), Store(tmp_path / "store", limit=2**28)
    pixels = [read(sample.path).pixels for sample in parts.fit]
    alignment = learn(pixels)
    study = Study(parts, small_backbone, store, parameters={"k": 8}, grid=(16, 16), alignment=alignment).fit()
    assert len(study.lost) <= 1
    recipe = study.recipe()
    for photo, score in zip(study.photos, study.scores(), strict=True):
        if photo.part != "calibrate":
            verdict = inspect(read(photo.path).pixels, recipe, backbone=small_backbone)
            assert verdict.score == score
            assert np.array_equal(verdict.anomaly_map, study.map(photo.name))
            assert verdict.left_out is None or not verdict.anomaly_map[verdict.left_out].any()
            for region in verdict.regions:
                assert 0 <= region.box[0] < region.box[2] <= photo.placed.photo[1]

    other = Study(parts, small_backbone, store, parameters={"k": 8}, grid=(16, 16), alignment=learn(pixels[:-2]))
    plain = Study(parts, small_backbone, store, parameters={"k": 8}, grid=(16, 16))
    assert len({study.preparation.keys, other.preparation.keys, plain.preparation.keys}) == 3
