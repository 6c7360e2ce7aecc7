import zipfile

import numpy as np
import pytest
import torch

from inspect_core.package import manifest
from inspect_core.records.recipe_file import load, save


@pytest.mark.parametrize("name", ["recipe", "recipe.zip"])
def test_everything_comes_back_and_scores_are_equal_to_the_bit(recipe, tmp_path, name):
    saved = save(recipe, tmp_path / name)
    opened = load(tmp_path / name)
    features = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 4, 3, 6)).astype(np.float32))
    for k in (1, 4, 5):
        assert torch.equal(opened.detector.score(features, k=k), recipe.detector.score(features, k=k))
    assert np.array_equal(opened.projection, recipe.projection)
    for field in ("product", "backbone", "grid", "pool", "nearest", "method", "live", "limits", "calibration"):
        assert getattr(opened, field) == getattr(recipe, field), field
    assert opened.provenance == recipe.provenance
    assert opened.digest == saved.digest


def test_folder_and_zip_hold_the_same_and_have_the_same_digest(recipe, tmp_path):
    assert save(recipe, tmp_path / "a").digest == save(recipe, tmp_path / "b.zip").digest
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        for name in archive.namelist():
            assert archive.read(name) == (tmp_path / "a" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(manifest.REQUIRED)


def test_the_triangle_is_packed_on_disk(recipe, tmp_path):
    save(recipe, tmp_path / "a")
    k, places = 5, 12
    triangle = 4 * places * k * (k + 1) // 2
    assert (tmp_path / "a" / manifest.ARRAYS).stat().st_size < triangle + 4 * (6 * k + places * k) + 1000


@pytest.mark.parametrize("name", ["recipe", "recipe.zip"])
def test_saving_again_replaces_the_old_one(recipe, tmp_path, name):
    first = save(recipe, tmp_path / name)
    from dataclasses import replace

    second = save(replace(recipe, product="other"), tmp_path / name)
    assert first.digest != second.digest
    assert load(tmp_path / name).product == "other"
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["recipe", "recipe.zip"])
def test_a_full_disk_leaves_the_old_recipe_and_no_rest(recipe, tmp_path, monkeypatch, name):
    from inspect_core.records import recipe_file

    old = save(recipe, tmp_path / name)

    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recipe_file, "_flush", full)
    with pytest.raises(OSError, match=r"not saved.*free some disk space"):
        save(recipe, tmp_path / name)
    assert load(tmp_path / name).digest == old.digest
    assert [path.name for path in tmp_path.iterdir()] == [name]
