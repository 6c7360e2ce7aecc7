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

from inspect_core.images import memory, read

RGB = np.random.default_rng(0).integers(0, 256, (24, 31, 3), dtype=np.uint8)


def encoded(pixels, kind, **options):
    file = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(file, kind, **options)
    return file.getvalue()


def pixels_of(data):
    return read.read_bytes(data, "part").pixels


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("BMP", {}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("TIFF", {"big_tiff": True}),
        ("WEBP", {"lossless": True}),
    ],
)
def test_lossless_formats_give_the_pixels_back(kind, options):
    assert np.array_equal(pixels_of(encoded(RGB, kind, **options)), RGB)


def test_jpeg_equals_pillows_decoding_whatever_its_extension(tmp_path):
    path = tmp_path / "really_a_jpeg.png"
    path.write_bytes(encoded(RGB, "JPEG", quality=90))
    assert np.array_equal(read.read(path).pixels, np.asarray(Image.open(path)))


def test_result_is_read_only_named_and_compared_by_content(tmp_path):
    path = tmp_path / "part.png"
    path.write_bytes(encoded(RGB, "PNG"))
    picture = read.read(path)
    assert (picture.name, picture.pixels.dtype, picture.digest) == ("part.png", np.uint8, read.digest(RGB))
    assert picture == read.read_bytes(encoded(RGB, "BMP"), "part.png")
    with pytest.raises(ValueError, match="read-only"):
        picture.pixels[0, 0] = 0


def test_mono_and_palette_become_three_channels():
    grey = RGB[:, :, 0]
    assert np.array_equal(pixels_of(encoded(grey, "PNG")), np.dstack([grey] * 3))
    bits = grey > 127
    assert np.array_equal(pixels_of(encoded(Image.fromarray(bits), "PNG")), np.dstack([bits * 255] * 3))
    palette = Image.fromarray(RGB).quantize(16)
    assert np.array_equal(pixels_of(encoded(palette, "PNG")), np.asarray(palette.convert("RGB")))


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_are_divided_by_257_and_never_stretched(kind):
    deep = np.arange(0, 65536, 97, dtype=np.uint16)[:675].reshape(25, 27)
    expected = np.floor(deep.astype(np.float64) / 257 + 0.5).astype(np.uint8)
    assert np.array_equal(pixels_of(encoded(deep, kind))[:, :, 1], expected)
    dark = np.full((16, 16), 1000, dtype=np.uint16)
    assert np.array_equal(np.unique(pixels_of(encoded(dark, kind))), [4])


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
def test_transparency_is_composited_on_the_background(kind):
    alpha = np.zeros(RGB.shape[:2], dtype=np.uint8)
    alpha[:, 10:20], alpha[:, 20:] = 128, 255
    data = encoded(np.dstack([RGB, alpha]), kind, **({"lossless": True, "exact": True} if kind == "WEBP" else {}))
    background = np.array(read.BACKGROUND, dtype=np.float64)
    fraction = alpha[:, :, None] / 255
    expected = fraction * RGB + (1 - fraction) * background
    assert np.abs(pixels_of(data) - expected).max() <= 1
    assert np.array_equal(pixels_of(data)[:, :10], np.broadcast_to(read.BACKGROUND, (24, 10, 3)))


def test_a_transparent_palette_colour_becomes_background():
    palette = Image.fromarray(np.repeat(np.arange(2, dtype=np.uint8), 128).reshape(16, 16), "P")
    palette.putpalette([200, 10, 10, 10, 200, 10])
    pixels = pixels_of(encoded(palette, "PNG", transparency=0))
    assert np.array_equal(pixels[0, 0], read.BACKGROUND)
    assert np.array_equal(pixels[-1, 0], [10, 200, 10])


UPRIGHT = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
    8: lambda a: np.rot90(a),
}


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


@pytest.mark.parametrize("orientation", UPRIGHT)
@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
def test_exif_orientation_is_applied_once(kind, orientation):
    data = encoded(RGB, kind, exif=turned(orientation), **({"lossless": True} if kind == "WEBP" else {}))
    assert np.array_equal(pixels_of(data), UPRIGHT[orientation](RGB))


@pytest.mark.parametrize(("orientation", "size"), [(1, (999, 1000)), (6, (1000, 999)), (8, (1000, 999))])
def test_thumbnail_gives_the_upright_size_of_a_jpeg_decoded_small(tmp_path, orientation, size):
    ramp = np.tile(np.linspace(0, 255, 1000).astype(np.uint8), (999, 1))
    path = tmp_path / "ramp.jpg"
    path.write_bytes(encoded(ramp, "JPEG", exif=turned(orientation)))
    found = read.thumbnail(path, (16, 17))
    grey = found.grey
    assert found.size == size
    assert grey.shape == (16, 17)
    upright = read.read(path).pixels[:, :, 0]
    expected = np.asarray(Image.fromarray(upright).resize((17, 16), Image.Resampling.BOX))
    assert np.abs(grey.astype(int) - expected).max() <= 2


