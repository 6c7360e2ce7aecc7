"""Pixels, conventions and identity of images that are fine. Bad files: tests/hostile/test_images.py."""

import hashlib
import io

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image, ImageOps

from inspect_core.images import decode_memory, photo_reader
from tests.examples import examples

RGB = np.random.default_rng(0).integers(0, 256, (24, 31, 3), dtype=np.uint8)


def encoded(pixels, kind, **options):
    file = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("kind", "options"),
    [("BMP", {}), ("TIFF", {"compression": "tiff_lzw"}), ("TIFF", {"big_tiff": True}), ("WEBP", {"lossless": True})],
)
def test_lossless_formats_give_the_pixels_back(kind, options):
    assert np.array_equal(photo_reader.read_bytes(encoded(RGB, kind, **options), "part").pixels, RGB)


def test_result_is_read_only_named_and_compared_by_content(tmp_path):
    path = tmp_path / "part.png"
    path.write_bytes(encoded(RGB, "PNG"))
    picture = photo_reader.read(path)
    assert (picture.name, picture.pixels.dtype, picture.digest) == ("part.png", np.uint8, photo_reader.digest(RGB))
    assert picture == photo_reader.read_bytes(encoded(RGB, "BMP"), "part.png")
    with pytest.raises(ValueError, match="read-only"):
        picture.pixels[0, 0] = 0


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


@pytest.mark.parametrize(("orientation", "size"), [(1, (999, 1000)), (6, (1000, 999)), (8, (1000, 999))])
def test_thumbnail_gives_the_upright_size_of_a_reduced_jpeg(tmp_path, orientation, size):
    ramp = np.tile(np.linspace(0, 255, 1000).astype(np.uint8), (999, 1))
    path = tmp_path / "ramp.jpg"
    path.write_bytes(encoded(ramp, "JPEG", exif=turned(orientation)))
    actual = photo_reader.thumbnail(path, (16, 17))
    assert actual.size == size
    upright = Image.fromarray(photo_reader.read(path).pixels[:, :, 0])
    expected = np.asarray(upright.resize((17, 16), Image.Resampling.BOX))
    assert np.abs(actual.grey.astype(int) - expected).max() <= 2


