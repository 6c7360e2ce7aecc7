import json
import os
import zipfile
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from inspect_core.detectors import cop_corp
from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.images.depth import EIGHT, Depth
from inspect_core.images.photo_quality import QualityRange
from inspect_core.images.photo_setup import SetupRange, measure_setup
from inspect_core.methods.fitted_method import FittedMethod, joined_errors
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_format.fields import SCHEMA
from inspect_core.recipe_format.zipped import zipped
from inspect_core.recipe_io import recipe_file
from inspect_core.recipe_io.recipe_difference import in_words
from inspect_core.recipe_io.recipe_file import files_of, load, save, write
from inspect_core.scoring.local_scale import GoodMaps


@pytest.mark.parametrize("name", ["recipe", "recipe.zip"])
def test_everything_comes_back_and_scores_are_equal_to_the_bit(recipe, tmp_path, name):
    saved = save(recipe, tmp_path / name)
    opened = load(tmp_path / name)
    features = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 4, 3, 6)).astype(np.float32))
    for k in (1, 4, 5):
        assert torch.equal(opened.views[0].detector.score(features, k=k), recipe.views[0].detector.score(features, k=k))
    (ours,), (theirs,) = opened.views, recipe.views
    assert (ours.spec.digest, ours.scales) == (theirs.spec.digest, {})
    for field in (
        "product",
        "backbone",
        "grid",
        "nearest_upsampling",
        "method",
        "live_values",
        "limits",
        "calibration_photos",
    ):
        assert getattr(opened, field) == getattr(recipe, field), field
    assert opened.provenance == recipe.provenance
    assert opened.digest == saved.digest


def test_two_views_restore_to_the_bit_with_all_scales(recipe, tmp_path):
    rng = np.random.default_rng(5)
    columns = np.linalg.qr(rng.normal(size=(6, 4)))[0].astype(np.float32)
    cop = cop_corp.fit_cop(rng.normal(size=(300, 4)).astype(np.float32))
    views = []
    for view in (*recipe.views, FittedMethod("cop", cop, PatchFeatureSpec(("blocks.1.1",), columns, pool=3))):
        maps = rng.gamma(2, size=(len(view.stops), 9, *recipe.grid))
        scales = {
            stop: replace(GoodMaps.from_errors(map_at_stop).finish((64, 96)), photo_level=0.1, reach=0.4)
            for stop, map_at_stop in zip(view.stops, maps, strict=True)
        }
        views.append(replace(view, scales=scales))
    joined = replace(recipe, views=tuple(views), live_values={"k": 3, "q": 2, "area": 40})
    save(joined, tmp_path / "r.zip")
    opened = load(tmp_path / "r.zip")
    assert (opened.method, opened.live_values) == ("mahalanobis+cop", joined.live_values)
    for ours, theirs in zip(opened.views, views, strict=True):
        assert (ours.spec.digest, ours.stops) == (theirs.spec.digest, theirs.stops)
        for stop, scale in theirs.scales.items():
            restored = ours.scales[stop]
            assert (restored.level, restored.spread) == (scale.level, scale.spread)
            assert (restored.photo_level, restored.reach) == (0.1, 0.4)
            assert np.array_equal(restored.centre, scale.centre)
            assert np.array_equal(restored.gain, scale.gain)
    features = [torch.from_numpy(rng.normal(size=(1, 4, 3, width)).astype(np.float32)) for width in (5, 4)]
    for k, q in ((1, 1), (3, 2), (5, 3)):
        live = {"k": k, "q": q}
        assert np.array_equal(joined_errors(opened.views, [features], live), joined_errors(views, [features], live))


def refused(files: dict[str, bytes], path, reason: str, **changed: object) -> None:
    """A recipe of these files, with other fields, is refused."""
    document = json.loads(files[recipe_package.RECIPE]) | changed
    write(files | {recipe_package.RECIPE: json.dumps(document).encode()}, path)
    with pytest.raises(recipe_package.RecipeError, match=reason):
        load(path)


@pytest.mark.parametrize("depth", [None, EIGHT, Depth(16, 12, True, 160, 60_000, 41_000)])
def test_the_depth_comes_back(recipe, tmp_path, depth):
    save(replace(recipe, depth=depth), tmp_path / "r.zip")
    assert load(tmp_path / "r.zip").depth == depth


