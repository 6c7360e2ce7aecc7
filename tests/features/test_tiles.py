"""Features by tiles: those of the whole photo through the same network, without a seam."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.images.photo_reader import read, squash
from inspect_core.images.tiles import TilePlan


class LocalNetwork(nn.Module):
    """Sees eight pixels beyond a cell of 4, and less than 32 in all; pads with zeros as networks do."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 10, 5, stride=4, padding=2), nn.Hardtanh())
        self.second = nn.Sequential(nn.Conv2d(10, 14, 3, stride=2, padding=1), nn.ReLU())
        self.fc = nn.Linear(14, 9)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.fc(self.second(self.first(images)).mean((2, 3)))


@pytest.fixture(scope="module")
def network() -> nn.Module:
    torch.manual_seed(4)
    return LocalNetwork().eval()


@pytest.fixture(scope="module")
def sized(network, tmp_path_factory):
    cache = tmp_path_factory.mktemp("graphs")

    def backbone_at(size: tuple[int, int]) -> Backbone:
        pixels = {"size": size, "mean": (0.5, 0.5, 0.5), "sd": (0.25, 0.25, 0.25)}
        runs = {"device": torch.device("cpu"), "engine": "ONNX Runtime", "cache": cache, "_network": network.eval}
        taps = {"taps": ("first", "second"), "tap_channels": (10, 14), "classifier": "fc"}
        return Backbone(name="local", weight_digest="0" * 64, **taps, **pixels, **runs)

    return backbone_at


LOOKS = (PatchFeatureSpec(("first", "second")), PatchFeatureSpec(("second",), np.eye(14, 5, dtype=np.float32), pool=3))
PHOTO = np.random.default_rng(1).integers(0, 256, (224, 288, 3)).astype(np.uint8)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
@pytest.mark.parametrize("cell", [8, 16, 32])
def test_tiles_give_what_the_whole_photo_gives(sized, cell):
    """A network that sees no farther than half the overlap: equal to rounding, at borders and cuts alike."""
    plan = TilePlan((224, 288), (96, 128), 64, cell)
    tiled = FeatureExtractor(sized((96, 128)), plan.grid, LOOKS, tiles=plan)
    whole = FeatureExtractor(sized((224, 288)), plan.grid, LOOKS)
    assert len(plan.tiles) > 6
    assert tiled.shapes == whole.shapes
    for actual, expected in zip(tiled.features(PHOTO), whole.features(PHOTO), strict=True):
        assert actual.shape == expected.shape
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_a_network_that_pads_shows_at_cuts_without_overlap(sized):
    """What the overlap is for: the test above would fail without it."""
    plan = TilePlan((192, 288), (96, 96), 0, 8)
    tiled = FeatureExtractor(sized((96, 96)), plan.grid, LOOKS, tiles=plan)
    whole = FeatureExtractor(sized((192, 288)), plan.grid, LOOKS)
    difference = (tiled.features(PHOTO)[0] - whole.features(PHOTO)[0]).abs().amax(dim=(0, 3))
    assert difference[12].min() > 1e-3
    assert difference[4:8, 4:8].max() < 1e-5


@pytest.mark.slow
def test_the_features_do_not_depend_on_how_many_tiles_go_at_once(sized, monkeypatch):
    plan = TilePlan((224, 288), (96, 128), 64)
    extractor = FeatureExtractor(sized((96, 128)), plan.grid, LOOKS, tiles=plan)
    single = extractor.features(PHOTO)
    monkeypatch.setattr(Backbone, "at_once", 4)
    for first, other in zip(single, extractor.features(PHOTO), strict=True):
        assert torch.equal(first, other)


@pytest.mark.slow
def test_embedding_and_logits_are_those_of_the_whole_photo(sized):
    plan = TilePlan((224, 288), (96, 128), 64)
    tiled = FeatureExtractor(sized((96, 128)), plan.grid, LOOKS, tiles=plan)
    squashed = FeatureExtractor(sized((96, 128)), (3, 4), LOOKS)

    def described(extractor):
        return extractor.describe([extractor.network_input(PHOTO)], [extractor.whole_network_input(PHOTO)])

    features, embedding, logits = described(tiled)
    assert all(torch.equal(first, other) for first, other in zip(features, tiled.features(PHOTO), strict=True))
    for first, other in zip((embedding, logits), described(squashed)[1:], strict=True):
        assert np.array_equal(first, other)


@pytest.mark.parametrize("change", [{"size": (192, 288)}, {"overlap": 0}, {"cell": 16}, {}])
def test_stored_features_are_those_of_the_plan(sized, change):
    plan = TilePlan((224, 288), (96, 128), 64)
    other = replace(plan, **change) if change else None
    backbone = sized((96, 128))
    keys = [
        FeatureExtractor(backbone, (7, 9) if used is None else used.grid, LOOKS, tiles=used).keys
        for used in (plan, other)
    ]
    assert not set(keys[0]) & set(keys[1])


def test_a_plan_for_another_network_or_grid_is_refused(sized):
    plan = TilePlan((224, 288), (96, 128), 64)
    for size, grid in (((96, 96), plan.grid), ((96, 128), (32, 32))):
        with pytest.raises(ValueError, match="the network takes"):
            FeatureExtractor(sized(size), grid, LOOKS, tiles=plan)


@pytest.mark.parametrize("cell", [8, 16, 32])
def test_shifted_tiles_show_no_seam(backbone, product, cell):
    """The same places of a photo through a real network, cut 32 px further on.

    Differences are in what cells differ by from each other: .2 with an overlap, .5 at most; beyond 1 without.
    """
    photo = read(next(product.rglob("*.jpg"))).pixels
    large = squash(photo, (416, 480))
    looks = (PatchFeatureSpec(backbone.taps),)
    apart = {}
    for overlap in (0, 64):
        plan = TilePlan((384, 448), (128, 128), overlap, cell)
        extractor = FeatureExtractor(backbone, plan.grid, looks, tiles=plan)
        first, second = (extractor.features(large[by : by + 384, by : by + 448])[0][0] for by in (0, 32))
        step, inner = 32 // cell, slice(64 // cell, -64 // cell)
        here, there = first[step:, step:][inner, inner], second[:-step, :-step][inner, inner]
        spread = (here - here.mean((0, 1))).norm(dim=-1).mean()
        apart[overlap] = ((here - there).norm(dim=-1) / spread).flatten()
    assert apart[64].median() < 0.3
    assert apart[64].max() < 0.5
    assert apart[0].max() > 1
