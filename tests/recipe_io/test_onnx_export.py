import csv
import io
import json
from dataclasses import replace

import numpy as np
import onnx
import pytest
import torch

from inspect_core.detectors.defect_direction import DefectDirection
from inspect_core.features import onnx_graph
from inspect_core.images.photo_reader import read
from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.methods.registry import FITTED, methods_of
from inspect_core.recipe import inspect
from inspect_core.recipe_format import calibration_table, golden_images, recipe_package, recorded_photos
from inspect_core.recipe_format.csv_text import rows_of
from inspect_core.recipe_io import line_network, onnx_export
from inspect_core.recipe_io.onnx_export import ExportError, ParityRow, export
from inspect_core.recipe_io.parity_photos import find_photos
from inspect_core.recipe_io.recipe_file import files_of, load, save, write
from inspect_core.runner import Runner
from inspect_core.runtime.graph import session_of
from inspect_core.runtime.wording import escape_line
from inspect_core.scoring.local_scale import LocalScale
from inspect_core.verdict import Limits

JOINED = "mahalanobis+quadrics"
DETECTORS = (JOINED, "corp", "pca", "sampled+kernel_pca", "cop+nearest+nearby+shade")
"""Every method once, two or three in a graph where that is no less to prove."""
pytestmark = pytest.mark.slow


def photos(product):
    return sorted((product / "test").rglob("*.jpg"))


def exported(recipe, path):
    return export(recipe, path, check_images=find_photos(recipe).paths)


def test_every_method_is_compared():
    assert {name for detector in DETECTORS for name in methods_of(detector)} == set(FITTED)


@pytest.mark.usefixtures("unhurried")
def test_what_known_defects_taught_runs_on_the_line(small_recipe, tmp_path):
    recipe = small_recipe("mahalanobis")
    view = recipe.views[0]
    width = view.detector.projection.shape[1]
    rng = np.random.default_rng(0)
    direction = DefectDirection(*(torch.from_numpy(rng.normal(size=width).astype(np.float32)) for _ in range(2)))
    flat = np.ones(recipe.grid, np.float32)
    scale = LocalScale(0 * flat, flat, 0.0, 1.0, tolerated=0.5)
    known = FittedMethod("discriminant", direction, view.spec, {0: scale})
    parity = exported(save(replace(recipe, views=(view, known)), tmp_path / "recipe"), tmp_path / "line.zip")
    assert (parity.flips, parity.left_out) == (0, ())
    assert parity.largest_difference <= parity.allowed


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("method", DETECTORS)
def test_the_line_says_what_the_app_says(small_recipe, small_backbone, product, tmp_path, method):
    recipe = save(small_recipe(method), tmp_path / "recipe")
    parity = exported(recipe, tmp_path / "line.zip")
    assert (parity.flips, parity.left_out) == (0, ())
    assert parity.largest_difference <= parity.allowed
    runner = Runner(tmp_path / "line.zip")
    assert (runner.digest, runner.product, runner.limits) == (recipe.digest, "flange", recipe.limits)
    for path in photos(product):
        pixels = read(path).pixels
        here, there = inspect(pixels, recipe, backbone=small_backbone), runner.inspect(pixels)
        assert golden_images.verdict_key(there) == golden_images.verdict_key(here)
        assert there.product_check == here.product_check
        assert abs(there.score - here.score) <= parity.allowed
        assert [region.box for region in there.regions] == [region.box for region in here.regions]