@pytest.mark.parametrize(
    ("depth", "reason"),
    [
        ({"bits": 11}, "depth.bits"),
        ({"black": 5000}, "the window is 5000 to 4095"),
        ({"white": 60_000}, "outside 0 to 4095"),
        ({"stored_bits": 8}, "8 in 8"),
        ({"gamma": 2.2}, "unknown field"),
    ],
)
def test_a_depth_that_cannot_be_is_refused(recipe, tmp_path, depth, reason):
    full = Depth.full(12)
    refused(files_of(replace(recipe, depth=full)), tmp_path / "r", f"r: .*{reason}", depth=asdict(full) | depth)


def test_absent_depth_and_scale_are_stored_and_never_guessed(recipe, tmp_path):
    files = files_of(recipe)
    document = json.loads(files[recipe_package.RECIPE])
    assert (document["schema"], document["depth"], document["mm_per_pixel"]) == (SCHEMA, None, None)
    write(files, tmp_path / "r")
    assert (load(tmp_path / "r").depth, load(tmp_path / "r").mm_per_pixel) == (None, None)
    for name in ("depth", "mm_per_pixel", "challenge_parts", "quality", "alignment"):
        less = {other: value for other, value in document.items() if other != name}
        write(files | {recipe_package.RECIPE: json.dumps(less).encode()}, tmp_path / "r")
        with pytest.raises(recipe_package.RecipeError, match=f"lacks the field '{name}'"):
            load(tmp_path / "r")


def test_the_quality_range_comes_back(recipe, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    measured = QualityRange((0.5, 2.0), (90.0, 110.0), (0.3, 0.4))
    for quality in (measured, replace(measured, setup=SetupRange.from_setups([measure_setup(pixels, pixels)]))):
        save(replace(recipe, quality=quality), tmp_path / "new")
        assert load(tmp_path / "new").quality == quality
    for wrong in ([3.0, 1.0], [1.0], "1", None):
        spoiled = {"noise": wrong, "brightness": [0, 1], "sharpness": [0, 1], "setup": None}
        message = r"quality\.noise.*two numbers, the smaller first"
        refused(files_of(recipe), tmp_path / "old", message, quality=spoiled)


def test_the_scale_comes_back_and_is_told_in_words(recipe, tmp_path):
    scaled = replace(recipe, mm_per_pixel=0.05)
    assert load(save(scaled, tmp_path / "r") and tmp_path / "r").mm_per_pixel == 0.05
    assert in_words(scaled)["Scale"] == "0.05 mm per pixel"
    assert scaled.with_challenge((), author="a").mm_per_pixel == 0.05
    refused(files_of(recipe), tmp_path / "odd", "mm_per_pixel", mm_per_pixel=-1.0)


def test_a_folder_is_zipped_whatever_the_dates_of_its_files(recipe, tmp_path):
    digest = save(recipe, tmp_path / "a").digest
    before = zipped(tmp_path / "a")
    for file in (tmp_path / "a").iterdir():
        os.utime(file, (0, 0))
    (tmp_path / "b.zip").write_bytes(zipped(tmp_path / "a"))
    assert load(tmp_path / "b.zip").digest == digest
    assert zipped(tmp_path / "b.zip") == before


def test_folder_and_zip_hold_the_same_and_have_the_same_digest(recipe, tmp_path):
    assert save(recipe, tmp_path / "a").digest == save(recipe, tmp_path / "b.zip").digest
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        for name in archive.namelist():
            assert archive.read(name) == (tmp_path / "a" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(recipe_package.REQUIRED)


def test_the_triangle_is_packed_on_disk(recipe, tmp_path):
    save(recipe, tmp_path / "a")
    k, places = 5, 12
    triangle = 4 * places * k * (k + 1) // 2
    assert (tmp_path / "a" / recipe_package.ARRAYS).stat().st_size < triangle + 4 * (6 * k + places * k) + 1000


@pytest.mark.parametrize("name", ["recipe", "recipe.zip"])
def test_saving_replaces_the_old_one_and_a_full_disk_leaves_it(recipe, tmp_path, monkeypatch, name):
    first = save(recipe, tmp_path / name)
    second = save(replace(recipe, product="other"), tmp_path / name)
    assert first.digest != second.digest

    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recipe_file, "_flush", full)
    with pytest.raises(OSError, match=r"not saved.*free some disk space"):
        save(recipe, tmp_path / name)
    assert (load(tmp_path / name).product, load(tmp_path / name).digest) == ("other", second.digest)
    assert [path.name for path in tmp_path.iterdir()] == [name]
