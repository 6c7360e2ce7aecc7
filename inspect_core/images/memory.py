"""Memory that reading an image takes, known from its header, and the limits that follow from one setting.

Pillow's draft mode cannot replace this: it reduces JPEG alone, while every pixel of a photo is needed to judge it, and
libjpeg keeps all coefficients of a progressive one at any size.
"""

import contextlib
import io
import math
import os
from collections.abc import Iterator
from typing import IO

from PIL import ExifTags, ImageFile, JpegImagePlugin, TiffImagePlugin, WebPImagePlugin

SETTING = "LOUPE_MAX_MEGAPIXELS"
MAX_MEGAPIXELS = 64.0
MEMORY_PER_PIXEL = 7  # bytes of a colour photo: Pillow keeps it in 4, the array of its pixels in 3
FILE_PER_PIXEL = 4.2  # bytes: those of a photo with transparency that is not compressed, and some for notes
NOTES = 8 * 2**20  # bytes of a header: dates, previews, colour profiles
BAND = 2**18  # pixels

_PILLOW = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2}  # bytes a pixel; 4 in every other mode
_WEBP = 12  # bytes a pixel: the canvas, the one before it, and the frame handed over; and the file, twice
_YCBCR = 6  # TIFF's number for it; libtiff hands it over as RGBA


def max_megapixels() -> float:
    """The largest image to be read, in millions of pixels: LOUPE_MAX_MEGAPIXELS, else MAX_MEGAPIXELS; the limits on
    a file's length and on memory are in proportion to it. Raises ValueError when the setting is no number above 0.
    """
    given = os.environ.get(SETTING) or str(MAX_MEGAPIXELS)
    with contextlib.suppress(ValueError):
        if 0 < (limit := float(given)) < math.inf:
            return limit
    raise ValueError(f"the setting {SETTING} is {given!r}, which is not a number of megapixels above 0")


class SparingFile(io.BufferedReader):
    """A file that returns at most NOTES bytes until `all_of_it` is set: Pillow keeps what it reads of a header."""

    all_of_it = False
    given = 0

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(size)
        self.given += len(content)
        if self.notes_are_too_long:
            raise ValueError("the header is too long")
        return content

    @property
    def notes_are_too_long(self) -> bool:
        return self.given > NOTES and not self.all_of_it


def decoding_bytes(image: ImageFile.ImageFile) -> int:
    """The memory that an undecoded image takes at the peak of being read to (H, W, 3) uint8: Pillow's image, and the
    array or, if larger, what the decoder beneath Pillow keeps (measured by benchmarks/main_job/photo_memory.py).

    Raises whatever a damaged header causes.
    """
    pixels, beside = image.width * image.height, 0.0
    if isinstance(image, JpegImagePlugin.JpegImageFile):
        beside = _jpeg_coefficients(image)
    elif isinstance(image, WebPImagePlugin.WebPImageFile):
        beside = _WEBP * pixels + 2 * _file(image).seek(0, os.SEEK_END)
    elif isinstance(image, TiffImagePlugin.TiffImageFile):
        beside = _tiff_buffers(image)
    return int(_PILLOW.get(image.mode, 4) * pixels + max(3 * pixels, beside))


def _file(image: ImageFile.ImageFile) -> IO[bytes]:
    if image.fp is None:
        raise ValueError("the image is closed")
    return image.fp


def bands(height: int, width: int) -> Iterator[slice]:
    """Rows of an image, about BAND pixels at a time: each conversion by Pillow copies its whole input."""
    step = max(1, BAND // width)
    return (slice(top, min(top + step, height)) for top in range(0, height, step))


def _jpeg_coefficients(image: JpegImagePlugin.JpegImageFile) -> float:
    """Bytes of the DCT coefficients, 2 each, that libjpeg keeps of an image in several scans: 3 to 6 a pixel."""
    # Opening leaves the file behind the header of the first scan, which lists all components if there is only one.
    scan = b"\xff\xda" + (6 + 2 * image.layers).to_bytes(2, "big") + bytes([image.layers])
    file, length = _file(image), 8 + 2 * image.layers
    file.seek(file.tell() - length)
    if file.read(length).startswith(scan) and "progressive" not in image.info:
        return 0.0
    reduced = image.decoderconfig[0] if image.decoderconfig else 1  # all coefficients are kept for a reduced image too
    across, down = (max(layer[i] for layer in image.layer) for i in (1, 2))
    a_pixel = sum(layer[1] * layer[2] for layer in image.layer) / (across * down)
    return 2 * a_pixel * image.width * image.height * reduced**2


def _tiff_buffers(image: TiffImagePlugin.TiffImageFile) -> float:
    """Bytes of the mapped file and one strip or tile of a compressed TIFF; or of the copy that turns one upright."""
    tags, turned, packed = image.tag_v2, 0.0, 0.0
    if tags.get(ExifTags.Base.Orientation, 1) != 1:
        turned = _PILLOW.get(image.mode, 4) * image.width * image.height
    if image.info.get("compression") != "raw":
        columns = tags.get(TiffImagePlugin.TILEWIDTH, image.width)
        strip = min(tags.get(TiffImagePlugin.ROWSPERSTRIP, image.height), image.height)
        rows = tags.get(TiffImagePlugin.TILELENGTH, strip)
        as_rgba = tags.get(TiffImagePlugin.PHOTOMETRIC_INTERPRETATION) == _YCBCR
        a_pixel = 4 if as_rgba else sum(tags.get(TiffImagePlugin.BITSPERSAMPLE, (1,))) / 8
        packed = _file(image).seek(0, os.SEEK_END) + rows * columns * a_pixel
    return max(turned, packed)