def whole(data):
    """The upright image of a file and its RGB pixels, derived on the whole image at once."""
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
    "grey with alpha": ("PNG", Image.merge("LA", [Image.fromarray(RGB[:, :, 0]), Image.fromarray(ALPHA)]), {}),
    "bits": ("PNG", RGB[:, :, 0] > 127, {}),
    "palette": ("PNG", Image.fromarray(RGB).quantize(16), {}),
    "palette, one colour transparent": ("PNG", Image.fromarray(RGB).quantize(16), {"transparency": 3}),
    "16 bits": ("PNG", DEEP, {}),
    "16 bits, big-endian TIFF": ("TIFF", Image.frombytes("I;16B", (31, 24), DEEP.byteswap().tobytes()), {}),
    "TIFF": ("TIFF", RGB, {}),
    "JPEG": ("JPEG", RGB, {}),
    "progressive JPEG": ("JPEG", RGB, {"progressive": True}),
    "WebP with alpha": ("WEBP", np.dstack([RGB, ALPHA]), {}),
}


@pytest.mark.parametrize("orientation", UPRIGHT)
@pytest.mark.parametrize("kind", KINDS)
def test_in_bands_every_value_is_that_of_the_whole_image(tmp_path, monkeypatch, kind, orientation):
    monkeypatch.setattr(memory, "BAND", 100)
    coding, pixels, options = KINDS[kind]
    path = tmp_path / "part"
    path.write_bytes(encoded(pixels, coding, exif=turned(orientation), **options))
    upright, expected = whole(path.read_bytes())
    picture = read.read(path)
    assert np.array_equal(picture.pixels, expected)
    assert picture.pixels.flags.c_contiguous
    assert picture.digest == read.digest(expected)
    grey = upright if upright.mode == "L" else Image.fromarray(expected).convert("L")
    if coding != "JPEG":  # reduced while it is decoded
        look = read.thumbnail(path, (16, 17))
        size = look.size
        assert size == expected.shape[:2]
        if "16 bits" in kind:
            stored = np.asarray(upright).astype(np.uint16)
            assert np.array_equal(look.grey, cv2.resize(stored, (17, 16), interpolation=cv2.INTER_AREA))
            assert (look.values.largest, look.values.histogram.sum()) == (stored.max(), stored.size)
        else:
            assert np.array_equal(look.grey, np.asarray(grey.resize((17, 16), Image.Resampling.BOX)))
        marked = np.asarray(upright) > 0 if "16 bits" in kind else expected.any(axis=-1)
        assert np.array_equal(read.read_mask(path, size), marked)


@given(
    hnp.arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40), st.just(3))),
    st.tuples(st.integers(1, 50), st.integers(1, 50)),
    st.integers(1, 300),
)
@settings(deadline=None, max_examples=100)
def test_squash_in_bands_is_pillows_bilinear_to_the_bit(pixels, size, band):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "BAND", band)
        squashed = read.squash(pixels, size)
    assert np.array_equal(squashed, np.asarray(Image.fromarray(pixels).resize(size[::-1], Image.Resampling.BILINEAR)))
    assert squashed.flags.writeable


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=4)))
@settings(deadline=None, max_examples=30)
def test_digest_depends_on_values_shape_and_dtype_alone(pixels):
    by_hand = hashlib.sha256(f"|u1 {pixels.shape}".encode() + pixels.tobytes()).hexdigest()
    assert read.digest(pixels) == by_hand
    assert read.digest(np.asfortranarray(pixels)) == by_hand
    assert read.digest(pixels.reshape(-1)) != by_hand
    assert read.digest(pixels.astype(np.int16)) != by_hand


def test_squash_averages_what_it_reduces():
    stripes = np.zeros((64, 64, 3), dtype=np.uint8)
    stripes[:, ::2] = 200
    assert np.abs(read.squash(stripes, (8, 8))[2:-2, 2:-2].astype(int) - 100).max() <= 1


def test_squash_refuses_sizes_out_of_range_and_other_arrays():
    for size in ((0, 8), (8, -1), (8, read.MAX_SIDE + 1)):
        with pytest.raises(ValueError, match=r"size is .*height, width"):
            read.squash(RGB, size)
    for pixels in (RGB[:, :, 0], RGB.astype(np.float32), RGB[:, :, :2]):
        with pytest.raises(ValueError, match=r"pixels are .*\(H, W, 3\) uint8"):
            read.squash(pixels, (8, 8))


@given(hnp.arrays(np.bool_, (9, 11)), st.sampled_from([("L", 1), ("L", 255), ("I;16", 1), ("RGBA", 255)]))
@settings(deadline=None, max_examples=30)
def test_every_value_above_zero_marks_a_mask(tmp_path_factory, marked, coding):
    mode, value = coding
    if mode == "RGBA":
        stored = Image.fromarray(np.dstack([np.full(marked.shape, 255, np.uint8)] * 3 + [marked * np.uint8(value)]))
    else:
        stored = Image.fromarray(marked.astype(np.uint16 if mode == "I;16" else np.uint8) * value)
    path = tmp_path_factory.mktemp("mask") / "mask.png"
    path.write_bytes(encoded(stored, "PNG"))
    assert np.array_equal(read.read_mask(path, (9, 11)), marked)


@pytest.mark.parametrize(
    ("kind", "size", "words"),
    [
        ("PNG", (31, 24), "mask.png: the mask is 31 × 24 px but its image is 24 × 31 px; "),
        ("JPEG", (24, 31), "JPEG.*PNG"),
    ],
)
def test_a_mask_of_another_size_and_one_as_jpeg_are_refused(tmp_path, kind, size, words):
    path = tmp_path / "mask.png"
    path.write_bytes(encoded(RGB[:, :, 0], kind))
    with pytest.raises(read.ImageError, match=words):
        read.read_mask(path, size)
