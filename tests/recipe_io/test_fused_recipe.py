"""A recipe goes over to its graph in the background, and only to one that says the same."""

from dataclasses import replace

import numpy as np
import pytest

from inspect_core.images.photo_reader import read
from inspect_core.recipe import LoadedRecipe
from inspect_core.recipe_format import golden_images, recipe_package
from inspect_core.recipe_io import fused_recipe, line_network
from inspect_core.recipe_io.fused_recipe import FusedRecipe
from inspect_core.recipe_io.recipe_file import save
from inspect_core.scoring.anomaly_map import AREA

pytestmark = pytest.mark.slow


@pytest.fixture
def writers(monkeypatch, small_backbone):
    """The graphs' writers that were begun; each is done at once."""
    begun = []

    class Writer:
        def __init__(self, command: list[str], **_: object) -> None:
            begun.append(command)
            fused_recipe.write(command[-1])

        def poll(self) -> int:
            return 0

    monkeypatch.setattr(fused_recipe.subprocess, "Popen", Writer)
    monkeypatch.setattr(fused_recipe, "loaded_backbone", lambda choice, device: small_backbone)
    return begun


@pytest.mark.usefixtures("unhurried")
def test_it_goes_over_to_the_graph_and_the_next_begins_with_it(
    small_recipe, small_backbone, product, tmp_path, writers
):
    recipe = save(small_recipe("mahalanobis+nearest"), tmp_path / "recipe")
    pixels = [read(path).pixels for path in sorted((product / "test").rglob("*.jpg"))]
    known = [LoadedRecipe(recipe, small_backbone).inspect(photo) for photo in pixels]
    allowed = golden_images.tolerance(np.array([part.score for part in recipe.calibration_photos]), recipe.limits)
    inspector = FusedRecipe(recipe, small_backbone, tmp_path / "recipe", after=2)
    verdicts = [inspector.inspect(photo) for photo in pixels]
    assert [golden_images.verdict_key(verdict) for verdict in verdicts] == [
        golden_images.verdict_key(verdict) for verdict in known
    ]
    assert [verdict.score for verdict in verdicts[:3]] == [verdict.score for verdict in known[:3]], "as without a graph"
    assert 0 < max(abs(first.score - other.score) for first, other in zip(verdicts, known, strict=True)) <= allowed
    repeated = FusedRecipe(recipe, small_backbone, tmp_path / "recipe", after=2).inspect(pixels[-1])
    assert repeated.score == verdicts[-1].score
    assert len(writers) == 1


@pytest.mark.usefixtures("unhurried")
def test_a_graph_that_says_something_else_is_left_alone(small_recipe, small_backbone, product, tmp_path, writers):
    recipe = save(small_recipe("mahalanobis"), tmp_path / "recipe")
    other = replace(recipe, live_values={"k": 1, AREA: recipe.live_values[AREA]})
    content = line_network.export_graphs(other, small_backbone)[recipe_package.MODEL]
    fused_recipe.store(fused_recipe._identity(recipe, recipe_package.MODEL), content, fused_recipe._cache())
    pixels = read(next((product / "test/dent").iterdir())).pixels
    inspector = FusedRecipe(recipe, small_backbone, tmp_path / "recipe", after=2)
    known = LoadedRecipe(recipe, small_backbone).inspect(pixels).score
    assert [inspector.inspect(pixels).score for _ in range(5)] == [known] * 5
    assert not writers