def whole(data):
    """The upright image of a file and its RGB pixels, by Pillow on all of it: 257 levels of 16 bits make one of 8, and
    what is transparent is black.
    """
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    if upright.mode in ("I;16", "I;16B"):
        grey = ((np.asarray(upright).astype(np.uint32) + 128) // 257).astype(np.uint8)
        return upright, np.dstack([grey] * 3)
    composed = upright
    if upright.has_transparency_data:
        composed = Image.alpha_composite(Image.new("RGBA", upright.size, (0, 0, 0, 255)), upright.convert("RGBA"))
    return upright, np.asarray(composed.convert("RGB"))


ALPHA = np.arange(24 * 31, dtype=np.uint16).astype(np.uint8).reshape(24, 31)
DEEP = np.random.default_rng(1).integers(0, 65536, (24, 31), dtype=np.uint16)
KINDS = {
    "RGB": ("PNG", RGB, {}),
    "RGBA": ("PNG", np.dstack([RGB, ALPHA]), {}),
    "RGB, one colour transparent": ("PNG", RGB // 64, {"transparency": (1, 2, 3)}),
    "grey": ("PNG", RGB[:, :, 0], {}),
    "grey with alpha": ("PNG", Image.merge("LA", [Image.fromarray(RGB[:, :, 0]), Image.fromarray(ALPHA)]), {}),
    "bits": ("PNG", RGB[:, :, 0] > 127, {}),
    "palette": ("PNG", Image.fromarray(RGB).quantize(16), {}),
    "palette, one colour transparent": ("PNG", Image.fromarray(RGB).quantize(16), {"transparency": 3}),
    "16 bits": ("PNG", DEEP, {}),
    "16 bits, TIFF": ("TIFF", DEEP, {}),
    "16 bits, big-endian TIFF": ("TIFF", Image.frombytes("I;16B", (31, 24), DEEP.byteswap().tobytes()), {}),
    "TIFF": ("TIFF", RGB, {}),
    "TIFF with alpha": ("TIFF", np.dstack([RGB, ALPHA]), {}),
    "JPEG": ("JPEG", RGB, {}),
    "progressive JPEG": ("JPEG", RGB, {"progressive": True}),
    "WebP with alpha": ("WEBP", np.dstack([RGB, ALPHA]), {}),
}


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", KINDS)
def test_in_bands_every_value_is_that_of_the_whole_image(tmp_path, monkeypatch, kind, orientation):
    monkeypatch.setattr(decode_memory, "BAND", 100)
    coding, pixels, options = KINDS[kind]
    path = tmp_path / "part"
    path.write_bytes(encoded(pixels, coding, exif=turned(orientation), **options))
    upright, expected = whole(path.read_bytes())
    picture = photo_reader.read(path)
    assert np.array_equal(picture.pixels, expected)
    assert picture.pixels.flags.c_contiguous
    assert picture.digest == photo_reader.digest(expected)
    grey = upright if upright.mode == "L" else Image.fromarray(expected).convert("L")
    if coding != "JPEG":  # reduced while it is decoded
        thumbnail = photo_reader.thumbnail(path, (16, 17))
        assert thumbnail.size == expected.shape[:2]
        if "16 bits" in kind:
            stored = np.asarray(upright).astype(np.uint16)
            assert np.array_equal(thumbnail.grey, cv2.resize(stored, (17, 16), interpolation=cv2.INTER_AREA))
            assert (thumbnail.values.largest, thumbnail.values.histogram.sum()) == (stored.max(), stored.size)
        else:
            assert np.array_equal(thumbnail.grey, np.asarray(grey.resize((17, 16), Image.Resampling.BOX)))
        marked = np.asarray(upright) > 0 if "16 bits" in kind else expected.any(axis=-1)
        assert np.array_equal(photo_reader.read_mask(path, thumbnail.size), marked)


@given(
    hnp.arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40), st.just(3))),
    st.tuples(st.integers(1, 50), st.integers(1, 50)),
    st.integers(1, 300),
)
@settings(deadline=None, max_examples=examples(100))
def test_squash_in_bands_is_pillows_bilinear_to_the_bit(pixels, size, band):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode_memory, "BAND", band)
        squashed = photo_reader.squash(pixels, size)
    assert np.array_equal(squashed, np.asarray(Image.fromarray(pixels).resize(size[::-1], Image.Resampling.BILINEAR)))
    assert squashed.flags.writeable


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=4)))
@settings(deadline=None, max_examples=examples(30))
def test_digest_depends_on_values_shape_and_dtype_alone(pixels):
    by_hand = hashlib.sha256(f"|u1 {pixels.shape}".encode() + pixels.tobytes()).hexdigest()
    assert photo_reader.digest(pixels) == by_hand
    assert photo_reader.digest(np.asfortranarray(pixels)) == by_hand
    assert photo_reader.digest(pixels.reshape(-1)) != by_hand
    assert photo_reader.digest(pixels.astype(np.int16)) != by_hand


def test_squash_refuses_sizes_out_of_range_and_other_arrays():
    for size in ((0, 8), (8, -1), (8, photo_reader.MAX_SIDE + 1)):
        with pytest.raises(ValueError, match=r"size is .*height, width"):
            photo_reader.squash(RGB, size)
    for pixels in (RGB[:, :, 0], RGB.astype(np.float32), RGB[:, :, :2]):
        with pytest.raises(ValueError, match=r"pixels are .*\(H, W, 3\) uint8"):
            photo_reader.squash(pixels, (8, 8))


@given(hnp.arrays(np.bool_, (9, 11)), st.sampled_from([("L", 1), ("L", 255), ("I;16", 1), ("RGBA", 255)]))
@settings(deadline=None, max_examples=examples(30))
def test_every_value_above_zero_marks_a_mask(tmp_path_factory, marked, coding):
    mode, value = coding
    if mode == "RGBA":
        stored = Image.fromarray(np.dstack([np.full(marked.shape, 255, np.uint8)] * 3 + [marked * np.uint8(value)]))
    else:
        stored = Image.fromarray(marked.astype(np.uint16 if mode == "I;16" else np.uint8) * value)
    path = tmp_path_factory.mktemp("mask") / "mask.png"
    path.write_bytes(encoded(stored, "PNG"))
    assert np.array_equal(photo_reader.read_mask(path, (9, 11)), marked)


def test_a_mask_of_another_size_and_one_as_jpeg_are_refused(tmp_path):
    path = tmp_path / "mask.png"
    for kind, words in (("PNG", "the mask is 31 × 24 px but its photo is 24 × 31 px; "), ("JPEG", "JPEG.*PNG")):
        path.write_bytes(encoded(RGB[:, :, 0], kind))
        with pytest.raises(photo_reader.ImageError, match=f"mask.png: .*{words}"):
            photo_reader.read_mask(path, (31, 24))
