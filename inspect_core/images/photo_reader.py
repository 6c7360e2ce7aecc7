"""Camera files to RGB pixels and an identity.

Conventions, fixed because scores depend on them:
- pixels are `(H, W, 3)` uint8 RGB as stored; EXIF orientation is applied, colour profiles and gamma are not;
- 16-bit mono, inverted where its TIFF says that 0 is white, becomes what its `Depth` says, by default
  `round(value / 257)`, never a stretch per image; 16-bit colour keeps its high byte, which is all that Pillow decodes
  (at most one level from the same rule);
- transparent pixels are composited on `BACKGROUND`, unless all are;
- resizing is `squash`, and nothing else.
"""

import hashlib
import io
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from PIL import ExifTags, Image, ImageFile

from inspect_core.images.decode_memory import SparingFile, bands
from inspect_core.images.depth import DEEPEST, DEPTHS, Depth, ValueStatistics
from inspect_core.images.header import DAMAGE, damage_error, is_deep, is_negative, open_header, open_photo, require
from inspect_core.images.header import EXTENSIONS as EXTENSIONS
from inspect_core.images.header import MAX_SIDE as MAX_SIDE
from inspect_core.images.header import MIN_SIDE as MIN_SIDE
from inspect_core.images.header import ImageError as ImageError
from inspect_core.images.mosaic import is_mosaic
from inspect_core.runtime.memory import return_memory

BACKGROUND = (0, 0, 0)  # an unlit surrounding; it also makes the transparent part of a mask mean "no defect"

_ANY = Depth.full(DEPTHS[-1])
LARGE_DECODE_BYTES = 2_800_000  # pixels: larger images are decoded one at a time in this process, for all callers
_BLANK_ALPHA = "blank alpha"  # in the notes of an image
_one_at_a_time = threading.Lock()

_ON_ITS_SIDE = (5, 6, 7, 8)  # EXIF orientations
_STEPS = {2: (1, -1), 3: (-1, -1), 4: (-1, 1), 6: (-1, 1), 7: (-1, -1), 8: (1, -1)}
"""By EXIF orientation, along the rows and columns of an upright array, seen as the file stores it."""


@dataclass(frozen=True)
class DecodedPhoto:
    """A decoded image: its name, read-only pixels `(H, W, 3)` uint8 RGB, and `digest(pixels)`."""

    name: str
    pixels: np.ndarray = field(repr=False, compare=False)
    digest: str


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """size: upright (height, width) in pixels of the photo; grey: its brightness averaged, uint8, or the values of a
    16-bit photo, uint16; values: of a 16-bit photo, None for one of 8 bits; is_mosaic: whether it looks like the colour
    mosaic of a sensor (`mosaic.is_mosaic`); has_blank_alpha: whether it says that all of it is transparent.
    """

    size: tuple[int, int]
    grey: np.ndarray
    values: ValueStatistics | None
    is_mosaic: bool = False
    has_blank_alpha: bool = False


def read(path: str | Path, depth: Depth | None = None) -> DecodedPhoto:
    """Read a PNG, JPEG, BMP, TIFF, WebP, PNM or Sun raster file holding one picture of 8 or 16 bits per channel.

    Further pages of a TIFF that are previews or masks of the first are passed over, and an alpha that is 0 everywhere
    is ignored. depth: of the photos that were taught; None takes any, over the full range of its bytes. The first bytes
    decide the format. Takes at most MEMORY_PER_PIXEL bytes per pixel, of which 3 remain. Raises ImageError with the
    reason and the remedy: unknown, damaged, several pictures, CMYK, floating point, the mosaic of a colour sensor, a
    side under `MIN_SIDE` or over `MAX_SIDE` pixels, larger than LOUPE_MAX_MEGAPIXELS allows, of another depth.

    >>> photo = read("scratch.jpg")
    >>> photo.pixels.shape, photo.pixels.dtype
    ((320, 320, 3), dtype('uint8'))
    """
    path = Path(path)
    with open_photo(path) as file:
        return _picture(file, path.name, depth)


