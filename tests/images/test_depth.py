"""Photos of 10 to 16 bits in 16: found over the good photos, read alike ever after, refused where they are others."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from inspect_core.datasets.folders import scan
from inspect_core.images import photo_reader
from inspect_core.images.depth import DEPTHS, EIGHT, Depth, ValueStatistics, depth_of

SCENE = np.random.default_rng(0).uniform(0.2, 0.7, (40, 60))


def stored(bits, *, left=False, light=1.0):
    """(40, 60) uint16 as a camera of so many bits stores SCENE."""
    return (np.round(light * SCENE * (2**bits - 1)).astype(np.uint16)) << (16 - bits if left else 0)


def encoded(pixels, kind="PNG", **options):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


def depth_from(*photos):
    return depth_of([ValueStatistics.from_photo(photo) for photo in photos])


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("bits", DEPTHS[:-1])
def test_a_photo_is_as_bright_in_every_depth(bits, left):
    photo = stored(bits, left=left)
    depth = depth_from(photo, stored(bits, left=left, light=0.6))
    assert (depth.bits, depth.left_aligned, depth.is_full) == (bits, left, True)
    pixels = photo_reader.read_bytes(encoded(photo), "part.png", depth).pixels
    assert np.abs(pixels[:, :, 0] - 255 * SCENE).max() <= 0.5 + 255 / 2**bits


@given(st.integers(0, 2**16 - 1))
def test_the_full_range_of_16_bits_is_as_it_always_was(value):
    assert Depth.full(16).brightness(np.array([value], np.uint16)) == (value + 128) // 257


@given(st.integers(10, 16), st.booleans(), st.integers(0, 5))
def test_no_value_of_a_good_photo_lies_outside_the_depth_found(bits, left, seed):
    values = np.random.default_rng(seed).integers(0, 2**bits, (8, 9)).astype(np.uint16) << (16 - bits if left else 0)
    depth = depth_from(values.astype(np.uint16))
    depth.check("part", values.astype(np.uint16))
    assert depth.bits >= min(bits, int(values.max()).bit_length() if not left else bits)


TWELVE, LEFT = depth_from(stored(12)), depth_from(stored(12, left=True))


@pytest.mark.parametrize(
    ("depth", "photo", "reason"),
    [
        (TWELVE, stored(14), "it contains the value"),
        (TWELVE, stored(12, left=True), "it contains the value"),
        (TWELVE, stored(10, light=0.8), "brightest value"),
        (TWELVE, (255 * SCENE).astype(np.uint8), "stores 8 bits"),
        (LEFT, stored(14, left=True), "uses bits"),
        (LEFT, stored(16), "uses bits"),
        (EIGHT, stored(16), "stores 16 bits"),
    ],
)
def test_photo_of_another_depth_is_refused_with_a_remedy(depth, photo, reason):
    with pytest.raises(photo_reader.ImageError, match=f"{reason}.*; restore the camera settings"):
        photo_reader.read_bytes(encoded(photo), "part.png", depth)
    assert photo_reader.read_bytes(encoded(photo), "part.png").pixels.any()


def test_a_dim_lamp_stays_dim():
    depth = TWELVE.with_learned_window(ValueStatistics.from_photo(stored(12)))
    bright, dim = (
        photo_reader.read_bytes(encoded(stored(12, light=light)), "part.png", depth).pixels for light in (1, 0.7)
    )
    assert dim.mean() < 0.75 * bright.mean()


def test_learned_window_spreads_good_values_despite_hot_pixels():
    photo = (920 + 800 * SCENE).astype(np.uint16)
    photo[0, 0] = 4095
    depth = depth_from(photo).with_learned_window(ValueStatistics.from_photo(photo))
    assert 1030 < depth.black < 1080
    assert 1480 < depth.white < 1540
    pixels = photo_reader.read_bytes(encoded(photo), "part.png", depth).pixels
    assert np.ptp(pixels[:, :, 0]) > 200


@pytest.mark.parametrize("bits", [12, 16])
def test_photos_that_are_white_everywhere_still_give_a_window(bits):
    white = np.full((16, 16), 2**bits - 1, np.uint16)
    depth = depth_from(white).with_learned_window(ValueStatistics.from_photo(white))
    assert (depth.black, depth.white) == (2**bits - 2, 2**bits - 1)


def test_window_changes_the_photo_and_bits_can_only_increase():
    values, data, full = ValueStatistics.from_photo(stored(12)), encoded(stored(12)), TWELVE
    digests = {
        photo_reader.read_bytes(data, "part.png", depth).digest
        for depth in (None, full, full.with_learned_window(values))
    }
    assert len(digests) == 3
    assert full.with_bits(14, values) == Depth.full(14, min_peak=values.largest)
    with pytest.raises(ValueError, match="fill 12"):
        full.with_bits(10, values)


@pytest.mark.parametrize("depth", [{"bits": 11}, {"stored_bits": 8}, {"black": 4095}, {"white": 4096}])
def test_a_depth_that_cannot_be_is_refused(depth):
    sound = {"stored_bits": 16, "bits": 12, "left_aligned": False, "black": 0, "white": 4095}
    with pytest.raises(ValueError, match=r"depth|window"):
        Depth(**sound | depth)


def test_the_histogram_is_of_the_range_and_complete():
    for bits in DEPTHS:
        bars = depth_from(stored(bits)).histogram(ValueStatistics.from_photo(stored(bits)))
        assert sum(share for _, share in bars) == pytest.approx(1)
        assert bars[-1][0] < 2**bits
        assert sum(share > 0 for _, share in bars) > 6


def test_folder_depth_is_that_of_most_good_photos(tmp_path):
    rng = np.random.default_rng(1)
    (tmp_path / "good").mkdir()
    for number in range(6):
        photo = stored(12, light=rng.uniform(0.8, 1)) if number else (255 * SCENE).astype(np.uint8)
        (tmp_path / "good" / f"{number}.png").write_bytes(encoded(np.roll(photo, 7 * number, axis=1)))
    samples = scan(tmp_path)
    assert len(samples.good) == 5
    assert samples.skipped[0].name == "good/0.png"
    assert "8 bits" in samples.skipped[0].reason
    assert samples.depth.sentence().startswith("The photos have 12 bits, right-aligned in 16: 0 maps to black, 4,095")
    assert not samples.with_depth(learned=True).depth.is_full
    assert samples.with_depth(bits=14).good[0].depth.bits == 14
    for number in range(1, 6):
        (tmp_path / "good" / f"{number}.png").unlink()
    samples = scan(tmp_path)
    assert samples.depth == EIGHT
    assert samples.with_depth() == samples
    with pytest.raises(ValueError, match="16 bits only"):
        samples.with_depth(learned=True)


@pytest.mark.parametrize("tags", [{262: 32803}, {33422: b"\x00\x01\x01\x02"}])
def test_the_mosaic_of_a_colour_sensor_is_refused_by_name(tags):
    data = encoded(stored(12), "TIFF", tiffinfo={number: tag for number, tag in tags.items() if number != 262})
    if 262 in tags:
        data = data.replace(b"\x06\x01\x03\x00\x01\x00\x00\x00\x01\x00", b"\x06\x01\x03\x00\x01\x00\x00\x00\x23\x80")
    with pytest.raises(photo_reader.ImageError, match=r"Bayer.*; convert it to RGB"):
        photo_reader.read_bytes(data, "raw.tif")