@pytest.mark.usefixtures("unhurried")
def test_the_graph_is_plain_and_takes_any_batch(small_recipe, small_backbone, product):
    recipe = small_recipe(JOINED)
    content = line_network.export_graphs(recipe, small_backbone)[recipe_package.MODEL]
    graph = onnx.load_from_string(content)
    assert [(opset.domain, opset.version) for opset in graph.opset_import] == [("", onnx_graph.OPSET)]
    assert not any(tensor.external_data for tensor in graph.graph.initializer)
    session = session_of(content)
    images = np.stack([np.random.default_rng(i).integers(0, 255, (64, 96, 3), np.uint8) for i in range(3)])
    together = session.run(["map"], {"images": images})[0]
    for image, expected in zip(images, together, strict=True):
        np.testing.assert_allclose(session.run(["map"], {"images": image[None]})[0][0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("unhurried")
def test_only_what_is_in_force_is_stored(small_recipe, small_backbone):
    recipe = small_recipe("mahalanobis")
    few = replace(recipe, live_values=recipe.live_values | {"k": 2})
    whole, trimmed = (
        len(line_network.export_graphs(item, small_backbone)[recipe_package.MODEL]) for item in (recipe, few)
    )
    places, row = 8 * 12, 4
    assert whole - trimmed > 0.7 * places * row * (8 * 8 - 2 * 2)


def test_the_package_holds_the_proof(small_recipe, tmp_path):
    recipe = small_recipe(JOINED)
    parity = exported(recipe, tmp_path / "line")
    package = recipe_package.check(tmp_path / "line")
    rows = list(csv.DictReader(io.StringIO(package.read(recipe_package.PARITY).decode())))
    assert len(rows) == len(parity.table) == len(recipe.calibration_photos) + len(recipe.test_photos)
    assert {row["subset"] for row in rows} == {"calibration", "test"}
    images = golden_images.read_table(package)
    assert 1 <= len(images) <= golden_images.MOST
    limits = (recipe.limits.review, recipe.limits.reject)
    nearest = min(rows, key=lambda row: min(abs(float(row["app_score"]) - limit) for limit in limits))
    assert nearest["name"] in {image.name.split("/")[-1] for image in images}
    restored = load(tmp_path / "line")
    assert restored.digest == save(recipe, tmp_path / "plain").digest
    assert (restored.test_photos, restored.challenge_parts) == (recipe.test_photos, recipe.challenge_parts)


@pytest.mark.usefixtures("unhurried")
def test_export_keeps_the_digest_of_a_rewritten_file(small_recipe, tmp_path):
    recipe = small_recipe("cop")
    files = files_of(recipe)
    files[recipe_package.RECIPE] = json.dumps(json.loads(files[recipe_package.RECIPE]), sort_keys=True).encode()
    write(files, tmp_path / "old")
    old = load(tmp_path / "old")
    export(old, tmp_path / "line", check_images=find_photos(recipe).paths, source=tmp_path / "old")
    assert Runner(tmp_path / "line").digest == load(tmp_path / "line").digest == old.digest
    assert old.digest != save(recipe, tmp_path / "new").digest


@pytest.mark.usefixtures("unhurried")
def test_an_export_that_would_flip_a_verdict_is_refused(small_recipe, product, tmp_path, tree, monkeypatch):
    recipe = small_recipe("cop")
    scores = sorted(row.score for row in recipe.test_photos)
    between = replace(recipe, limits=Limits(*2 * [(scores[2] + scores[3]) / 2]))
    others = line_network.export_graphs(small_recipe("pca"), onnx_export.loaded_backbone(None, "cpu"))
    monkeypatch.setattr(line_network, "export_graphs", lambda *_: others)
    before = tree(tmp_path)
    with pytest.raises(ExportError, match=r"photos would get a different verdict on the line,.*nothing was written"):
        exported(between, tmp_path / "line")
    assert tree(tmp_path) == before


@pytest.mark.usefixtures("unhurried")
def test_a_score_that_differs_is_refused_though_no_verdict_does(small_recipe, tmp_path, monkeypatch):
    recipe = replace(small_recipe("mahalanobis"), limits=Limits(1e3, 1e3))
    near = replace(recipe, live_values=recipe.live_values | {"k": 6})
    graphs = line_network.export_graphs(near, onnx_export.loaded_backbone(None, "cpu"))
    monkeypatch.setattr(line_network, "export_graphs", lambda *_: graphs)
    monkeypatch.setattr(golden_images, "TOLERANCE", 1e-9)
    with pytest.raises(ExportError, match=r"the score of .* would differ by"):
        exported(recipe, tmp_path / "line")


def test_photos_are_found_by_content_wherever_they_lie(small_recipe, product, tmp_path):
    recipe = small_recipe("cop")
    elsewhere = tmp_path / "moved"
    elsewhere.mkdir()
    for number, path in enumerate(photos(product)):
        (elsewhere / f"{number}.jpg").write_bytes(path.read_bytes())
    paths = find_photos(recipe, elsewhere)
    assert len(paths.paths) == len(recipe.test_photos)
    assert set(paths.missing) == {row.name for row in recipe.calibration_photos}
    with pytest.raises(ValueError, match=r"none of the \d+ photos .*specify their folder with --photos"):
        find_photos(replace(recipe, provenance=replace(recipe.provenance, photo_root=None)))


@pytest.mark.parametrize("bits", [16, 8])
def test_fewer_bits_pass_the_same_proof_or_are_refused(small_recipe, tmp_path, bits):
    recipe = small_recipe("mahalanobis")
    paths = find_photos(recipe).paths
    export(recipe, tmp_path / "whole", check_images=paths)
    wide = replace(recipe, limits=Limits(*2 * [1e6]))
    export(wide, tmp_path / "few", check_images=paths, bits=bits)
    sizes = [(tmp_path / name / recipe_package.MODEL).stat().st_size for name in ("whole", "few")]
    assert sizes[1] < 0.85 * sizes[0]
    with pytest.raises(ExportError, match="nothing was written"):
        export(recipe, tmp_path / "refused", check_images=paths, bits=bits)
    assert not (tmp_path / "refused").exists()


def test_openvino_reads_the_same_file(small_recipe, small_backbone):
    openvino = pytest.importorskip("openvino", reason="OpenVINO is not installed here")
    content = line_network.export_graphs(small_recipe(JOINED), small_backbone)[recipe_package.MODEL]
    core = openvino.Core()
    model = core.compile_model(core.read_model(content), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    image = np.random.default_rng(0).integers(0, 255, (1, 64, 96, 3), np.uint8)
    expected = session_of(content).run(["map"], {"images": image})[0]
    np.testing.assert_allclose(model(image)["map"], expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_a_spreadsheet_runs_nothing_from_the_table():
    names = ["=1+1.jpg", "+1.jpg", "-1.jpg", "@x.jpg", "\t=1.jpg", "\r=1.jpg", "a\n=1.jpg", "plain.jpg"]
    table = onnx_export._table([ParityRow(name, "test", "d", 1.0, None, "accept", "reject") for name in names]).decode()
    cells = [line["name"] for line in csv.DictReader(io.StringIO(table))]
    assert table.count("\n") == len(names) + 1
    assert not [cell for cell in cells if cell[0] in "=+-@\t\r"]
    assert (cells[0], cells[-1]) == ("'=1+1.jpg", "plain.jpg")
    assert [row["name"] for row in rows_of(table)] == [escape_line(name) for name in names], "read back as they were"
    rows = [recorded_photos.CalibrationPhoto(name, "d", 1.0, "=1+1") for name in names]
    for text in (
        calibration_table.table_of(tuple(rows), ()),
        golden_images.table_of([golden_images.GoldenImage("f", names[0], 1.0, "accept", "", "=1+1")]),
    ):
        lines = csv.reader(io.StringIO(text.decode()))
        assert not [cell for line in lines for cell in line if cell and cell[0] in "=+-@"]
