"""Shared by all tests: a recipe without a network, a workspace of its own for every test, and which tests are slow."""

import functools
import shutil
import stat
import warnings
from pathlib import Path

import numpy as np
import pytest

SLOW_FIXTURES = {"backbone", "chromium", "open_app"}
"""A network, a browser, the whole app: what `make check` does without."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SLOW_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def workspace(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
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
    from inspect_core.features.extraction import Look
    from inspect_core.package.known_parts import Calibrated
    from inspect_core.recipe import BackboneChoice, Provenance, Recipe
    from inspect_core.verdict import Limits
    from inspect_core.view import View

    rng = np.random.default_rng(3)
    projection = mahalanobis.semi_orthogonal(6, 5, seed=1)
    detector = mahalanobis.fit(rng.normal(size=(20, 4, 3, 6)).astype(np.float32), projection=projection)
    return Recipe(
        product="tile",
        backbone=BackboneChoice("efficientnet_lite0", ("blocks.1.1",), "0" * 64, (64, 96)),
        grid=(4, 3),
        nearest=False,
        views=(View("mahalanobis", detector, Look(("blocks.1.1",), projection.numpy())),),
        live={"k": 4, "area": 12},
        limits=Limits(3.25, 4.5),
        calibration=(Calibrated("a,b.png", "1" * 64, 2.5), Calibrated("ü.png", "2" * 64, 0.1 + 0.2)),
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
def backbone(tmp_path_factory: pytest.TempPathFactory):
    """EfficientNet-Lite0 at 128 x 128, exported once for the whole run."""
    from inspect_core.features.backbones import load

    return load("efficientnet_lite0", size=(128, 128), device="cpu", cache=tmp_path_factory.mktemp("graphs"))


@pytest.fixture
def exported(backbone, workspace: Path) -> None:
    """The workspace holds the exports of `backbone`, with and without its head, as after a first start."""
    for run in (backbone.tap_maps, backbone.embed):
        run(np.zeros((1, *backbone.size, 3), np.uint8))
    shutil.copytree(backbone.cache, workspace / "onnx")


@pytest.fixture(scope="session")
def small_backbone(tmp_path_factory: pytest.TempPathFactory):
    """A network so small that its graph is exported in a second: two taps, an embedding and logits."""
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
    return Backbone(
        name="small", taps=("first", "second"), tap_channels=(10, 14), tap_cells=((16, 24), (4, 6)), strides=(4, 16),
        size=(64, 96), mean=(0.5, 0.5, 0.5), sd=(0.25, 0.25, 0.25), device=torch.device("cpu"), engine="ONNX Runtime",
        weight_digest="0" * 64, classifier="fc", cache=tmp_path_factory.mktemp("graphs"),
        _network=SmallNetwork().eval,
    )  # fmt: skip


@pytest.fixture(scope="session")
def learned(product: Path, small_backbone, tmp_path_factory: pytest.TempPathFactory):
    """learned(method, nearest, fused) is a recipe of the small product, with a product check, on the small network."""
    from inspect_core.features.store import Store
    from inspect_core.images.folders import scan
    from inspect_core.methods.table import known_parameters
    from inspect_core.study.study import Study
    from inspect_core.tuning.guard_training import train_guard

    store, photos = Store(tmp_path_factory.mktemp("features")), scan(product)
    given = {"k": 8, "M": 32, "patches": 300, "components": 6, "m": 6}

    @functools.cache
    def recipe(method: str, nearest: bool = False, fused: bool = False):
        own = {name: value for name, value in given.items() if name in known_parameters(method)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            study = Study(
                photos, small_backbone, store, method=method, grid=(8, 12), nearest=nearest, parameters=own
            ).fit()
            guard = train_guard(small_backbone, study.split.fit, study.split.calibrate, fused=fused)
            return study.recipe(product="flange", guard=guard)

    return recipe


@pytest.fixture
def small_recipe(learned, small_backbone, monkeypatch: pytest.MonkeyPatch):
    """As `learned`, and its network is the one that an export finds."""
    from inspect_core.records import onnx_export

    monkeypatch.setattr(onnx_export, "loaded_backbone", lambda choice, device: small_backbone)
    return learned