def read_bytes(data: bytes, name: str, depth: Depth | None = None) -> DecodedPhoto:
    """Read the content of an image file as `read` does; `name` is only repeated in the result and in errors."""
    return _picture(SparingFile(io.BytesIO(data)), name, depth)


def read_mask(path: str | Path, size: tuple[int, int]) -> np.ndarray:
    """Read a defect mask: `(H, W)` bool, True where any channel is above 0 (masks of 0/255 and of 0/1 both work).

    size: (height, width) in pixels of the image it belongs to. Raises ImageError as `read` does, and when the mask has
    another size or is a JPEG, whose compression leaves grey specks around every edge.
    """
    path = Path(path)
    with open_photo(path) as file:
        image = open_header(file, path.name)
        jpeg = "a JPEG mask has no sharp edges"
        require(path.name, image.format != "JPEG", jpeg, "export the mask as PNG")
        mask = _upright(image, path.name, _marked)
    reason = f"the mask is {mask.shape[1]} × {mask.shape[0]} px but its photo is {size[1]} × {size[0]} px"
    require(path.name, mask.shape == tuple(size), reason, "export the mask at the size of its photo")
    return mask


def thumbnail(path: str | Path, size: tuple[int, int]) -> Thumbnail:
    """An image's upright size, its brightness averaged to `size` = (rows, columns), and its 16-bit values.

    A quick look that still reads the whole file, so that damage shows (ImageError as from `read`): a JPEG is decoded at
    reduced size, in grey.
    """
    path = Path(path)
    with open_photo(path) as file:
        image = open_header(file, path.name)
        width, height = image.size
        image.draft("L", (4 * size[1], 4 * size[0]))
        reduced, deep = image.size != (width, height), is_deep(image)
        grey = _upright(image, path.name, _stored(image) if deep else _brightness, ignore_blank_alpha=True)
    marks = not reduced and (deep or image.mode == "L") and is_mosaic(grey), _BLANK_ALPHA in image.info
    if not reduced:
        height, width = grey.shape
    elif _orientation(image) in _ON_ITS_SIDE:
        height, width = width, height
    if deep:
        small = cv2.resize(grey, size[::-1], interpolation=cv2.INTER_AREA)
        return Thumbnail((height, width), small, ValueStatistics.from_photo(grey), *marks)
    small = np.asarray(Image.fromarray(grey).resize(size[::-1], Image.Resampling.BOX))
    return Thumbnail((height, width), small, None, *marks)


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
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[-1] != 3 or not pixels.size:
        raise ValueError(f"pixels are {pixels.dtype} of shape {pixels.shape}; give (H, W, 3) uint8 RGB")
    height, width = size
    if not (1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE):
        raise ValueError(f"size is {tuple(size)}; give (height, width) between 1 and {MAX_SIDE} pixels")
    # Pillow averages along the rows first and rounds: row by row the result is the same, without a copy of the whole.
    parts = (Image.fromarray(pixels[rows]) for rows in bands(*pixels.shape[:2]))
    narrow = [np.asarray(part.resize((width, part.height), Image.Resampling.BILINEAR)) for part in parts]
    return np.array(Image.fromarray(np.concatenate(narrow)).resize((width, height), Image.Resampling.BILINEAR))


def _picture(file: SparingFile, name: str, depth: Depth | None) -> DecodedPhoto:
    image = open_header(file, name)
    deep = is_deep(image)
    if depth is not None:
        depth.check_file(name, is_deep=deep)
    pixels = _upright(image, name, _stored(image) if deep else _rgb, ignore_blank_alpha=True)
    if deep:
        if depth is not None:
            depth.check(name, pixels)
        pixels = _shown(pixels, depth or _ANY)
    pixels.setflags(write=False)
    return DecodedPhoto(name, pixels, digest(pixels))


