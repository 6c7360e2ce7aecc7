"""What a worker is told, and what is kept of its answers: everything, to the bit."""

import json
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
import safetensors.numpy

from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.images.alignment import Alignment, ValueRange
from inspect_core.images.part_pose import PartPose
from inspect_core.images.photo_quality import PhotoQuality
from inspect_core.images.placement import Placement
from inspect_core.images.tiles import TilePlan
from inspect_core.runtime.serialisation import pack, unpack
from inspect_core.sharding.executor import Refused
from inspect_core.sharding.study_workers import KINDS, ShardResult
from inspect_core.sharding.transport import SentBackbone, SentExtractor, extractor_of
from inspect_core.study.photo_features import PhotoNotes

RANGES = {name: ValueRange(-1.0, 2.0) for name in ("x", "y", "angle", "scale", "share", "correlation", "visible")}


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
    looks = (PatchFeatureSpec(backbone.taps, columns), PatchFeatureSpec(backbone.taps[:1], None, 3))
    tiles = TilePlan((256, 384), backbone.size, 64, 32) if tiled else None
    grid = tiles.grid if tiles is not None else (8, 8)
    sent = FeatureExtractor(backbone, grid, looks, True, alignment if aligned else None, tiles)
    pixels, placement = np.random.default_rng(2).integers(0, 255, (260, 390, 3), np.uint8), Placement((260, 390))
    expected = sent.features(pixels, placement)  # which leaves behind what must not be sent
    content = pickle.dumps(SentExtractor.from_extractor(sent, SentBackbone.from_backbone(backbone)))
    arrived = extractor_of(pickle.loads(content))
    assert arrived.keys == sent.keys
    assert extractor_of(pickle.loads(content)).backbone is arrived.backbone
    for first, other in zip(arrived.features(pixels, placement), expected, strict=True):
        assert (first == other).all()


@pytest.mark.parametrize("change", [{"weight_digest": "0" * 64}, {"engine": "an abacus"}])
def test_other_weights_or_another_engine_are_refused(backbone, change) -> None:
    network = replace(SentBackbone.from_backbone(backbone), **change)
    with pytest.raises(Refused, match="instead of"):
        extractor_of(SentExtractor.from_extractor(FeatureExtractor(backbone, (8, 8), ()), network))


def test_what_is_kept_comes_back_to_the_bit() -> None:
    matrix = np.array([[1.0, 1 / 3, -2e-17], [0.1, np.nextafter(1, 2), 7.25]])
    located = PartPose(matrix, (260, 390), (240, 320), 0.9, 1 / 7, 1.0, ambiguous=True)
    name, errors = "a\udcff ü.png", [[np.array([[[np.float32(1 / 3)]]])], []]
    quality = PhotoQuality(1 / 3, 0.1, 2.5, 0.0, 1.0)
    placements = {name: ("a" * 64, Placement((260, 390), located)), "c": ("b" * 64, Placement((5, 7)))}
    notes = PhotoNotes(placements, {name: quality}, damaged={"b": "lost"})
    result = unpack(pack(ShardResult(notes, [(name, errors), {3: np.array(5)}], ["c"])), KINDS)
    assert (result.notes.damaged, result.notes.quality, result.unreadable_masks) == (
        {"b": "lost"},
        {name: quality},
        ["c"],
    )
    scored, scalar = result.content
    assert (scalar[3].shape, scalar[3]) == ((), 5)
    assert scored == (name, errors)
    assert [(digest, placement.photo_size) for digest, placement in result.notes.placements.values()] == [
        ("a" * 64, (260, 390)), ("b" * 64, (5, 7)),
    ]  # fmt: skip
    assert result.notes.placements["c"][1].pose is None
    for field in fields(PartPose):
        assert np.array_equal(getattr(result.notes.placements[name][1].pose, field.name), getattr(located, field.name))


@pytest.mark.parametrize("content", [b"", b"\xff" * 20, pack({"a": 1})[:-1], b"\x02\0\0\0\0\0\0\0{}junk"])
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not facts and arrays"):
        unpack(content, KINDS)


def test_only_what_is_named_is_made() -> None:
    with pytest.raises(KeyError, match="Range"):
        unpack(pack(ValueRange(0.0, 1.0)), KINDS)


def test_a_field_that_was_not_written_has_its_default() -> None:
    """And one that a later version wrote is refused: a file is never read by the order of its fields."""
    notes, first_field = pack(PhotoNotes(damaged={"b": "lost"})), fields(PhotoNotes)[0].name
    length = int.from_bytes(notes[:8], "little")
    document = json.loads(notes[8 : 8 + length])
    (written,) = document.values()
    del written[first_field]
    assert vars(unpack(_as_packed(document), KINDS)) == vars(PhotoNotes(damaged={"b": "lost"}))
    written["of a later version"] = 1
    with pytest.raises(KeyError, match="later"):
        unpack(_as_packed(document), KINDS)


def _as_packed(document: dict) -> bytes:
    text = json.dumps(document).encode()
    return len(text).to_bytes(8, "little") + text + safetensors.numpy.save({})
