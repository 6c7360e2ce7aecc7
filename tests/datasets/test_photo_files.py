"""Photo files as cameras and tools write them, drawn by hand where no library writes them."""

import struct

import cv2
import numpy as np
import pytest
from PIL import Image

from inspect_core.datasets.folders import scan
from inspect_core.images.header import EXTENSIONS
from inspect_core.images.mosaic import is_mosaic
from inspect_core.images.photo_reader import ImageError, read, read_mask

RNG = np.random.default_rng(5)
PHOTO = cv2.resize(RNG.integers(0, 256, (6, 8, 3), np.uint8), (64, 48), interpolation=cv2.INTER_CUBIC)
GREY = PHOTO[..., 1]


def tiff(*pages):
    """A TIFF of (NewSubfileType, (H, W) uint8) pages."""
    content = bytearray(b"II*\0\0\0\0\0")
    where_next = 4
    for kind, pixels in pages:
        data_at = len(content)
        content += pixels.tobytes() + b"\0" * (pixels.size % 2)
        struct.pack_into("<I", content, where_next, len(content))
        height, width = pixels.shape
        tags = [(254, 4, kind), (256, 4, width), (257, 4, height), (258, 3, 8), (259, 3, 1), (262, 3, 1)]
        tags += [(273, 4, data_at), (277, 3, 1), (278, 4, height), (279, 4, pixels.size)]
        content += struct.pack("<H", len(tags))
        for tag, form, value in tags:
            content += struct.pack("<HHII", tag, form, 1, value)
        where_next = len(content)
        content += b"\0\0\0\0"
    return bytes(content)


SMALL = np.ascontiguousarray(GREY[::4, ::4])


@pytest.mark.parametrize("further", [[(1, SMALL)], [(4, GREY)], [(1, SMALL), (5, SMALL)]])
def test_pages_that_are_previews_or_masks_are_passed_over(tmp_path, further):
    (tmp_path / "a.tif").write_bytes(tiff((0, GREY), *further))
    assert np.array_equal(read(tmp_path / "a.tif").pixels[..., 0], GREY)


@pytest.mark.parametrize("pages", [[(0, GREY), (0, GREY)], [(0, GREY), (2, GREY)], [(1, SMALL), (1, SMALL)]])
def test_several_photos_in_one_file_are_refused(tmp_path, pages):
    (tmp_path / "a.tif").write_bytes(tiff(*pages))
    with pytest.raises(ImageError, match="several pages"):
        read(tmp_path / "a.tif")


def test_an_alpha_of_zero_everywhere_is_ignored_and_said(tmp_path):
    blank, half = (np.dstack([PHOTO, alpha]) for alpha in (np.zeros_like(GREY), np.where(GREY > 100, 255, 0)))
    Image.fromarray(blank).save(tmp_path / "blank.png")
    Image.fromarray(half.astype(np.uint8)).save(tmp_path / "half.png")
    assert np.array_equal(read(tmp_path / "blank.png").pixels, PHOTO)
    assert not read(tmp_path / "half.png").pixels[GREY <= 100].any()
    assert any(
        "1 photo with an alpha of 0 everywhere (blank.png): it is ignored" in line for line in scan(tmp_path).warnings
    )
    assert not read_mask(tmp_path / "blank.png", GREY.shape).any(), "a mask that is transparent marks nothing"


@pytest.mark.parametrize("ending", sorted(EXTENSIONS))
def test_every_ending_of_a_format_is_read(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    written = {
        ".jfif": ".jpg",
        ".jif": ".jpg",
        ".jfi": ".jpg",
        ".jpe": ".jpg",
        ".dib": ".bmp",
        ".btf": ".tif",
        ".tf8": ".tif",
    }
    encoding = written.get(ending, ending)
    pixels = GREY if encoding in (".pgm", ".pbm") else PHOTO[..., ::-1]
    path.write_bytes(cv2.imencode(encoding, np.ascontiguousarray(pixels))[1].tobytes())
    assert [sample.name for sample in scan(tmp_path).good] == [path.name]
    if encoding not in (".jpg", ".jpeg", ".webp", ".pbm"):
        expected = GREY[..., None].repeat(3, axis=2) if pixels.ndim == 2 else PHOTO
        assert np.array_equal(read(path).pixels, expected)


def test_simple_formats_of_sixteen_bits(tmp_path):
    deep = (GREY.astype(np.uint16) << 8) + 7
    cv2.imwrite(str(tmp_path / "a.pgm"), deep)
    assert scan(tmp_path).depth.stored_bits == 16
    assert np.abs(read(tmp_path / "a.pgm").pixels[..., 0].astype(int) - GREY).max() <= 1


def test_sixteen_bits_whose_zero_is_white_are_inverted(tmp_path):
    Image.fromarray(GREY.astype(np.uint16) * 257).save(tmp_path / "a.tif", tiffinfo={262: 0})
    assert np.array_equal(read(tmp_path / "a.tif").pixels[..., 0], 255 - GREY)
    Image.fromarray(GREY.astype(np.uint16) * 257).save(tmp_path / "b.tif", tiffinfo={262: 1})
    assert np.array_equal(read(tmp_path / "b.tif").pixels[..., 0], GREY)


def test_a_line_scan_is_read(tmp_path):
    Image.fromarray(np.tile(GREY, (500, 1))[:20_000]).save(tmp_path / "a.png")
    assert read(tmp_path / "a.png").pixels.shape == (20_000, 64, 3)


def test_photos_of_few_values_get_a_window(tmp_path):
    for number in range(3):
        narrow = 32768 + np.roll(GREY, number, axis=0).astype(np.uint16)
        Image.fromarray(narrow).save(tmp_path / f"{number}.png")
    dataset = scan(tmp_path)
    assert dataset.is_narrow
    assert not dataset.with_depth().is_narrow
    assert np.ptp(read(tmp_path / "0.png", dataset.with_depth().depth).pixels) > 150
    assert np.ptp(read(tmp_path / "0.png", dataset.with_depth(learned=False).depth).pixels) <= 2
    for number in range(3):
        Image.fromarray(np.roll(GREY, number, axis=0).astype(np.uint16) * 200).save(tmp_path / f"{number}.png")
    assert not scan(tmp_path).is_narrow


def test_an_untagged_mosaic_gets_a_remark(tmp_path):
    for number in range(2):
        colour = np.roll(PHOTO, number, axis=1) // 2 + np.array([20, 80, 50], np.uint8)
        mosaic = colour[..., 1].copy()
        mosaic[::2, ::2], mosaic[1::2, 1::2] = colour[::2, ::2, 0], colour[1::2, 1::2, 2]
        Image.fromarray(mosaic).save(tmp_path / f"{number}.png")
    assert any("look like raw Bayer data" in line for line in scan(tmp_path).warnings)


@pytest.mark.parametrize("seed", range(20))
def test_other_pictures_are_no_mosaic(seed):
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 256, (60, 70), np.uint8)
    smooth = cv2.GaussianBlur(noise, (0, 0), rng.uniform(0.5, 5))
    stripes = np.tile(np.array([90, 140], np.uint8), (60, 35))
    assert not any(map(is_mosaic, (noise, smooth, stripes, stripes.T.copy(), np.zeros((60, 70), np.uint8), noise[:5])))
