"""12-bit photos from the folder to the line: taught, inspected and proved as one depth, and no other gets through."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from inspect_core.cli.commands import main
from inspect_core.images.read import read
from inspect_core.recipe import inspect, loaded_backbone
from inspect_core.records.recipe_file import load
from inspect_core.runner import Runner

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def deep(product, tmp_path_factory):
    """The small product as a 12-bit mono camera stores it, right-aligned."""
    folder = tmp_path_factory.mktemp("deep") / "flange"
    rng = np.random.default_rng(0)
    for path in product.rglob("*.jpg"):
        grey = np.asarray(Image.open(path).convert("L")).astype(np.uint16)
        target = (folder / path.relative_to(product)).with_suffix(".png")
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(300 + 10 * grey + rng.integers(0, 10, grey.shape, np.uint16)).save(target)
    return folder


def test_from_the_folder_to_the_line(fit, deep, tmp_path, capsys):
    saved, line, table = tmp_path / "r.zip", tmp_path / "line.zip", tmp_path / "verdicts.csv"
    assert fit(saved, "--window", "learned", photos=deep) == 0
    assert "The photos have 12 bits, right-aligned in 16" in capsys.readouterr().out
    recipe = load(saved)
    assert (recipe.depth.bits, recipe.depth.is_full) == (12, False)

    photo = next((deep / "train").rglob("*.png"))
    full = replace(recipe.depth, black=0, white=4095)
    assert read(photo, full).digest != read(photo, recipe.depth).digest, "what is stored goes by this digest"
    assert 40 < read(photo, recipe.depth).pixels.mean() < 220
    assert main(["inspect", str(saved), str(photo), "--csv", str(table), "--device", "cpu"]) in (0, 1)
    row = next(csv.DictReader(table.open()))
    backbone = loaded_backbone(recipe.backbone, "cpu")
    verdict = inspect(read(photo, recipe.depth).pixels, recipe, backbone=backbone)
    assert float(row["score"]) == pytest.approx(verdict.score, rel=1e-6)
    assert row["digest"] == read(photo, recipe.depth).digest

    assert main(["export", str(saved), "--out", str(line)]) == 0
    runner = Runner(line)
    assert runner.depth == recipe.depth
    assert runner.inspect(read(photo, runner.depth).pixels).score == pytest.approx(verdict.score, rel=1e-3)

    capsys.readouterr()
    stored = np.asarray(Image.open(photo)).astype(np.uint16)
    for name, other in {"left": stored << 4, "dark": stored >> 2, "eight": (stored >> 4).astype(np.uint8)}.items():
        Image.fromarray(other).save(tmp_path / f"{name}.png")
        assert main(["inspect", str(saved), str(tmp_path / f"{name}.png"), "--device", "cpu"]) != 0
        assert "set the camera as it was for the good photos" in capsys.readouterr().err


def test_a_depth_is_chosen_for_photos_of_16_bits_only(fit, tmp_path, capsys):
    assert fit(tmp_path / "r.zip", "--window", "learned") == 2
    assert "the photos have 8 bits" in capsys.readouterr().err
