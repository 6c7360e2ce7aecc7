"""Bounds of what reading an image takes, all from one setting: its pixels, the length of its file and of its header."""

import contextlib
import io
import math
import os
from collections.abc import Iterator

SETTING = "LOUPE_MAX_MEGAPIXELS"
MAX_MEGAPIXELS = 64.0
MEMORY_PER_PIXEL = (
    12  # bytes, of a progressive JPEG in full colour; of most photos 7 (benchmarks/main_job/photo_memory.py)
)
FILE_PER_PIXEL = 4.2  # bytes: those of a photo with transparency that is not compressed, and some for notes
NOTES = 8 * 2**20  # bytes of a header: dates, previews, colour profiles
BAND = 2**18  # pixels


def max_megapixels() -> float:
    """The largest image to be read, in millions of pixels: LOUPE_MAX_MEGAPIXELS, else MAX_MEGAPIXELS; the limits
    on a file's length and on memory are in proportion to it. Raises ValueError when the setting is no number above 0.
    """
    setting = os.environ.get(SETTING) or str(MAX_MEGAPIXELS)
    with contextlib.suppress(ValueError):
        if 0 < (limit := float(setting)) < math.inf:
            return limit
    raise ValueError(f"the setting {SETTING} is {setting!r}, which is not a number of megapixels above 0")


class SparingFile(io.BufferedReader):
    """A file that returns at most NOTES bytes until `all_of_it` is set: Pillow keeps what it reads of a header."""

    all_of_it = False
    bytes_read = 0

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(size)
        self.bytes_read += len(content)
        if self.notes_are_too_long:
            raise ValueError("the header is too long")
        return content

    @property
    def notes_are_too_long(self) -> bool:
        return self.bytes_read > NOTES and not self.all_of_it


def bands(height: int, width: int) -> Iterator[slice]:
    """Yield rows of an image, about BAND pixels at a time: each conversion by Pillow copies its whole input."""
    step = max(1, BAND // width)
    return (slice(top, min(top + step, height)) for top in range(0, height, step))
