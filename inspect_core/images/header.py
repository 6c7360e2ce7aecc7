"""The header of an image file, checked before anything is decoded; every refusal says what to do."""

import functools
import io
import math
import os
import re
import struct
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from PIL import (
    BmpImagePlugin,
    Image,
    ImageFile,
    JpegImagePlugin,
    PngImagePlugin,
    PpmImagePlugin,
    SunImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from inspect_core.images import decode_memory
from inspect_core.images.decode_memory import MEMORY_PER_PIXEL, SparingFile

EXTENSIONS = frozenset(
    {".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".jif", ".jfi", ".bmp", ".dib", ".tif", ".tiff", ".btf", ".tf8", ".webp"}
    | {".pgm", ".ppm", ".pbm", ".pnm", ".ras", ".sr"}
)
RAW_PHOTOS = frozenset(
    {".raw", ".dng", ".cr2", ".cr3", ".nef", ".nrw", ".arw", ".srf", ".sr2", ".orf", ".rw2", ".raf", ".pef", ".srw"}
    | {".x3f", ".iiq", ".3fr", ".rwl", ".kdc", ".mrw"}
)
"""Endings of what the sensors of cameras give, before it is a picture."""
OTHER_PICTURES = (
    RAW_PHOTOS
    | {".gif", ".heic", ".heif", ".hif", ".avif", ".jp2", ".j2k", ".jxl", ".jxr", ".psd", ".svg", ".exr", ".hdr"}
    | {".tga", ".dds", ".pcx", ".ico", ".fits", ".fit"}
)
"""Endings of pictures that are not read: they are counted and named, never passed over."""
MAX_SIDE = 32_766  # pixels; OpenCV warps no longer side
MIN_SIDE = 8  # pixels

# The checks below replace Pillow's, which warn or refuse at other sizes before we can say how large an image is.
Image.MAX_IMAGE_PIXELS = None
FORMATS = {
    "PNG": (PngImagePlugin.PngImageFile, rb"\x89PNG\r\n\x1a\n"),
    "JPEG": (JpegImagePlugin.JpegImageFile, rb"\xff\xd8\xff"),
    "BMP": (BmpImagePlugin.BmpImageFile, rb"BM"),
    "TIFF": (TiffImagePlugin.TiffImageFile, rb"II[*+]\0|MM\0[*+]"),
    "WebP": (WebPImagePlugin.WebPImageFile, rb"(?s)RIFF.{4}WEBP"),
    "PNM": (PpmImagePlugin.PpmImageFile, rb"P[1-6]\s"),
    "Sun raster": (SunImagePlugin.SunImageFile, rb"\x59\xa6\x6a\x95"),
}
"""Pillow's decoder and the pattern of the first bytes, which decide whatever the extension."""
PLAIN_MODES = ("1", "L", "P", "RGB", "YCbCr")
ALPHA_MODES = ("LA", "PA", "RGBA")
_DEEP_MODES = ("I;16", "I;16B", "I;16L")  # mono, 16 bits
_REFUSED_MODES = {
    "CMYK": "it is in CMYK (print colours), not RGB",
    "I": "it stores 32-bit or signed values",
    "F": "it stores floating-point values",
}
_BITS_PER_SAMPLE = 258  # TIFF tag
_KIND_OF_PAGE, _PREVIEW, _MASK = 254, 1, 4  # TIFF's NewSubfileType and two of its bits
MOST_PAGES = 16
"""Pages of a TIFF that are looked at: a pyramid of previews has fewer."""
_MOSAIC = 32803  # TIFF's number for the kind of image whose pixels lie behind a mosaic of colour filters
_MOSAIC_PATTERN = 33422  # TIFF tag
AGAIN = "copy it again from the camera"

# What Pillow's decoders raise on bytes that are not what the header promises.
_OF_PYTHON = (OSError, SyntaxError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, AssertionError)
DAMAGE = (*_OF_PYTHON, EOFError, MemoryError, struct.error, zlib.error, Image.DecompressionBombError)


class ImageError(ValueError):
    """A file that cannot be read as an image: `name`, `reason`, `remedy`, all in the message; `why`: without name."""

    def __init__(self, name: str, reason: str, remedy: str):
        self.name = name
        self.reason = reason
        self.remedy = remedy
        self.why = f"{reason}; {remedy}"
        super().__init__(f"{name}: {self.why}")


def require(name: str, holds: bool, reason: str, remedy: str) -> None:
    """Raise ImageError unless it holds."""
    if not holds:
        raise ImageError(name, reason, remedy)


def unread_reason(name: str) -> str:
    """Why a picture with this ending is not read, and the remedy."""
    suffix = Path(name).suffix.lower()
    remedy = "save it as PNG"
    if not suffix:
        return "it has no ending; give it that of its format"
    if suffix in (".heic", ".heif", ".hif"):
        remedy = "save it as PNG, or let the phone take JPEG (Settings, Camera, Formats, Most Compatible)"
    elif suffix in RAW_PHOTOS:
        remedy = "develop it to PNG or TIFF, or let the camera save JPEG too"
    return f"Loupe reads no {suffix[1:].upper()}; {remedy}"


def is_photo_content(path: Path) -> bool:
    """Whether the first bytes of a regular file are those of a format that is read; False where it cannot be opened."""
    try:
        with open_photo(path) as file:
            first = file.peek(12)
    except (ImageError, OSError):
        return False
    return any(re.match(pattern, first) for _, pattern in FORMATS.values())


def open_header(file: SparingFile, name: str) -> ImageFile.ImageFile:
    """Pillow's undecoded image. Raises ImageError when its header shows that it must not or cannot be read."""
    check = functools.partial(require, name)
    try:
        limit = decode_memory.max_megapixels()
    except ValueError as error:
        raise ImageError(name, str(error), "correct it, or remove it and start Loupe again") from error
    length = file.seek(0, os.SEEK_END)
    file.seek(0)
    first = file.peek(12)
    kind = next((kind for kind, (_, pattern) in FORMATS.items() if re.match(pattern, first)), "")
    share = 2 if kind == "WebP" else 1  # libwebp holds the file twice and the picture three times
    limit /= share
    longest = decode_memory.FILE_PER_PIXEL * 1e6 * limit
    check(length > 0, "the file is empty", AGAIN)
    needed = share * length / 1e6 / decode_memory.FILE_PER_PIXEL
    remedy = f"export it as PNG or JPEG, crop it to the part, or {_raised(needed)}"
    check(length <= longest, f"the file has {length:,} bytes, more than the limit of {longest:,.0f}", remedy)
    if not kind and Path(name).suffix.lower() in OTHER_PICTURES:
        raise ImageError(name, *unread_reason(name).split("; ", 1))
    known = "it is not a PNG, JPEG, BMP, TIFF, WebP, PNM or Sun raster photo, despite its name"
    check(kind != "", known, "export it in one of these formats")
    file.all_of_it = kind == "WebP"
    try:
        if kind == "TIFF":
            _refuse_mosaic(file, name)
        image = FORMATS[kind][0](file)
        several = getattr(image, "is_animated", False) and not _shows_first_page(image)
        tags = image.tag_v2 if isinstance(image, TiffImagePlugin.TiffImageFile) else {}
        bits = tags.get(_BITS_PER_SAMPLE, (1,)) if kind == "TIFF" else (8,)
        tile = math.prod(int(tags.get(tag, 0)) for tag in (TiffImagePlugin.TILEWIDTH, TiffImagePlugin.TILELENGTH)) / 1e6
    except ImageError:
        raise
    except DAMAGE as error:
        too_long = f"the metadata of the {kind} takes more than {decode_memory.NOTES // 2**20} MB"
        check(not file.notes_are_too_long, too_long, "export it without metadata, previews and layers")
        raise damage_error(name, kind, error) from error
    file.all_of_it = True

    width, height = image.size
    megapixels = image.width * image.height / 1e6
    small = f"it is {width} × {height} px, too small to inspect"
    check(min(image.size) >= MIN_SIDE, small, f"use photos of at least {MIN_SIDE} px a side")
    size = f"it is {width:,} × {height:,} px"
    remedy = "crop it to the part or export it smaller"
    check(max(image.size) <= MAX_SIDE, f"{size}; the limit is {MAX_SIDE:,} px a side", remedy)
    large = f"{size}, which is {megapixels:.4g} megapixels; the limit of a {kind} is {limit:g}"
    check(megapixels <= limit, large, f"crop it to the part, export it smaller, or {_raised(share * megapixels)}")
    tiles = f"it is stored in tiles of {tile:.4g} megapixels; the limit is {limit:g}"  # each is decoded whole
    check(tile <= limit, tiles, "export it as PNG")
    many = "it has several pages" if kind == "TIFF" else "it is animated"
    check(not several, many, "save each picture as a separate file")
    mode = _REFUSED_MODES.get(image.mode, f"it stores its colours as {image.mode}")
    known = image.mode in (*PLAIN_MODES, *ALPHA_MODES)
    check(known or is_deep(image), mode, "export it as RGB or grey with 8 or 16 bits per channel")
    deep = f"it has {max(bits, default=0)} bits per channel"
    check(set(bits) <= {1, 2, 4, 8, 16}, deep, "export it with 8 or 16")
    return image


def is_deep(image: Image.Image) -> bool:
    """Whether an image is mono with 16 bits; of PNM, Pillow gives those values in 32."""
    return image.mode in _DEEP_MODES or (image.mode == "I" and isinstance(image, PpmImagePlugin.PpmImageFile))


def is_negative(image: Image.Image) -> bool:
    """Whether 0 is white in a TIFF of 16 bits, which Pillow returns as stored and viewers show inverted."""
    photometric = TiffImagePlugin.PHOTOMETRIC_INTERPRETATION
    return isinstance(image, TiffImagePlugin.TiffImageFile) and is_deep(image) and image.tag_v2.get(photometric) == 0


@contextmanager
def open_photo(path: Path) -> Generator[SparingFile]:
    """Open a photo to read. Raises ImageError when it is missing, would block a reader (a pipe), or cannot be read."""
    try:
        require(path.name, path.exists(), "there is no such file", "check the path")
        require(path.name, path.is_file(), "it is not a file", "choose a photo file")
        with SparingFile(io.FileIO(path)) as file:
            yield file
    except OSError as error:
        reason = f"the file cannot be read ({error.strerror or error})"
        raise ImageError(path.name, reason, "check its permissions and the disk") from error


def damage_error(name: str, kind: str, error: BaseException) -> ImageError:
    """The ImageError for content that its decoder gave up on."""
    return ImageError(name, f"the {kind} is truncated or damaged ({error})", AGAIN)


def _raised(megapixels: float) -> str:
    """Say how to have this many megapixels read, and what that takes."""
    least = math.ceil(megapixels)
    return (
        f"set {decode_memory.SETTING} to {least}, which takes up to {MEMORY_PER_PIXEL * least:,} MB of memory per photo"
    )


def _shows_first_page(image: ImageFile.ImageFile) -> bool:
    """Whether all further pages of a TIFF are previews or masks of its first, which is then the photo."""
    if not isinstance(image, TiffImagePlugin.TiffImageFile) or image.n_frames > MOST_PAGES:
        return False
    kinds = []
    for page in range(1, image.n_frames):
        image.seek(page)
        kinds.append(int(image.tag_v2.get(_KIND_OF_PAGE, 0)))
    image.seek(0)
    return all(kind & (_PREVIEW | _MASK) for kind in kinds) and not int(image.tag_v2.get(_KIND_OF_PAGE, 0)) & _PREVIEW


def _refuse_mosaic(file: SparingFile, name: str) -> None:
    """Refuse a TIFF that says it is a mosaic; Pillow takes some for grey, others for damaged. Rewinds the file."""
    start = file.read(8)
    start += file.read(8) if start[2:4] in (b"+\0", b"\0+") else b""
    tags = TiffImagePlugin.ImageFileDirectory_v2(start)
    file.seek(tags.next)
    tags.load(file)
    file.seek(0)
    mosaic = tags.get(TiffImagePlugin.PHOTOMETRIC_INTERPRETATION) == _MOSAIC or _MOSAIC_PATTERN in tags
    reason = "it is raw Bayer data from a colour sensor, with one colour per pixel"
    require(name, not mosaic, reason, "convert it to RGB or grey in the camera or its software")
