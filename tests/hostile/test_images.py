"""Files that must not be read as images: each is refused as ImageError with its name, the reason and the remedy."""

import os
import struct
import zlib
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from inspect_core.datasets import folders
from inspect_core.datasets.dataset import ScanError
from inspect_core.images import photo_reader
from tests.examples import examples
from tests.hostile.files import encoded

RGB = np.random.default_rng(1).integers(0, 256, (40, 48, 3), dtype=np.uint8)
KINDS = {"PNG": {}, "JPEG": {"quality": 90}, "BMP": {}, "TIFF": {}, "WEBP": {"quality": 90}}


def png_header(width, height):
    """A PNG that claims a size and has next to no pixels."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


def bmp_header(width, height):
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, *[0] * 6)


def several(kind):
    frames = [Image.fromarray(np.roll(RGB, step, axis=1)) for step in range(3)]
    return encoded(frames[0], kind, save_all=True, append_images=frames[1:])


BAD = {
    "empty": (b"", "empty", "copy it again"),
    "text": (b"Dear camera,\nplease send images.\n", "it is not a PNG", "export it"),
    "gif": (encoded(RGB, "GIF"), "it is not a PNG", "export it"),
    "one pixel": (encoded(RGB[:1, :1], "PNG"), "1 × 1 px, too small", "at least 8 px"),
    "40,000 px square": (png_header(40_000, 40_000), "40,000 × 40,000 px", "crop it"),
    "40,000 px wide": (png_header(40_000, 100), "40,000 × 100 px", "crop it"),
    "40,000 px bitmap": (bmp_header(40_000, 40_000), "40,000 × 40,000 px", "crop it"),
    "many pixels": (png_header(10_000, 10_000), "10,000 × 10,000 px", "crop it"),
    "animated PNG": (several("PNG"), "animated", "separate file"),
    "animated WebP": (several("WEBP"), "animated", "separate file"),
    "pages": (several("TIFF"), "several pages", "separate file"),
    "CMYK JPEG": (encoded(Image.fromarray(RGB).convert("CMYK"), "JPEG"), "CMYK", "export it as RGB"),
    "CMYK TIFF": (encoded(Image.fromarray(RGB).convert("CMYK"), "TIFF"), "CMYK", "export it as RGB"),
    "Lab": (encoded(Image.fromarray(RGB).convert("LAB"), "TIFF"), "LAB", "export it as RGB"),
    "float": (encoded(RGB[:, :, 0].astype(np.float32), "TIFF"), "floating-point", "8 or 16 bits"),
    "32 bits": (encoded(RGB[:, :, 0].astype(np.int32), "TIFF"), "32-bit", "8 or 16 bits"),
    "half a PNG": (encoded(RGB, "PNG")[:2000], "is truncated or damaged (", "copy it again"),
    "wrong pixels": (png_header(48, 40), "is truncated or damaged (", "copy it again"),
}


@pytest.mark.parametrize(("data", "reason", "remedy"), BAD.values(), ids=BAD)
def test_bad_content_is_refused_by_name_reason_and_remedy(tmp_path, data, reason, remedy):
    path = tmp_path / "part 7.png"
    path.write_bytes(data)
    for attempt in (lambda: photo_reader.read(path), lambda: photo_reader.read_bytes(data, path.name)):
        with pytest.raises(photo_reader.ImageError) as caught:
            attempt()
        message = str(caught.value)
        assert message.startswith("part 7.png: ")
        assert reason in message
        assert remedy in message.partition(";")[2]


def test_large_claims_are_refused_before_decoding(monkeypatch):
    def decoded(self):
        raise AssertionError("pixels were decoded")

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", decoded)
    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", decoded)
    for name in ("40,000 px square", "animated PNG", "CMYK JPEG", "pages"):
        with pytest.raises(photo_reader.ImageError):
            photo_reader.read_bytes(BAD[name][0], name)


def test_pillows_own_bomb_limit_neither_warns_nor_decides(tmp_path, monkeypatch, recwarn):
    monkeypatch.setenv("LOUPE_MAX_MEGAPIXELS", "100")
    path = tmp_path / "part.tif"
    Image.new("1", (9_500, 9_500)).save(path, compression="group4")
    assert photo_reader.thumbnail(path, (16, 17)).size == (9_500, 9_500)
    assert not recwarn.list


BLANK = np.zeros((64, 64, 3), np.uint8)


def ways_to_open(path):
    content = path.read_bytes() if path.stat().st_size < 10**6 else b""
    ways = (
        photo_reader.read,
        lambda path: photo_reader.thumbnail(path, (16, 17)),
        lambda path: photo_reader.read_mask(path, (64, 64)),
    )
    return [partial(way, path) for way in ways] + [lambda: photo_reader.read_bytes(content, path.name)]


def test_the_setting_moves_the_limits_and_each_refusal_names_it(tmp_path, monkeypatch):
    path = tmp_path / "part.png"
    path.write_bytes(encoded(BLANK, "PNG"))
    monkeypatch.setenv("LOUPE_MAX_MEGAPIXELS", "0.004")
    limit = r"64 × 64 px, which is 0.004096 megapixels; the limit of a PNG is 0.004; .*"
    for attempt in ways_to_open(path):
        with pytest.raises(
            photo_reader.ImageError, match=limit + r"set LOUPE_MAX_MEGAPIXELS to 1, which takes up to 12 MB"
        ):
            attempt()
    monkeypatch.setenv("LOUPE_MAX_MEGAPIXELS", "0.0041")
    for attempt in ways_to_open(path):
        attempt()


def test_a_file_that_is_too_long_is_refused_unread(tmp_path):
    path = tmp_path / "part.png"
    path.write_bytes(encoded(BLANK, "PNG"))
    os.truncate(path, 300_000_000)
    for attempt in ways_to_open(path)[:-1]:
        with pytest.raises(
            photo_reader.ImageError, match=r"300,000,000 bytes, .*limit of 268,800,000; .*_MEGAPIXELS to 72"
        ):
            attempt()


@pytest.mark.parametrize("setting", ["many", "0", "-1", "nan", "inf", "1,5", "64 MP", "0x40"])
def test_a_setting_that_is_no_number_is_named_for_each_photo(tmp_path, monkeypatch, setting):
    path = tmp_path / "part.png"
    path.write_bytes(encoded(BLANK, "PNG"))
    monkeypatch.setenv("LOUPE_MAX_MEGAPIXELS", setting)
    message = (
        rf"part.png: the setting LOUPE_MAX_MEGAPIXELS is '{setting}', which is not a number of megapixels above 0; "
    )
    for attempt in ways_to_open(path):
        with pytest.raises(photo_reader.ImageError, match=message):
            attempt()
    with pytest.raises(ScanError, match=message):
        folders.scan(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fraction", [0.05, 0.5, 0.95])
def test_truncated_files_are_refused(kind, fraction):
    data = encoded(RGB, kind, **KINDS[kind])
    with pytest.raises(photo_reader.ImageError, match=r"is truncated or damaged|not a PNG"):
        photo_reader.read_bytes(data[: int(len(data) * fraction)], "part")


@given(st.sampled_from(sorted(KINDS)), st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), max_size=6))
@settings(deadline=None, max_examples=examples(150))
def test_flipped_bytes_give_pixels_or_an_image_error(kind, flips):
    data = bytearray(encoded(RGB, kind, **KINDS[kind]))
    for where, value in flips:
        data[int(where * len(data))] = value
    try:
        pixels = photo_reader.read_bytes(bytes(data), "part").pixels
    except photo_reader.ImageError:
        return
    assert pixels.dtype == np.uint8
    assert pixels.ndim == 3


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=examples(100))
def test_noise_is_refused(data):
    with pytest.raises(photo_reader.ImageError):
        photo_reader.read_bytes(data, "part")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_missing_files_folders_and_pipes_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    for name, reason in (("none.png", "no such file"), ("pipe.png", "not a file"), (".", "not a file")):
        with pytest.raises(photo_reader.ImageError, match=reason):
            photo_reader.read(tmp_path / name)


def test_folder_of_bad_files_lists_each_and_uses_the_rest(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(encoded(np.roll(RGB, number * 7, axis=0), "PNG"))
    for name, (data, _, _) in BAD.items():
        (tmp_path / f"dud {name}.png").write_bytes(data)
    samples = folders.scan(tmp_path)
    assert [sample.name for sample in samples.good] == ["0.png", "1.png", "2.png"]
    reasons = {skipped.name: skipped.reason for skipped in samples.skipped}
    assert reasons.keys() == {f"dud {name}.png" for name in BAD}
    for name, (_, reason, remedy) in BAD.items():
        assert reason in reasons[f"dud {name}.png"]
        assert remedy in reasons[f"dud {name}.png"]
    assert any(f"{len(BAD)} photos skipped" in warning for warning in samples.warnings)


def test_a_folder_of_nothing_but_bad_files_says_so(tmp_path):
    (tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(ScanError, match=r"it holds 1 other file \(a.png: the file is empty"):
        folders.scan(tmp_path)


def test_a_folder_that_the_system_refuses_is_named(tmp_path, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.iterdir", refuse)
    with pytest.raises(ScanError, match=r"cannot be read \(Permission denied\); check its permissions"):
        folders.scan(tmp_path)
