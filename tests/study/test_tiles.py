"""Tiles from the photos to the recipe and the line: the same on every path, regions across cuts, refusals."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from inspect_core.cli.commands import main
from inspect_core.datasets.folders import scan, split
from inspect_core.datasets.splitting import train_on_all
from inspect_core.features.store import FeatureStore
from inspect_core.images.alignment import learn_alignment
from inspect_core.images.photo_reader import read
from inspect_core.images.tiles import TilePlan
from inspect_core.recipe import inspect
from inspect_core.recipe_format.recipe_package import RecipeError
from inspect_core.recipe_io import onnx_export, recipe_file
from inspect_core.recipe_io.onnx_export import export
from inspect_core.recipe_io.parity_photos import find_photos
from inspect_core.runner import Runner
from inspect_core.study.study import Study
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.product_check_training import train_product_check
from inspect_core.tuning.synthetic_trial import DefectPaster
from inspect_core.verdict import Limits
from tests.clients.node import check_golden_images, exported_with_png
from tests.conftest import small_network

pytestmark = pytest.mark.usefixtures("unhurried")

PLAN = TilePlan((192, 224), (128, 128), 64, 16)
GRID, MAP = (12, 14), (96, 112)


@pytest.fixture(scope="module")
def study(product, backbone, tmp_path_factory):
    store = FeatureStore(tmp_path_factory.mktemp("features"))
    return Study.from_photos(scan(product), backbone, store, parameters={"k": 8}, tiles=PLAN).fit()


@pytest.fixture(scope="module")
def quick_backbone(graphs):
    """A small network for tiles as large as those of the plan: its export for the line takes a second."""
    return small_network(PLAN.tile, graphs)


@pytest.fixture(scope="module")
def tiled_recipe(study, backbone):
    product_check = train_product_check(backbone, study.split.train, study.split.calibration)
    return study.recipe(product="flange", product_check=product_check)


def test_inspect_says_what_the_study_says_of_the_whole_photo(study, tiled_recipe, backbone):
    assert study.scored.grid == GRID
    assert study.live["area"] == PLAN.default_area == 64
    for photo, score in zip(study.photos, study.scores(), strict=True):
        if photo.subset == "test":
            verdict = inspect(read(photo.path).pixels, tiled_recipe, backbone=backbone)
            assert verdict.score == score
            assert verdict.anomaly_map.shape == MAP
            assert verdict.product_check is not None


def test_saved_and_opened_it_says_the_same(study, tiled_recipe, backbone, tmp_path):
    saved = recipe_file.save(tiled_recipe, tmp_path / "recipe")
    opened = recipe_file.load(tmp_path / "recipe")
    assert opened.tiles == PLAN
    assert opened.digest == saved.digest
    pixels = read(study.photos[0].path).pixels
    here, there = (inspect(pixels, item, backbone=backbone) for item in (tiled_recipe, opened))
    assert np.array_equal(here.anomaly_map, there.anomaly_map)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"size": [192, 256]}, "its tiles give"),
        ({"size": [192, 200]}, "multiple of 32"),
        ({"size": [32000, 224]}, "at most 16384"),
        ({"overlap": 32}, "overlap is 32 px"),
        ({"overlap": 128}, "below 128"),
        ({"cell": 64}, "cell"),
        ({"cell": "16"}, "cell"),
        ({"blend": True}, "unknown field"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(tiled_recipe, tmp_path, change, words):
    files = recipe_file.files_of(tiled_recipe)
    document = json.loads(files["recipe.json"])
    document["tiles"] |= change
    files["recipe.json"] = json.dumps(document).encode()
    recipe_file.write(files, tmp_path / "changed")
    with pytest.raises(RecipeError, match=words):
        recipe_file.load(tmp_path / "changed")


def test_defect_across_a_cut_is_one_region_in_photo_pixels(study, tiled_recipe, backbone):
    """Tiles part in the middle of the photo; what lies there is found once, where it is."""
    photo = next(photo for photo in study.photos if photo.label == "good" and photo.subset == "test")
    pixels = read(photo.path).pixels.copy()
    height, width = pixels.shape[:2]
    cut = next(tile.cells[1].stop for tile in PLAN.tiles) * PLAN.cell * width // PLAN.size[1]
    y = height // 2
    pixels[y - 12 : y + 12, cut - 12 : cut + 12] = (255, 0, 255)
    score = study.scores()[study.scored.index(photo.name)]
    limits = Limits(float(score) * 1.5, float(score) * 1.5)
    verdict = inspect(pixels, replace(tiled_recipe, limits=limits), backbone=backbone)
    assert verdict.verdict == "reject"
    left, top, right, bottom = verdict.regions[0].box
    assert left < cut - 4
    assert right > cut + 4
    assert top < y < bottom


@pytest.fixture(scope="module")
def on_the_line(product, quick_backbone, tmp_path_factory):
    """A recipe with tiles, its export and what that says of its parity."""
    folder = tmp_path_factory.mktemp("tiled")
    study = Study.from_photos(
        scan(product), quick_backbone, FeatureStore(folder / "store"), parameters={"k": 8}, tiles=PLAN
    ).fit()
    product_check = train_product_check(quick_backbone, study.split.train, study.split.calibration)
    recipe = recipe_file.save(study.recipe(product_check=product_check), folder / "recipe")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_export, "loaded_backbone", lambda choice, device: quick_backbone)
        return recipe, folder / "line", exported_with_png(recipe, folder / "line")


def test_the_line_says_the_same(product, quick_backbone, on_the_line):
    recipe, line, parity = on_the_line
    assert parity.flips == 0
    runner = Runner(line)
    pixels = read(sorted((product / "test").rglob("*.jpg"))[-1]).pixels
    here, there = inspect(pixels, recipe, backbone=quick_backbone), runner.inspect(pixels)
    assert there.anomaly_map.shape == MAP
    assert abs(here.score - there.score) <= parity.allowed
    assert here.product_check == there.product_check
    assert [region.box for region in here.regions] == [region.box for region in there.regions]


def test_a_client_in_another_language_says_the_same(on_the_line):
    _, line, _ = on_the_line
    check_golden_images(line)


def test_tiles_also_see_a_part_that_is_located(product, quick_backbone, tmp_path, monkeypatch):
    """Photos are warped to the working size first; app and line say the same, of a part that is not found too."""
    monkeypatch.setattr(onnx_export, "loaded_backbone", lambda choice, device: quick_backbone)
    photos = scan(product)
    alignment = learn_alignment(read(sample.path).pixels for sample in photos.good)
    study = Study.from_photos(
        photos, quick_backbone, FeatureStore(tmp_path / "store"), parameters={"k": 8}, alignment=alignment, tiles=PLAN
    ).fit()
    recipe = recipe_file.save(study.recipe(), tmp_path / "recipe")
    assert export(recipe, tmp_path / "line", check_images=find_photos(recipe).paths).flips == 0
    runner, pixels = Runner(tmp_path / "line"), read(photos.good[0].path).pixels
    for image, located in ((pixels, True), (np.full_like(pixels, 128), False)):
        here, there = inspect(image, recipe, backbone=quick_backbone), runner.inspect(image)
        assert here.verdict == there.verdict
        assert here.anomaly_map.shape == there.anomaly_map.shape == MAP
        assert (here.score is not None) == located


def test_an_even_texture_shows_no_seam(backbone, tmp_path):
    """Good photos of one texture: the errors at the cuts are those elsewhere, as each place has its own statistics."""
    rng = np.random.default_rng(0)
    for number in range(20):
        folder = tmp_path / "photos" / "good"
        folder.mkdir(parents=True, exist_ok=True)
        grain = np.clip(128 + 24 * rng.standard_normal((192, 224, 1)), 0, 255).astype(np.uint8)
        Image.fromarray(np.repeat(grain, 3, axis=2)).save(folder / f"{number}.png")
    store = FeatureStore(tmp_path / "store")
    study = Study.from_photos(scan(tmp_path / "photos"), backbone, store, parameters={"k": 8}, tiles=PLAN).fit()
    errors = study.scored.grid_errors().mean(axis=0)
    near_cut = np.zeros(GRID, bool)
    for tile in PLAN.tiles:
        rows, columns = tile.cells
        for edge, lines in ((rows.stop, near_cut), (columns.stop, near_cut.T)):
            if edge < len(lines):
                lines[edge - 1 : edge + 1] = True
    inner = np.zeros(GRID, bool)
    inner[1:-1, 1:-1] = True
    assert near_cut.any()
    assert abs(errors[near_cut & inner].mean() / errors[~near_cut & inner].mean() - 1) < 0.05


def test_k_is_the_plans_and_a_larger_one_is_refused(product, backbone, tmp_path):
    large = TilePlan((3008, 4000), (128, 128), 64, 32)
    store = FeatureStore(tmp_path)
    assert Study.from_photos(scan(product), backbone, store, tiles=large).parameters[0]["k"] == 50
    with pytest.raises(ValueError, match=r"k = 100 at 94 × 125 locations takes 470 MB of factors, at most 256 MB"):
        Study.from_photos(scan(product), backbone, store, tiles=large, parameters={"k": 100})


def test_trial_defects_are_as_large_as_in_one_tile(study):
    pasting = DefectPaster(study, study.split.train, 12)
    assert all(make() is not None for make in pasting.paste_defects(study.split.train))
    assert len(pasting.masks) == 12
    assert all(0 < mask.mean() < 0.2 for mask in pasting.masks.values())


@pytest.mark.slow
def test_the_command_line_gives_what_the_study_gives(product, tmp_path):
    out = tmp_path / "recipe"
    arguments = ["--detector", "mahalanobis", "--k", "8", "--size", "128", "--tiles", "16", "--tolerance", "none"]
    assert main(["fit", str(product), "--out", str(out), *arguments, "--product-check", "off"]) == 0
    recipe = recipe_file.load(out)
    assert recipe.tiles == TilePlan((320, 320), (128, 128), 64, 16)
    photos = train_on_all(split(scan(product), seed=0))
    order = TeachingConfig("flange", photos, size=(128, 128), parameters={"k": 8}, tiles=recipe.tiles, tolerances=None)
    backbone, taps = order.network(("mahalanobis",))
    study = Study.from_order(order, backbone, FeatureStore(tmp_path / "store"), taps=taps).fit()
    scores = study.scores()[study.scored.of_subset("test")]
    assert [row.score for row in recipe.test_photos] == scores.tolist()
