"""A method that was added by the guide, from a folder to a verdict: run by `test_guide.py`, where it is installed."""

import importlib
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.neighbors import LocalOutlierFactor

from inspect_core import recipe
from inspect_core.cli.commands import main
from inspect_core.images.photo_reader import read
from inspect_core.methods import fitted_method
from inspect_core.methods.registry import ALL, CANDIDATES, DEFAULT_METHOD, METHODS, OFFERED, SECOND
from inspect_core.recipe import inspect
from inspect_core.recipe_io.recipe_file import load
from inspect_core.tuning import detector_comparison

NEW = "local_outliers"


@pytest.fixture
def network(small_backbone, monkeypatch):
    """The small network in the place of the one that the app comes with."""
    named = replace(small_backbone, name="efficientnet_lite0")
    monkeypatch.setattr(fitted_method, "spec_of", lambda *_, **__: SimpleNamespace(presets={}))
    for module in (fitted_method, recipe):
        monkeypatch.setattr(module, "shared", lambda *_, **__: named)
    monkeypatch.setattr(detector_comparison, "COMPARISON_DEFECTS", 12)
    return named


def test_its_mathematics_is_that_of_the_library():
    rng = np.random.default_rng(0)
    good, new = rng.normal(size=(300, 8)).astype(np.float32), 2 * rng.normal(size=(50, 8)).astype(np.float32)
    actual = importlib.import_module(f"inspect_core.detectors.{NEW}").fit(good, k=12).score(new)
    expected = -LocalOutlierFactor(n_neighbors=12, novelty=True).fit(good).score_samples(new)
    torch.testing.assert_close(actual.numpy(), expected.astype(np.float32), rtol=1e-4, atol=1e-5)


def test_it_takes_its_place_among_the_others():
    assert NEW in METHODS
    assert NEW in OFFERED
    assert NEW in ALL
    assert NEW not in (*CANDIDATES, *SECOND, DEFAULT_METHOD), "a new folder is taught as before"


def test_it_is_taught_saved_inspected_with_and_evaluated(network, product, tmp_path, capsys):
    geometry = ["--size", "64x96", "--grid", "8x12", "--neighbours", "12", "--device", "cpu"]
    saved = tmp_path / "flange.zip"
    assert main(["fit", str(product), "--detector", NEW, *geometry, "--product-check", "off", "--out", str(saved)]) == 0
    loaded = load(saved)
    assert loaded.views[0].detector.k == 12
    known = {part.name: part.score for part in (*loaded.calibration_photos, *loaded.test_photos)}
    test_names = [name for name in known if name.startswith("test/")]
    assert test_names
    for name in test_names:
        assert inspect(read(product / name).pixels, loaded, backbone=network).score == known[name]

    table = tmp_path / "table.csv"
    assert main(["inspect", str(saved), str(product / "test"), "--csv", str(table)]) in (0, 1)
    assert len(table.read_text().splitlines()) == 1 + len(test_names)

    joined, figures = f"{DEFAULT_METHOD}+{NEW}", tmp_path / "figures.json"
    names = f"{NEW},{joined}"
    assert main(["evaluate", str(product), *geometry, "--compare", "--detectors", names, "--json", str(figures)]) == 0
    rows = {row["detector"]: row for row in json.loads(figures.read_text())}
    assert set(rows) == {NEW, joined}
    assert all(0 <= row["image_auroc"] <= 1 for row in rows.values())

    line = tmp_path / "line.zip"
    capsys.readouterr()
    assert main(["export", str(saved), "--out", str(line), "--photos", str(product)]) == 2
    assert f"“{METHODS[NEW].title}” cannot be exported" in capsys.readouterr().err
    assert not line.exists()
