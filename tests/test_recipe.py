import dataclasses
import functools
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.features import backbones
from inspect_core.images.depth import Depth
from inspect_core.images.photo_reader import read
from inspect_core.recipe import LoadedRecipe, inspect
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.runtime.versions import library_versions
from inspect_core.verdict import Limits, Reason
from inspect_core.whole_part.defect_types import DefectTypes
from inspect_core.whole_part.product_check import OFF, STOP

DATA = Path(__file__).parent / "data"
PHOTOS = Path(__file__).parents[1] / "sample_data" / "flange" / "test"
STORED = json.loads((DATA / "recipe.json").read_text())["scores"]
"""Scores of the recipe beside it, by the processor's maker and vector instructions: other ones round otherwise."""
NAMES = list(next(iter(STORED.values())))


@pytest.fixture(scope="module")
def stored():
    """A recipe that was saved before, whose scores were recorded."""
    return load(DATA / "recipe.zip")


@pytest.fixture
def runs(monkeypatch) -> list[bool]:
    """Every run of the network: whether it went on to the head."""
    results: list[bool] = []
    run = backbones.Backbone.run

    def counted(self, images, *join, head=False):
        results.append(head)
        return run(self, images, *join, head=head)

    monkeypatch.setattr(backbones.Backbone, "run", counted)
    return results


def processor_maker() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("vendor_id")), "")


@functools.cache
def types(*, by_region: bool):
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(centre, 0.3, (8, 1280)) for centre in (0, 2)]).astype(np.float32)
    return DefectTypes(fit_kdf(points, ["dent"] * 8 + ["scratch"] * 8, power=1.0, trees=20), by_region, 0.6)


@pytest.mark.parametrize("mode", ["warn", OFF])
@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_saved_before_gives_the_same_scores(stored, backbone, name, mode):
    """To the bit with the libraries of then, on processors whose scores were recorded."""
    recipe = dataclasses.replace(stored, product_check=stored.product_check.with_mode(mode))
    score = inspect(read(PHOTOS / name).pixels, recipe, backbone=backbone).score
    recorded = STORED.get(f"{processor_maker()} {torch.backends.cpu.get_cpu_capability()}")
    if recorded is not None and library_versions() == stored.provenance.versions:
        assert score == recorded[name]
    else:
        assert score == pytest.approx(next(iter(STORED.values()))[name], rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_older_recipe_judges_by_the_largest_raw_map_value(stored, backbone, tmp_path, name):
    save(stored, tmp_path / "again.zip")
    pixels, restored = read(PHOTOS / name).pixels, load(tmp_path / "again.zip")
    first, second = (inspect(pixels, recipe, backbone=backbone) for recipe in (stored, restored))
    assert (stored.live_values["area"], [view.scales for view in stored.views]) == (1, [{}])
    assert first.score == first.anomaly_map.max() == second.score
    assert first.verdict == stored.limits.decide(first.score)[0] == second.verdict
    assert np.array_equal(first.anomaly_map, second.anomaly_map)
    assert [region.box for region in first.regions] == [region.box for region in second.regions]


@pytest.mark.parametrize(
    ("mode", "by_region", "limit", "expected"),
    [
        ("warn", None, 0.0, [True]),
        (OFF, None, 0.0, [False]),
        (OFF, True, 1e9, [False]),
        (OFF, True, 0.0, [False, True]),
        ("warn", True, 0.0, [True, True]),
        ("warn", False, 0.0, [True]),
        (OFF, False, 1e9, [True]),
    ],
)
def test_the_network_runs_once_and_once_more_for_a_crop(stored, backbone, runs, mode, by_region, limit, expected):
    product_check, named = (
        stored.product_check.with_mode(mode),
        None if by_region is None else types(by_region=by_region),
    )
    recipe = dataclasses.replace(stored, product_check=product_check, limits=Limits(limit, limit), defect_types=named)
    inspect(read(PHOTOS / next(iter(NAMES))).pixels, recipe, backbone=backbone)
    assert runs == expected


@pytest.mark.parametrize("limit", [0.0, 1e9])
def test_a_stopped_photo_has_a_reason_and_no_defect_type(stored, backbone, limit):
    product_check = dataclasses.replace(stored.product_check, mode=STOP, limit=-1.0)
    named = types(by_region=False).with_limit(0.0)
    recipe = dataclasses.replace(stored, product_check=product_check, limits=Limits(limit, limit), defect_types=named)
    verdict = inspect(read(PHOTOS / next(iter(NAMES))).pixels, recipe, backbone=backbone)
    assert (verdict.verdict, verdict.reason, verdict.defect_type) == ("reject", Reason.OTHER_PRODUCT.text(), None)


def test_a_path_is_inspected_at_the_depth_that_was_taught(stored, backbone, tmp_path):
    recipe = dataclasses.replace(stored, depth=Depth.full(12))
    values = np.random.default_rng(0).integers(0, 4096, (64, 64)).astype(np.uint16)
    Image.fromarray(values).save(tmp_path / "part.png")
    by_path = inspect(tmp_path / "part.png", recipe, backbone=backbone)
    pixels = read(tmp_path / "part.png", recipe.depth).pixels
    assert by_path.score == LoadedRecipe(recipe, backbone).inspect(pixels).score
    with pytest.raises(ValueError, match=r"taught with 12-bit photos.*give the path of the photo"):
        inspect(read(tmp_path / "part.png").pixels, recipe, backbone=backbone)