def _shown(stored: np.ndarray, depth: Depth) -> np.ndarray:
    """(H, W, 3) uint8 of (H, W) uint16."""
    pixels = np.empty((*stored.shape, 3), np.uint8)
    for rows in bands(*stored.shape):
        pixels[rows] = depth.brightness(stored[rows])[:, :, None]
    return pixels


def _upright(
    image: ImageFile.ImageFile,
    name: str,
    values: Callable[[Image.Image], np.ndarray],
    *,
    ignore_blank_alpha: bool = False,
) -> np.ndarray:
    """Decode an image, and return `values` of its pixels, upright: (H, W, ...). The image is closed.

    values: maps a band of the image as stored to (rows, columns, ...); each value may depend on its own pixel only.
    ignore_blank_alpha: whether an alpha of 0 everywhere, which some writers leave, is taken for none; `info` then says
    so.
    """
    large = image.width * image.height > LARGE_DECODE_BYTES
    with _one_at_a_time if large else nullcontext():
        try:
            image.load()
            orientation = _orientation(image)
        except DAMAGE as error:
            image.close()
            raise damage_error(name, image.format or "image", error) from error
        width, height = image.size
        is_blank = ignore_blank_alpha and image.mode == "RGBA" and image.getextrema()[-1] == (0, 0)
        if is_blank:
            image.info[_BLANK_ALPHA] = True

        def crop(top: int, bottom: int, right: int = width) -> Image.Image:
            band = image.crop((0, top, right, bottom))
            return band.convert("RGB") if is_blank else band

        if orientation == 1 and not large and not is_blank:
            upright = values(image)
            image.close()
            return upright
        of_one = values(crop(0, 1, right=1))
        size = (width, height) if orientation in _ON_ITS_SIDE else (height, width)
        upright = np.empty((*size, *of_one.shape[2:]), of_one.dtype)
        down, across = _STEPS.get(orientation, (1, 1))
        stored = (upright.swapaxes(0, 1) if orientation in _ON_ITS_SIDE else upright)[::down, ::across]
        for rows in bands(height, width):
            stored[rows] = values(crop(rows.start, rows.stop))
        image.close()
        if large:
            return_memory()
    return upright


def _orientation(image: Image.Image) -> int:
    """The EXIF orientation of a decoded image, as Pillow's exif_transpose reads it: 1 is upright."""
    return image.getexif().get(ExifTags.Base.Orientation, 1)


def _stored(image: Image.Image) -> Callable[[Image.Image], np.ndarray]:
    """What gives (rows, columns) uint16 of a band of a 16-bit image, inverted where 0 is white."""
    if is_negative(image):
        return lambda band: np.uint16(DEEPEST) - np.asarray(band).astype(np.uint16)
    return lambda band: np.asarray(band).astype(np.uint16)


def _rgb(image: Image.Image) -> np.ndarray:
    """(H, W, 3) uint8 of a decoded 8-bit image, by the conventions at the head of this file."""
    if image.has_transparency_data:
        ground = Image.new("RGBA", image.size, (*BACKGROUND, 255))
        image = Image.alpha_composite(ground, image.convert("RGBA"))
    return np.asarray(image if image.mode == "RGB" else image.convert("RGB"))


def _brightness(image: Image.Image) -> np.ndarray:
    """(H, W) uint8 of a decoded 8-bit image."""
    return np.asarray(image if image.mode == "L" else Image.fromarray(_rgb(image)).convert("L"))


def _marked(image: Image.Image) -> np.ndarray:
    """(H, W) bool of a decoded mask; 16-bit mono as stored: a defect marked by the value 1 would round to 0."""
    if image.mode.startswith("I"):
        return np.asarray(image) > 0
    red, green, blue = np.moveaxis(_rgb(image), -1, 0)
    return (red | green | blue) > 0
