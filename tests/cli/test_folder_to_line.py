"""12-bit photos of a part that never lies the same way, from the folder to the line; no other depth gets through."""

import csv

import cv2
import numpy as np
import pytest
from PIL import Image

from inspect_core.cli.commands import main
from inspect_core.datasets.folders import scan, split
from inspect_core.features.store import FeatureStore
from inspect_core.images.alignment import learn_alignment
from inspect_core.images.photo_reader import read
from inspect_core.recipe import inspect
from inspect_core.recipe_io.recipe_file import load
from inspect_core.runner import Runner
from inspect_core.study.study import Study

pytestmark = pytest.mark.usefixtures("unhurried")


def laid(pixels, rng, *, reach=0.06, turn=8.0):
    """The photo shifted by up to a share of its side and turned by up to some degrees, dark where it ends."""
    height, width = pixels.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), turn * rng.uniform(-1, 1), 0.9)
    matrix[:, 2] += reach * rng.uniform(-1, 1, 2) * (width, height)
    return cv2.warpAffine(pixels, matrix, (width, height), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REFLECT)


@pytest.fixture(scope="module")
def moved(product, tmp_path_factory):
    """The small product as a conveyor brings it."""
    rng = np.random.default_rng(0)
    return changed(product, tmp_path_factory.mktemp("moved"), lambda image: laid(np.asarray(image.convert("RGB")), rng))


@pytest.fixture(scope="module")
def deep(moved, tmp_path_factory):
    """The same as a 12-bit mono camera stores it, right-aligned."""
    folder = tmp_path_factory.mktemp("deep")
    return changed(moved, folder, lambda image: 300 + 10 * np.asarray(image.convert("L")).astype(np.uint16))


def changed(source, folder, change):
    """A folder with the photos of another, changed."""
    for path in sorted(path for path in source.rglob("*") if path.suffix in (".jpg", ".png")):
        target = (folder / source.name / path.relative_to(source)).with_suffix(".png")
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(change(Image.open(path))).save(target)
    return folder / source.name


def test_from_the_folder_to_the_line(fit, backbone, deep, tmp_path, capsys):
    saved, line, table = tmp_path / "r.zip", tmp_path / "line.zip", tmp_path / "verdicts.csv"
    reach = ("--align-turn", "40", "--align-shift", "25")
    assert fit(saved, "--align", "rigid", *reach, "--window", "learned", photos=deep) == 0
    printed = capsys.readouterr().out
    assert "The part was located in" in printed
    assert "The photos have 12 bits, right-aligned in 16" in printed
    recipe = load(saved)
    assert (recipe.depth.bits, recipe.depth.is_full) == (12, False)
    ranges = recipe.alignment.ranges
    assert (ranges["angle"].low, ranges["angle"].high) == (-40, 40)
    assert (ranges["x"].low, ranges["y"].high) == (-0.25, 0.25)

    photo = next((deep / "train").rglob("*.png"))
    noise = np.random.default_rng(1).integers(300, 2850, (200, 200), np.uint16)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    whole = np.asarray(Image.open(photo)).astype(np.uint16)
    half = cv2.warpAffine(whole, np.float32([[1, 0, 120], [0, 1, 0]]), whole.shape[::-1])
    Image.fromarray(half).save(tmp_path / "half.png")
    shown = [photo, tmp_path / "noise.png", tmp_path / "half.png"]
    assert main(["inspect", str(saved), *map(str, shown), "--csv", str(table), "--device", "cpu"]) == 1
    assert "Not located noise.png" in capsys.readouterr().err
    rows = {row["name"]: row for row in csv.DictReader(table.open(encoding="utf-8-sig"))}
    assert (rows["noise.png"]["verdict"], rows["noise.png"]["score"]) == ("not located", "")
    assert rows["noise.png"]["reason"]
    assert rows["half.png"]["verdict"] != "accept"
    photos = {path: read(path, recipe.depth) for path in shown}
    assert rows[photo.name]["digest"] == photos[photo].digest
    verdict = inspect(photo, recipe, backbone=backbone)
    assert float(rows[photo.name]["score"]) == pytest.approx(verdict.score, rel=1e-6)

    assert main(["export", str(saved), "--out", str(line), "--photos", str(deep)]) == 0
    runner = Runner(line)
    assert runner.depth == recipe.depth
    for path, picture in photos.items():
        ours, theirs = inspect(path, recipe, backbone=backbone), runner.inspect(picture.pixels)
        assert (theirs.verdict, theirs.reason) == (ours.verdict, ours.reason)
        assert theirs.score == (None if ours.score is None else pytest.approx(ours.score, rel=1e-3))
        assert np.array_equal(theirs.uninspected, ours.uninspected)

    capsys.readouterr()
    for name, other in {"left": whole << 4, "dark": whole >> 2, "eight": (whole >> 4).astype(np.uint8)}.items():
        Image.fromarray(other).save(tmp_path / f"{name}.png")
        assert main(["inspect", str(saved), str(tmp_path / f"{name}.png"), "--device", "cpu"]) != 0
        assert "restore the camera settings used for the good photos" in capsys.readouterr().err


def test_a_depth_is_chosen_for_photos_of_16_bits_only(fit, tmp_path, capsys):
    assert fit(tmp_path / "r.zip", "--window", "learned") == 2
    assert "the photos have 8 bits" in capsys.readouterr().err


def test_a_study_and_its_recipe_say_the_same_to_the_bit(moved, small_backbone, tmp_path):
    """And what is stored goes by the alignment: another one finds nothing of it."""
    parts, store = split(scan(moved), seed=0), FeatureStore(tmp_path / "store", limit=2**28)
    pixels = [read(sample.path).pixels for sample in parts.train]
    alignment = learn_alignment(pixels)
    study = Study.from_photos(
        parts, small_backbone, store, parameters={"k": 8}, grid=(16, 16), alignment=alignment
    ).fit()
    assert len(study.not_located) <= 1
    recipe = study.recipe()
    for photo, score in zip(study.photos, study.scores(), strict=True):
        if photo.subset != "calibration":
            verdict = inspect(read(photo.path).pixels, recipe, backbone=small_backbone)
            assert verdict.score == score
            assert np.array_equal(verdict.anomaly_map, study.map(photo.name))
            assert verdict.uninspected is None or not verdict.anomaly_map[verdict.uninspected].any()
            for region in verdict.regions:
                assert 0 <= region.box[0] < region.box[2] <= photo.placed.photo_size[1]

    other = Study.from_photos(
        parts, small_backbone, store, parameters={"k": 8}, grid=(16, 16), alignment=learn_alignment(pixels[:-2])
    )
    plain = Study.from_photos(parts, small_backbone, store, parameters={"k": 8}, grid=(16, 16))
    assert len({study.extractor.keys, other.extractor.keys, plain.extractor.keys}) == 3
