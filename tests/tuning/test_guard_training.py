from pathlib import Path

import pytest

from inspect_core.features.store import Store
from inspect_core.images.folders import scan
from inspect_core.images.read import read
from inspect_core.recipe import inspect
from inspect_core.records.recipe_file import load, save
from inspect_core.study.study import Study
from inspect_core.tuning.guard_training import train_guard
from inspect_core.whole_part.product_check import STOP

SAMPLES = Path(__file__).parents[2] / "sample_data"


@pytest.mark.parametrize("fused", [False, True])
def test_a_photo_of_another_product_is_stopped_and_the_taught_one_is_not(product, backbone, tmp_path, fused):
    study = Study(scan(product), backbone, Store(tmp_path / "store"), parameters={"k": 8}, grid=(8, 8)).fit()
    steps = []
    guard = train_guard(
        study.preparation.backbone,
        study.split.fit,
        study.split.calibrate,
        fused=fused,
        mode=STOP,
        report=lambda fraction, step: steps.append(fraction),
    )
    assert steps[-1] == 1.0
    save(study.recipe(guard=guard), tmp_path / "guarded.zip")
    recipe = load(tmp_path / "guarded.zip")
    own = inspect(read(next((product / "test/good").iterdir())).pixels, recipe, backbone=backbone)
    assert "looks like the product" in own.guard
    other = inspect(read(SAMPLES / "linen/test/good/part_060.jpg").pixels, recipe, backbone=backbone)
    assert (other.verdict, other.reason, own.reason) == ("reject", "other product", None)
    assert "does not look like" in other.guard


def test_a_guard_does_not_change_the_score(product, backbone, tmp_path):
    study = Study(scan(product), backbone, Store(tmp_path / "store"), parameters={"k": 8}, grid=(8, 8)).fit()
    pixels = read(study.photos[0].path).pixels
    plain = inspect(pixels, study.recipe(), backbone=backbone)
    guarded = inspect(
        pixels,
        study.recipe(guard=train_guard(study.preparation.backbone, study.split.fit, study.split.calibrate)),
        backbone=backbone,
    )
    assert plain.score == guarded.score == study.scores()[0]
