"""What an image may take of the machine's memory: measured where it is read, refused where it would take more."""

import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from inspect_core.images import photo_reader
from tests.hostile.files import encoded

ROOT = Path(__file__).parents[2]
BLANK = np.zeros((64, 64, 3), np.uint8)


BASELINE = encoded(BLANK, "JPEG", subsampling=0)
TURNED = Image.Exif()
TURNED[0x0112] = 3


def test_a_tiff_in_huge_tiles_is_refused(monkeypatch):
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda self: pytest.fail("pixels were decoded"))
    tiled = encoded(BLANK, "TIFF", compression="tiff_lzw")
    for name, tag, side in ((278, 322, 60_000), (284, 323, 30_000)):  # in place of rows a strip and of planes
        entry = tiled.index(struct.pack("<HH", name, 3))
        tiled = tiled[:entry] + struct.pack("<HHIHH", tag, 3, 1, side, 0) + tiled[entry + 12 :]
    with pytest.raises(
        photo_reader.ImageError, match=r"in tiles of 1800 megapixels; the limit is 64; export it as PNG"
    ):
        photo_reader.read_bytes(tiled, "part")


def test_a_webp_may_have_half_the_pixels(monkeypatch):
    monkeypatch.setenv("LOUPE_MAX_MEGAPIXELS", "0.0041")
    photo_reader.read_bytes(encoded(BLANK, "JPEG", progressive=True, subsampling=0), "part")
    with pytest.raises(photo_reader.ImageError, match=r"the limit of a WebP is 0\.00205"):
        photo_reader.read_bytes(encoded(BLANK, "WEBP"), "part")


def test_the_setting_that_a_refused_webp_names_lets_it_in(monkeypatch):
    large = encoded(np.zeros((1000, 1500, 3), np.uint8), "WEBP")
    monkeypatch.setenv("LOUPE_MAX_MEGAPIXELS", "2")
    with pytest.raises(photo_reader.ImageError, match=r"set LOUPE_MAX_MEGAPIXELS to 3,"):
        photo_reader.read_bytes(large, "part")
    monkeypatch.setenv("LOUPE_MAX_MEGAPIXELS", "3")
    photo_reader.read_bytes(large, "part")


def in_segments(marker, start):
    segment = struct.pack(">BBH", 0xFF, marker, 65_535) + start.ljust(65_533, b"z")
    return BASELINE[:2] + 144 * segment + BASELINE[2:]


def in_a_chunk():
    png, note = encoded(BLANK, "PNG"), b"noTe" + bytes(9 * 2**20)
    return png[:33] + struct.pack(">I", len(note) - 4) + note + struct.pack(">I", zlib.crc32(note)) + png[33:]


NEVER_ENDING = {
    "PNG, a note": ("PNG", in_a_chunk),
    "TIFF, a tag": ("TIFF", lambda: encoded(BLANK, "TIFF", tiffinfo={40_000: bytes(9 * 2**20)})),
    "JPEG, comments": ("JPEG", lambda: in_segments(0xFE, b"")),
    "JPEG, Exif": ("JPEG", lambda: in_segments(0xE1, b"Exif\0\0")),
    "JPEG, colour profiles": ("JPEG", lambda: in_segments(0xE2, b"ICC_PROFILE\0\1\1")),
}
"""Sound images of few pixels whose headers hold 9 MB that say nothing: the format's name, and what makes one."""


@pytest.mark.parametrize("name", NEVER_ENDING)
def test_a_header_that_never_ends_is_not_read_to_its_end(tmp_path, name):
    kind, made = NEVER_ENDING[name]
    path = tmp_path / "part"
    path.write_bytes(made())
    for attempt in (lambda: photo_reader.read(path), lambda: photo_reader.read_bytes(path.read_bytes(), "part")):
        with pytest.raises(
            photo_reader.ImageError, match=rf"the metadata of the {kind} takes more than 8 MB; .* metadata"
        ):
            attempt()


def test_a_webp_with_more_notes_than_pixels_is_refused_unread(monkeypatch):
    monkeypatch.setenv("LOUPE_MAX_MEGAPIXELS", "0.01")
    with pytest.raises(photo_reader.ImageError, match=r"bytes, more than the limit of 21,000"):
        photo_reader.read_bytes(encoded(BLANK, "WEBP", exif=b"Exif\0\0" + bytes(30_000)), "part")


PEAK = """
import sys
from pathlib import Path
from inspect_core.datasets import folders
from inspect_core.images import photo_reader

def kilobytes(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))

before, path = kilobytes("VmRSS"), sys.argv[1]
{work}
print((kilobytes("VmHWM") - before) * 1024)
"""
LARGE = np.zeros((4000, 4000), np.uint8)
TRANSPARENT = Image.fromarray(np.dstack([LARGE] * 4))
LARGEST = {
    "RGBA": ("PNG", TRANSPARENT, {"compress_level": 1}),
    "16 bits": ("PNG", Image.fromarray(LARGE.astype(np.uint16)), {"compress_level": 1}),
    "turned JPEG": ("JPEG", Image.fromarray(np.dstack([LARGE] * 3)), {"exif": TURNED}),
}


def peak_bytes(work, path):
    """Peak memory of a fresh process above that before the work."""
    command = [sys.executable, "-c", PEAK.format(work=work), str(path)]
    return int(subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=ROOT).stdout)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are read from /proc")
@pytest.mark.parametrize("kind", LARGEST)
def test_reading_takes_six_bytes_a_pixel_and_100_mb(tmp_path, kind):
    coding, image, options = LARGEST[kind]
    (tmp_path / "part").write_bytes(encoded(image, coding, **options))
    work = "photo_reader.squash(photo_reader.read(path).pixels, (256, 256))"
    assert peak_bytes(work, tmp_path / "part") <= 6 * LARGE.size + 100e6


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are read from /proc")
def test_scan_holds_one_photo_and_none_of_the_damaged(tmp_path):
    data = encoded(TRANSPARENT, "PNG", compress_level=1)
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(data)
        (tmp_path / f"{number + 3}.png").write_bytes(data[:-1000])
    assert peak_bytes("folders.scan(path)", tmp_path) <= 6 * LARGE.size + 100e6
