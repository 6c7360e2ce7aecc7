"""Areas in force: bench, recipe, command line and runner judge alike; what is ignored counts for nothing."""

from dataclasses import replace

import numpy as np
import pytest

from inspect_core.datasets.folders import scan, split
from inspect_core.features.store import FeatureStore
from inspect_core.images.areas import InspectionArea, InspectionAreas
from inspect_core.images.photo_reader import read
from inspect_core.recipe import inspect
from inspect_core.recipe_format.recipe_package import RecipeError
from inspect_core.recipe_io import onnx_export
from inspect_core.recipe_io.onnx_export import export
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.runner import Runner
from inspect_core.study.study import Study

pytestmark = pytest.mark.usefixtures("unhurried")
IGNORED = InspectionArea("ignore", ((0.0, 0.0), (0.5, 0.0), (0.5, 0.4), (0.0, 0.4)))
AREAS = InspectionAreas((IGNORED, InspectionArea("stricter", ((0.6, 0.6), (0.9, 0.6), (0.9, 0.9), (0.6, 0.9)), 3.0)))


@pytest.fixture(scope="module")
def study(product, small_backbone, tmp_path_factory):
    store = FeatureStore(tmp_path_factory.mktemp("areas"), limit=2**28)
    return Study.from_photos(
        split(scan(product), seed=0), small_backbone, store, parameters={"k": 8}, grid=(16, 16)
    ).fit()


def test_all_judge_alike(study, small_backbone, tmp_path, monkeypatch):
    scored = study.scored.with_areas(AREAS)
    recipe = save(study.recipe(areas=AREAS), tmp_path / "r.zip")
    monkeypatch.setattr(onnx_export, "loaded_backbone", lambda choice, device: small_backbone)
    photos = [photo for photo in scored.photos if photo.subset != "calibration"]
    export(recipe, tmp_path / "line", check_images=[photo.path for photo in photos])
    runner, weights = Runner(tmp_path / "line"), AREAS.weights(scored.size)
    assert recipe.limits == scored.default_limits() != study.default_limits()
    for photo in photos:
        verdict = inspect(read(photo.path).pixels, load(tmp_path / "r.zip"), backbone=small_backbone)
        assert verdict.score == scored.scores()[scored.index(photo.name)]
        assert np.array_equal(verdict.anomaly_map, study.map(photo.name) * weights)
        assert np.array_equal(verdict.uninspected, weights == 0)
        line = runner.inspect(read(photo.path).pixels)
        assert (line.verdict, line.score) == (verdict.verdict, pytest.approx(verdict.score, rel=1e-3))
        assert np.array_equal(line.uninspected, verdict.uninspected)


def test_areas_below_the_minimum_are_refused_before_saving(study):
    small = InspectionAreas((InspectionArea("inspect", ((0.0, 0.0), (0.06, 0.0), (0.06, 0.06))),))
    assert study.recipe(areas=small, area=5).areas == small
    with pytest.raises(ValueError, match="fewer than the smallest area"):
        study.recipe(areas=small, area=100)


def test_areas_of_another_reference_are_refused(study, tmp_path):
    odd = replace(study.recipe(areas=AREAS), areas=replace(AREAS, reference="f" * 64))
    save(odd, tmp_path / "odd.zip")
    with pytest.raises(RecipeError, match="another reference"):
        load(tmp_path / "odd.zip")


def test_a_recipe_with_areas_revised_keeps_them(study):
    recipe = study.recipe(areas=AREAS)
    assert recipe.with_changes(author="a", reason="").areas == AREAS
    assert recipe.with_changes(author="a", reason="", areas=None).areas is None
    assert recipe.with_challenge((), author="a").areas == AREAS
