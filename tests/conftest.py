"""Shared by all tests: a recipe without a network, a workspace of its own for every test, and which tests are slow."""

import functools
import itertools
import os
import shutil
import stat
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from inspect_core.runtime.process_settings import set_up_process

REST_FIXTURES = {"backbone", "quick_backbone", "chromium", "unhurried"}
"""A real network, a browser, and what says of itself that it takes long: left out of `make test`, all but the walk."""
SLOW_FIXTURES = {*REST_FIXTURES, "small_backbone", "open_app"}
"""These, any network and the whole app: what `make check` does without."""

set_up_process()  # a twentieth of the time of all tests went into looking for cyclic garbage


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if SLOW_FIXTURES & set(fixtures):
            item.add_marker(pytest.mark.slow)
        if REST_FIXTURES & set(fixtures) and "walk" not in fixtures:
            item.add_marker(pytest.mark.rest)
        if item.get_closest_marker("forks") and not hasattr(os, "fork"):
            item.add_marker(pytest.mark.skip(reason="needs a system that can fork"))
    # A fork takes the longer the more its process holds, and that grows with every test.
    items.sort(key=lambda item: item.get_closest_marker("forks") is None)


@pytest.fixture(scope="session")
def unhurried() -> None:
    """Asked for by what takes long: real networks, workers, kills, studies. `make test-all` runs it."""


@pytest.fixture
def walk() -> None:
    """Asked for by the one walk in a browser that `make test` takes."""


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Fresh folders. That of `mktemp` looks at all that were made before: 3,000 tests would wait for it."""
    above = tmp_path_factory.mktemp("folders")
    return (above / str(number) for number in itertools.count())


@pytest.fixture
def tmp_path(folders: Iterator[Path]) -> Path:
    folder = next(folders)
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that a test has run stays `__main__`, and a process spawned by a later test would run it, and end."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(autouse=True)
def workspace(folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = next(folders)
    folder.mkdir()
    monkeypatch.setenv("LOUPE_WORKSPACE", str(folder))
    return folder


@pytest.fixture
def tree():
    """tree(folder) is all that stands below it: kind and content by path. Equal trees mean that nothing was changed."""

    def facts(path: Path) -> tuple:
        mode = path.lstat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else path.readlink() if path.is_symlink() else None
        return stat.S_IFMT(mode), content

    return lambda folder: {path.relative_to(folder).as_posix(): facts(path) for path in sorted(folder.rglob("*"))}


@pytest.fixture(scope="session")
def recipe():
    """A small recipe on a 4 x 3 grid of 6-channel features, k = 5."""
    from inspect_core.detectors import mahalanobis
    from inspect_core.features.patch_join import PatchFeatureSpec
    from inspect_core.methods.fitted_method import FittedMethod
    from inspect_core.recipe import Recipe
    from inspect_core.recipe_format.origin import BackboneChoice, Provenance
    from inspect_core.recipe_format.recorded_photos import CalibrationPhoto
    from inspect_core.verdict import Limits

    rng = np.random.default_rng(3)
    projection = mahalanobis.semi_orthogonal(6, 5, seed=1)
    detector = mahalanobis.fit(rng.normal(size=(20, 4, 3, 6)).astype(np.float32), projection=projection)
    return Recipe(
        product="tile",
        backbone=BackboneChoice("efficientnet_lite0", ("blocks.1.1",), "0" * 64, (64, 96)),
        grid=(4, 3),
        nearest_upsampling=False,
        views=(FittedMethod("mahalanobis", detector, PatchFeatureSpec(("blocks.1.1",), projection.numpy())),),
        live_values={"k": 4, "area": 12},
        limits=Limits(3.25, 4.5),
        calibration_photos=(CalibrationPhoto("a,b.png", "1" * 64, 2.5), CalibrationPhoto("ü.png", "2" * 64, 0.1 + 0.2)),
        provenance=Provenance("2026-11-21T10:00:00+00:00", author="Ana", reason="first", seeds={"detector": 1}),
    )


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small product in MVTec layout from the bundled flange: 14 good to learn from, 4 good and 3 defects to judge."""
    root = tmp_path_factory.mktemp("photos") / "flange"
    source = Path(__file__).parent.parent / "sample_data" / "flange"
    for name, count in (("train/good", 14), ("test/good", 4), ("test/scratch", 2), ("test/dent", 1)):
        (root / name).mkdir(parents=True)
        for photo in sorted((source / name).iterdir())[:count]:
            shutil.copy(photo, root / name)
    for kind in ("scratch", "dent"):
        (root / "ground_truth" / kind).mkdir(parents=True)
        for photo in (root / "test" / kind).iterdir():
            shutil.copy(source / "ground_truth" / kind / f"{photo.stem}_mask.png", root / "ground_truth" / kind)
    return root


