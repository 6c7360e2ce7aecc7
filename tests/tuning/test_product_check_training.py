from pathlib import Path

import numpy as np
import pytest

from inspect_core.datasets.folders import scan, split
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.images.tiles import TilePlan
from inspect_core.recipe import inspect
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.study import photo_features
from inspect_core.study.study import Study
from inspect_core.tuning.product_check_training import train_product_check
from inspect_core.whole_part.product_check import STOP

SAMPLES = Path(__file__).parents[2] / "sample_data"


@pytest.fixture(scope="module")
def study(product, backbone, tmp_path_factory) -> Study:
    store = FeatureStore(tmp_path_factory.mktemp("store"))
    return Study.from_photos(scan(product), backbone, store, parameters={"k": 8}, grid=(8, 8)).fit()


@pytest.mark.parametrize("fused", [False, True])
def test_product_check_stops_other_products_only(study, backbone, product, tmp_path, fused):
    steps = []
    product_check = train_product_check(
        backbone,
        study.split.train,
        study.split.calibration,
        fused=fused,
        mode=STOP,
        report=lambda *step: steps.append(step),
    )
    assert steps[-1][0] == 1.0
    save(study.recipe(product_check=product_check), tmp_path / "guarded.zip")
    recipe = load(tmp_path / "guarded.zip")
    own_verdict = inspect(read(next((product / "test/good").iterdir())).pixels, recipe, backbone=backbone)
    assert "Right product." in own_verdict.product_check
    other = inspect(read(SAMPLES / "linen/test/good/part_060.jpg").pixels, recipe, backbone=backbone)
    assert (other.verdict, other.reason, own_verdict.reason) == ("reject", "other product", "")
    assert "does not look like" in other.product_check
    pixels = read(study.photos[0].path).pixels
    plain, guarded = (
        inspect(pixels, checked_recipe, backbone=backbone).score for checked_recipe in (study.recipe(), recipe)
    )
    assert plain == guarded == study.scores()[0], "a product check does not change the score"


@pytest.mark.parametrize("tiles", [None, TilePlan((256, 256), (128, 128), 64, 16)])
def test_embeddings_stored_with_the_features_give_the_same_check(product, backbone, tmp_path, monkeypatch, tiles):
    photos, grid = split(scan(product), seed=0), {} if tiles else {"grid": (8, 8)}
    study = Study.from_photos(
        photos, backbone, FeatureStore(tmp_path / "store"), parameters={"k": 8}, tiles=tiles, **grid
    )
    study.extract(embed=True)
    expected = train_product_check(backbone, photos.train, photos.calibration, mode=STOP)
    monkeypatch.setattr(photo_features, "read", None)
    stored = train_product_check(backbone, photos.train, photos.train[:3], mode=STOP, known=study.photo_features)
    assert stored.detector.params() == expected.detector.params()
    for name, values in expected.detector.arrays().items():
        assert np.array_equal(stored.detector.arrays()[name], values)
