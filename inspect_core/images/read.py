"""Camera files to RGB pixels and an identity.

Conventions, fixed because scores depend on them:
- pixels are `(H, W, 3)` uint8 RGB as stored; EXIF orientation is applied, colour profiles and gamma are not;
- 16-bit mono becomes `round(value / 257)`, never a stretch per image; 16-bit colour keeps its high byte, which is all
  that Pillow decodes (at most one level from the same rule);
- transparent pixels are composited on `BACKGROUND`;
- resizing is `squash`, and nothing else.
"""

import hashlib
import io
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image, ImageFile, ImageOps

from inspect_core.images.header import (
    DAMAGE,
    DEEP_MODES,
    EXTENSIONS,
    MAX_BYTES,
    MAX_PIXELS,
    MAX_SIDE,
    MIN_SIDE,
    Header,
    ImageError,
    check_file,
    check_length,
    damaged,
    open_header,
    probe,
    unreadable,
)

__all__ = [
    "BACKGROUND",
    "EXTENSIONS",
    "MAX_BYTES",
    "MAX_PIXELS",
    "MAX_SIDE",
    "MIN_SIDE",
    "Header",
    "ImageError",
    "Picture",
    "digest",
    "probe",
    "read",
    "read_bytes",
    "read_mask",
    "squash",
    "thumbnail",
]

BACKGROUND = (0, 0, 0)  # an unlit surrounding; it also makes the transparent part of a mask mean "no defect"


@dataclass(frozen=True)
class Picture:
    """A decoded image: its name, read-only pixels `(H, W, 3)` uint8 RGB, and `digest(pixels)`."""

    name: str
    pixels: np.ndarray = field(repr=False, compare=False)
    digest: str


def read(path: str | Path, *, max_pixels: int = MAX_PIXELS, max_bytes: int = MAX_BYTES) -> Picture:
    """Read a PNG, JPEG, BMP, TIFF or WebP file holding one picture of 8 or 16 bits per channel.

    The format is what the first bytes say, whatever the extension. Raises ImageError naming the file, the reason and
    the remedy: unknown, damaged, animated or several pages, CMYK or floating point, under `MIN_SIDE` or over
    `MAX_SIDE` pixels a side, over `max_pixels` or `max_bytes`.
    """
    path = Path(path)
    return read_bytes(_content(path, max_bytes), path.name, max_pixels=max_pixels, max_bytes=max_bytes)


def read_bytes(data: bytes, name: str, *, max_pixels: int = MAX_PIXELS, max_bytes: int = MAX_BYTES) -> Picture:
    """Read the content of an image file as `read` does; `name` is only repeated in the result and in errors."""
    check_length(len(data), name, max_bytes)
    pixels = _to_rgb(_decode(open_header(io.BytesIO(data), name, max_pixels=max_pixels), name))
    pixels.setflags(write=False)
    return Picture(name, pixels, digest(pixels))


def read_mask(path: str | Path, size: tuple[int, int]) -> np.ndarray:
    """Read a defect mask: `(H, W)` bool, True where any channel is above 0 (masks of 0/255 and of 0/1 both work).

    size: (height, width) in pixels of the image it belongs to. Raises ImageError as `read` does, and when the mask has
    another size or is a JPEG, whose compression leaves grey specks around every edge.
    """
    path = Path(path)
    image = open_header(io.BytesIO(_content(path, MAX_BYTES)), path.name)
    if image.format == "JPEG":
        raise ImageError(path.name, "a mask as JPEG has no sharp outline", "export the mask as PNG")
    image = _decode(image, path.name)
    # 16-bit mono is compared as stored: a defect marked by the value 1 would round to 0.
    mask = np.asarray(image) > 0 if image.mode in DEEP_MODES else _to_rgb(image).any(axis=-1)
    if mask.shape != tuple(size):
        raise ImageError(
            path.name,
            f"the mask is {mask.shape[1]} × {mask.shape[0]} px but its image is {size[1]} × {size[0]} px",
            "export the mask at the size of its image",
        )
    return mask


def thumbnail(path: str | Path, size: tuple[int, int]) -> tuple[tuple[int, int], np.ndarray]:
    """Return an image's upright (height, width) in pixels, and its brightness averaged to `size`, uint8.

    A quick look that still reads the whole file, so that damage shows (ImageError as from `read`): a JPEG is decoded at
    reduced size, in grey.
    """
    path = Path(path)
    image = open_header(io.BytesIO(_content(path, MAX_BYTES)), path.name)
    full = image.size
    image.draft("L", (4 * size[1], 4 * size[0]))
    reduced = image.size != full
    upright = _decode(image, path.name)
    if not reduced:
        full = upright.size
    elif image.getexif().get(ExifTags.Base.Orientation, 1) >= 5:
        full = full[::-1]
    grey = upright if upright.mode == "L" else Image.fromarray(_to_rgb(upright)).convert("L")
    return full[::-1], np.asarray(grey.resize(size[::-1], Image.Resampling.BOX))


def digest(pixels: np.ndarray) -> str:
    """Identify pixels by content: SHA-256 in hex over dtype, shape and values in C order."""
    content = hashlib.sha256(f"{pixels.dtype.str} {pixels.shape}".encode())
    content.update(np.ascontiguousarray(pixels).data)
    return content.hexdigest()


def squash(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Resize `(H, W, 3)` uint8 to `size` = (height, width) without keeping the aspect: a new, writable array.

    Pillow's BILINEAR, whose triangle widens with the reduction, so that a large image is averaged and not sampled.
    Every path that scores an image goes through here. Raises ValueError for other arrays and sizes.
    """
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[-1] != 3:
        raise ValueError(f"pixels are {pixels.dtype} of shape {pixels.shape}; give (H, W, 3) uint8 RGB")
    height, width = size
    if not (1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE):
        raise ValueError(f"size is {tuple(size)}; give (height, width) between 1 and {MAX_SIDE} pixels")
    return np.array(Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR))


def _content(path: Path, max_bytes: int) -> bytes:
    check_file(path, max_bytes)
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path.name, error) from error


def _decode(image: ImageFile.ImageFile, name: str) -> Image.Image:
    """Decode the pixels and turn them upright."""
    try:
        image.load()
        return ImageOps.exif_transpose(image)
    except DAMAGE as error:
        raise damaged(name, image.format, error) from error


def _to_rgb(image: Image.Image) -> np.ndarray:
    """Return `(H, W, 3)` uint8 of a decoded image, by the conventions at the head of this file."""
    if image.mode in DEEP_MODES:
        deep = np.asarray(image).astype(np.uint32)
        grey = ((deep + 128) // 257).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    if image.has_transparency_data:
        ground = Image.new("RGBA", image.size, (*BACKGROUND, 255))
        image = Image.alpha_composite(ground, image.convert("RGBA"))
    return np.array(image.convert("RGB"))