@pytest.fixture(scope="session")
def operators_listed_once() -> Iterator[None]:
    """Every export first lists all operators there are: a quarter of the time that a small network's takes."""
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ONNXRegistry, "from_torchlib", staticmethod(functools.cache(ONNXRegistry.from_torchlib)))
        yield


@pytest.fixture(scope="session")
def graphs(tmp_path_factory: pytest.TempPathFactory, operators_listed_once: None) -> Path:
    """One folder of exported graphs for all the processes of a run: an export takes seconds."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "onnx"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def backbone():
    """EfficientNet-Lite0 at 128 x 128."""
    from inspect_core.features.backbones import load

    return load("efficientnet_lite0", size=(128, 128), device="cpu")


def exported_once(network):
    """The network, with and without its head exported by the first process that asks."""
    from inspect_core.runtime.atomic_write import lock

    with (network.cache / "lock").open("wb") as file:
        lock(file, wait=True)
        for run in (network.tap_maps, network.embed):
            run(np.zeros((1, *network.size, 3), np.uint8))
    return network


@pytest.fixture(scope="session")
def shared_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace for what several tests share."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="session")
def small_backbone(graphs: Path):
    """A network so small that its graph is exported in a second."""
    return small_network((64, 96), graphs)


@pytest.fixture(scope="session")
def small_backbone_with_picture(graphs: Path):
    """The same with the photo itself as a third tap."""
    return small_network((64, 96), graphs, taps=("first", "second", "picture"))


def small_network(size: tuple[int, int], graphs: Path, taps: tuple[str, ...] = ("first", "second")):
    """Two taps or three, an embedding and logits."""
    import torch
    from torch import nn

    from inspect_core.features.backbones import Backbone

    class SmallNetwork(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Sequential(nn.Conv2d(3, 10, 7, stride=4, padding=3), nn.Hardtanh())
            self.second = nn.Sequential(nn.Conv2d(10, 14, 3, stride=4, padding=1), nn.ReLU())
            self.fc = nn.Linear(14, 9)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return self.fc(self.second(self.first(images)).mean((2, 3)))

    torch.manual_seed(4)
    facts = {"name": "small", "taps": taps, "tap_channels": (10, 14, 3)[: len(taps)], "size": size, "classifier": "fc"}
    facts |= {"mean": (0.5,) * 3, "sd": (0.25,) * 3, "device": torch.device("cpu"), "engine": "ONNX Runtime"}
    return exported_once(Backbone(**facts, weight_digest="0" * 64, cache=graphs, _network=SmallNetwork().eval))


@pytest.fixture(scope="session")
def learned(product: Path, small_backbone, tmp_path_factory: pytest.TempPathFactory):
    """learned(method) is a recipe of the small product, with a product check, on the small network.

    That of "pca" takes the nearest cell, and the product check of that of "corp" is fused with the class scores.
    """
    from inspect_core.datasets.folders import scan
    from inspect_core.features.store import FeatureStore
    from inspect_core.methods.registry import known_parameters
    from inspect_core.study.study import Study
    from inspect_core.tuning.product_check_training import train_product_check

    store, photos = FeatureStore(tmp_path_factory.mktemp("features")), scan(product)
    parameters = {"k": 8, "M": 32, "patches": 300, "components": 6, "m": 6}

    @functools.cache
    def recipe(method: str):
        accepted = {name: value for name, value in parameters.items() if name in known_parameters(method)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            study = Study.from_photos(
                photos, small_backbone, store, method=method, grid=(8, 12), nearest=method == "pca", parameters=accepted
            ).fit()
            product_check = train_product_check(
                small_backbone, study.split.train, study.split.calibration, fused=method == "corp"
            )
            return study.recipe(product="flange", product_check=product_check)

    return recipe


@pytest.fixture(scope="session")
def exported_graphs():
    """`line_network.exported`, which exports what it was given before once."""
    from inspect_core.recipe_io import line_network

    exported, known = line_network.export_graphs, []

    def remembered(recipe, backbone):
        headless = recipe.product_check is None and recipe.defect_types is None
        needs = (recipe.views, recipe.live_values, headless, recipe.tiles, backbone)
        for key, graphs in known:
            if all(known_part is other for known_part, other in zip(key, needs, strict=True)):
                return dict(graphs)
        known.append((needs, exported(recipe, backbone)))
        return dict(known[-1][1])

    return remembered


@pytest.fixture
def small_recipe(learned, small_backbone, exported_graphs, monkeypatch: pytest.MonkeyPatch):
    """As `learned`, and its network is the one that an export finds."""
    from inspect_core.recipe_io import line_network, onnx_export

    monkeypatch.setattr(onnx_export, "loaded_backbone", lambda choice, device: small_backbone)
    monkeypatch.setattr(line_network, "export_graphs", exported_graphs)
    return learned
