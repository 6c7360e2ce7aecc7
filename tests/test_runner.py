"""The runner: what it refuses, what it needs. That it says what the app says: recipe_io/test_onnx_export.py."""

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from inspect_core.classify.kernel_density import fit_kdf, fit_kdn
from inspect_core.images.photo_quality import DEVIATION_SEPARATOR, QualityRange, measure_quality
from inspect_core.images.photo_reader import read, squash
from inspect_core.recipe import inspect
from inspect_core.recipe_format import golden_images, recipe_package
from inspect_core.recipe_format.recipe_package import RecipeError
from inspect_core.recipe_io import line_network, onnx_export
from inspect_core.recipe_io.onnx_export import export
from inspect_core.recipe_io.parity_photos import find_photos
from inspect_core.recipe_io.recipe_file import save
from inspect_core.runner import Runner
from inspect_core.verdict import Limits
from inspect_core.whole_part.defect_types import DefectTypes

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow
STAYS_OUT = ("torch", "torchvision", "timm", "sklearn", "streamlit", "plotly", "safetensors", "onnx", "sqlalchemy")
STAYS_OUT += ("tqdm",)
"""Installed where the app is, and not on the line."""


@pytest.fixture(scope="module")
def exported_once(learned, small_backbone, exported_graphs, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "line"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_export, "loaded_backbone", lambda choice, device: small_backbone)
        patch.setattr(line_network, "export_graphs", exported_graphs)
        export(learned("cop"), folder, check_images=find_photos(learned("cop")).paths)
    return folder


@pytest.fixture
def line(exported_once, tmp_path) -> Path:
    """An exported recipe as a folder."""
    return shutil.copytree(exported_once, tmp_path / "line")


def signed(folder: Path) -> Path:
    """The folder with the digests of what it now holds, as a careful forger would leave it."""
    names = [
        p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.name != recipe_package.SUMS
    ]
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / recipe_package.SUMS).write_bytes(recipe_package.listing_of(sums))
    return folder


def test_a_recipe_that_was_not_exported(small_recipe, tmp_path):
    save(small_recipe("cop"), tmp_path / "recipe")
    with pytest.raises(RecipeError, match=r"recipe: it has no model.onnx; export it first"):
        Runner(tmp_path / "recipe")


