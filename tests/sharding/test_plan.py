"""What a worker is told: everything that decides a photo's features, and how a photo was looked at."""

import numpy as np
import pytest

from inspect_core.features.extraction import Look, Preparation
from inspect_core.images.alignment import Alignment, Range
from inspect_core.images.depth import Depth
from inspect_core.images.located import Located
from inspect_core.images.placement import Placement
from inspect_core.images.samples import Sample
from inspect_core.images.tiles import TilePlan
from inspect_core.sharding import container, photos, plan
from inspect_core.sharding.tasks import Refused

RANGES = {name: Range(-1.0, 2.0) for name in ("x", "y", "angle", "scale", "share", "correlation", "visible")}


@pytest.fixture
def alignment() -> Alignment:
    rng = np.random.default_rng(0)
    reference = rng.integers(0, 255, (24, 32, 3), np.uint8)
    mask = rng.random((24, 32)) > 0.3
    return Alignment(reference, mask, ~mask, (240, 320), True, RANGES, (180,), 9, 1)


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("aligned", [False, True])
def test_a_preparation_arrives_as_it_was(backbone, alignment, tiled: bool, aligned: bool) -> None:
    columns = np.random.default_rng(1).normal(size=(sum(backbone.tap_channels), 5)).astype(np.float32)
    looks = (Look(backbone.taps, columns), Look(backbone.taps[:1], None, 3))
    tiles = TilePlan((256, 384), backbone.size, 64, 32) if tiled else None
    grid = tiles.grid if tiles is not None else (8, 8)
    sent = Preparation(backbone, grid, looks, True, alignment if aligned else None, tiles)
    weights = plan.pack_weights(backbone)
    arrived = plan.unpack_preparation(plan.pack_preparation(sent), weights)
    assert arrived.keys == sent.keys
    assert plan.unpack_preparation(plan.pack_preparation(sent), weights) is arrived
    pixels = np.random.default_rng(2).integers(0, 255, (260, 390, 3), np.uint8)
    placement = Placement((260, 390))
    for one, other in zip(arrived.features(pixels, placement), sent.features(pixels, placement), strict=True):
        assert (one == other).all()


def test_other_weights_or_another_engine_are_refused(backbone) -> None:
    content = plan.pack_preparation(Preparation(backbone, (8, 8), ()))
    for word, value in (("weights", "0" * 64), ("engine", "an abacus")):
        facts, arrays = container.unpack(content)
        with pytest.raises(Refused, match="instead of"):
            plan.unpack_preparation(container.pack(facts | {word: value}, arrays), plan.pack_weights(backbone))


def test_how_a_photo_was_looked_at_arrives_to_the_bit(alignment) -> None:
    matrix = np.array([[1.0, 1 / 3, -2e-17], [0.1, np.nextafter(1, 2), 7.25]])
    located = Located(matrix, (260, 390), (240, 320), 0.9, 1 / 7, 1.0, ambiguous=True)
    for placement in (Placement((260, 390), located, alignment), Placement((5, 7))):
        content = container.pack(photos.placement_facts(placement))
        arrived = photos.placement_of(container.facts(content), alignment)
        assert arrived.photo == placement.photo
        assert arrived.alignment is placement.alignment
        if placement.located is not None:
            assert (arrived.located.matrix == matrix).all()
            rest = {name: value for name, value in vars(arrived.located).items() if name != "matrix"}
            assert rest == {name: value for name, value in vars(located).items() if name != "matrix"}


def test_a_photo_arrives_with_its_depth_and_any_name(tmp_path) -> None:
    sample = Sample(tmp_path / "a\udcff ü.png", "a\udcff ü.png", "good", (3, 4), depth=Depth.full(12))
    (facts,) = container.facts(container.pack(photos.facts_of([sample])))
    assert photos.sample_of(facts) == sample
    assert facts["stamps"] == [None, None]


@pytest.mark.parametrize("content", [b"", b"\xff" * 20, container.pack({"a": 1})[:-1], b"\x02\0\0\0\0\0\0\0{}junk"])
def test_what_is_no_container_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not facts and arrays"):
        container.unpack(content)