@pytest.mark.parametrize(
    "name", [recipe_package.MODEL, recipe_package.RECIPE, recipe_package.EXPECTED, "golden/01.jpg"]
)
def test_a_byte_that_was_changed(line, name):
    content = bytearray((line / name).read_bytes())
    content[len(content) // 2] ^= 1
    (line / name).write_bytes(content)
    with pytest.raises(RecipeError, match=f"{name} does not match its digest"):
        Runner(line)


@pytest.mark.usefixtures("unhurried")
def test_the_graph_of_another_recipe(line, small_recipe, tmp_path):
    """Every digest fits; the golden images do not."""
    other = small_recipe("pca")
    export(other, tmp_path / "other", check_images=find_photos(other).paths)
    shutil.copy(tmp_path / "other" / recipe_package.MODEL, line / recipe_package.MODEL)
    with pytest.raises(RecipeError, match=r"golden image golden/01.jpg \(.*\) gets .*Do not inspect on this PC:"):
        Runner(signed(line))


def test_only_the_release_that_is_named(line):
    """A graph changed without any effect on golden images, all digests made to fit."""
    release = Runner(line).release
    assert Runner(line, release=release.upper()).release == release
    graph = onnx.load_model(line / recipe_package.MODEL)
    graph.doc_string = "another"
    onnx.save_model(graph, line / recipe_package.MODEL)
    forged = Runner(signed(line))
    assert forged.release != release
    assert len(forged.digest) == 64
    with pytest.raises(
        RecipeError, match=f"line: its release is {forged.release}, not {release}; use the approved export"
    ):
        Runner(line, release=release)


@pytest.mark.parametrize("at", ["review", "reject"])
def test_graph_with_bounded_scores_fails_its_golden_images(small_recipe, tmp_path, at):
    """Nearest to each limit one golden image lies on either side."""
    recipe, line = small_recipe("cop"), tmp_path / "line"
    scores = np.sort([part.score for part in (*recipe.calibration_photos, *recipe.test_photos)])
    between = [float(scores[i : i + 2].mean()) for i in (len(scores) // 3, 2 * len(scores) // 3)]
    export(replace(recipe, limits=Limits(*between)), line, check_images=find_photos(recipe).paths)
    shown = sorted(known.score for known in golden_images.read_table(recipe_package.check(line)))
    for limit in between:
        assert np.searchsorted(scores, limit) - np.searchsorted(scores, max(s for s in shown if s <= limit)) <= 1
        assert min(s for s in shown if s > limit) == pytest.approx(scores[np.searchsorted(scores, limit)], rel=1e-4)
    limits = dict(zip(("review", "reject"), between, strict=True))
    graph = onnx.load_model(line / recipe_package.MODEL)
    for node in graph.graph.node:
        node.output[:] = ["whole" if name == "map" else name for name in node.output]
    graph.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(limits[at]), "end"))
    graph.graph.node.append(onnx.helper.make_node("Min", ["whole", "end"], ["map"]))
    onnx.save_model(graph, line / recipe_package.MODEL)
    with pytest.raises(RecipeError, match=r"golden image .* gets .*Do not inspect on this PC:"):
        Runner(signed(line))


@pytest.mark.parametrize("content", [b"", b"no graph at all", b"\x08\x07" * 500])
def test_what_is_no_graph(line, content):
    (line / recipe_package.MODEL).write_bytes(content)
    with pytest.raises(RecipeError, match=r"ONNX Runtime cannot use model\.onnx"):
        Runner(signed(line))


def test_a_graph_that_reads_another_file(line, tmp_path, monkeypatch):
    graph = onnx.load(line / recipe_package.MODEL)
    onnx.save_model(graph, tmp_path / "m.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    shutil.copy(tmp_path / "m.onnx", line / recipe_package.MODEL)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError, match=r"ONNX Runtime cannot use model\.onnx.*[Ee]xternal"):
        Runner(signed(line))


@pytest.mark.parametrize(("field", "value"), [("colour_order", "BGR"), ("resize", "crop"), ("size", [64, 64])])
def test_a_recipe_for_photos_of_another_kind(line, field, value):
    document = json.loads((line / recipe_package.RECIPE).read_text())
    document["geometry"][field] = value
    (line / recipe_package.RECIPE).write_text(json.dumps(document))
    with pytest.raises(RecipeError, match=r"colour_order|resize|not the graph of this recipe"):
        Runner(signed(line))


def test_a_golden_image_that_was_moved_to_the_other_side(line):
    text = (line / recipe_package.EXPECTED).read_text()
    first = golden_images.read_table(recipe_package.check(line))[0]
    (line / recipe_package.EXPECTED).write_text(text.replace(repr(first.score), repr(first.score * 1.01)))
    with pytest.raises(RecipeError, match="Do not inspect on this PC:"):
        Runner(signed(line))


@pytest.mark.parametrize("by_region", [False, True])
@pytest.mark.parametrize("kind", ["forest", "net"])
def test_defect_types_are_named_as_in_the_app(small_recipe, small_backbone, product, tmp_path, kind, by_region):
    rng = np.random.default_rng(0)
    recipe, points = small_recipe("cop"), []
    photos = [read(path).pixels for path in sorted((product / "test").rglob("*.jpg"))]
    for pixels in photos:
        known = small_backbone.embed(squash(pixels, (64, 96))[None])[0].numpy()
        points += [known + 0.01 * rng.normal(size=14) for _ in range(6)]
    labels = ["dent", "scratch", "stain"] * (len(points) // 3)
    fit, options = (fit_kdf, {"trees": 5}) if kind == "forest" else (fit_kdn, {"hidden": (6,)})
    types = DefectTypes(fit(np.array(points), labels, power=1.0, **options), by_region, 0.05)
    recipe = replace(recipe, defect_types=types, limits=Limits(*[min(r.score for r in recipe.test_photos) - 1e-4] * 2))
    export(recipe, tmp_path / "line", check_images=find_photos(recipe).paths)
    runner = Runner(tmp_path / "line")
    for pixels in photos:
        here, there = inspect(pixels, recipe, backbone=small_backbone), runner.inspect(pixels)
        assert here.defect_type is not None
        assert there.defect_type[0] == here.defect_type[0]
        assert there.defect_type[1] == pytest.approx(here.defect_type[1], abs=1e-3)


def test_photo_deviation_is_stated_and_changes_no_verdict(small_recipe, small_backbone, tmp_path):
    silent = small_recipe("cop")
    photos = [read(path).pixels for path in find_photos(silent).paths]
    quality = QualityRange.from_qualities(2 * [measure_quality(squash(pixels, (64, 96))) for pixels in photos])
    recipe, deviations = replace(silent, quality=quality), set()
    export(recipe, tmp_path / "line", check_images=find_photos(silent).paths)
    runner = Runner(tmp_path / "line")
    for good in photos[:2]:
        noise = np.random.default_rng(0).normal(0, 40, good.shape)
        for pixels in (good, np.clip(good + noise, 0, 255).astype(np.uint8), good // 2):
            here, there = inspect(pixels, recipe, backbone=small_backbone), runner.inspect(pixels)
            assert here.photo_deviation == there.photo_deviation
            assert here.verdict == inspect(pixels, silent, backbone=small_backbone).verdict
            deviations.update(here.photo_deviation.split(DEVIATION_SEPARATOR))
    assert {"", "noisier than taught", "darker than taught"} <= deviations


def test_it_runs_where_nothing_but_its_own_packages_is_installed(line, product):
    photo = next((product / "test/good").iterdir())
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] in {STAYS_OUT!r}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from inspect_core.images.photo_reader import read\n"
        "from inspect_core.runner import Runner\n"
        "print(Runner(sys.argv[1]).inspect(read(sys.argv[2]).pixels).verdict)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, line, photo], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("accept", "review", "reject")


def test_the_line_is_given_the_versions_of_the_app():
    app, line = (set((ROOT / name).read_text().splitlines()) for name in ("requirements.txt", "requirements-line.txt"))
    assert {row for row in line if "==" in row} <= app
