"""What an image file says of itself, checked before anything is decoded; every refusal says what to do."""

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from PIL import BmpImagePlugin, Image, ImageFile, JpegImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin

EXTENSIONS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp"})
MAX_BYTES = 256 * 2**20
MAX_PIXELS = 64_000_000  # 192 MB as RGB
MAX_SIDE = 16_384  # pixels
MIN_SIDE = 8  # pixels

# Pillow's own classes, not Image.open, which warns about or refuses a large image before we can say how large it is.
DECODERS = {
    "PNG": PngImagePlugin.PngImageFile,
    "JPEG": JpegImagePlugin.JpegImageFile,
    "BMP": BmpImagePlugin.BmpImageFile,
    "TIFF": TiffImagePlugin.TiffImageFile,
    "WebP": WebPImagePlugin.WebPImageFile,
}
PLAIN_MODES = ("1", "L", "P", "RGB", "YCbCr")
ALPHA_MODES = ("LA", "PA", "RGBA")
DEEP_MODES = ("I;16", "I;16B", "I;16L")  # mono, 16 bits
_REFUSED_MODES = {
    "CMYK": "it holds the four inks of print (CMYK), not the colours of a camera",
    "I": "it stores 32-bit or signed values",
    "F": "it stores floating-point values",
}
_BITS_PER_SAMPLE = 258  # TIFF tag

# What Pillow's decoders raise on bytes that are not what the header promises.
DAMAGE = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    AssertionError,
    EOFError,
    MemoryError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)


class ImageError(ValueError):
    """A file that cannot be read as an image: `name` of the file, `reason` and `remedy`, all three in the message."""

    def __init__(self, name: str, reason: str, remedy: str):
        super().__init__(f"{name}: {reason}; {remedy}")
        self.name, self.reason, self.remedy = name, reason, remedy


@dataclass(frozen=True)
class Header:
    """Format, (height, width) in pixels as stored (before EXIF rotation), and Pillow's name of the pixel layout."""

    format: str
    size: tuple[int, int]
    mode: str


def probe(path: str | Path, *, max_pixels: int = MAX_PIXELS, max_bytes: int = MAX_BYTES) -> Header:
    """Check a file's header without decoding its pixels. Raises ImageError for whatever the header gives away."""
    path = Path(path)
    check_file(path, max_bytes)
    try:
        with path.open("rb") as file:
            image = open_header(file, path.name, max_pixels=max_pixels)
            return Header(_format(file), (image.height, image.width), image.mode)
    except OSError as error:
        raise unreadable(path.name, error) from error


def open_header(file: BinaryIO, name: str, *, max_pixels: int = MAX_PIXELS) -> ImageFile.ImageFile:
    """Return Pillow's undecoded image, or raise ImageError when its header shows that it must not or cannot be read."""
    kind = _format(file)
    if kind is None:
        raise ImageError(
            name, "its first bytes are not those of PNG, JPEG, BMP, TIFF or WebP", "export it in one of these formats"
        )
    try:
        image = DECODERS[kind](file)
        several = getattr(image, "is_animated", False)
        bits = image.tag_v2.get(_BITS_PER_SAMPLE, (1,)) if kind == "TIFF" else (8,)
    except DAMAGE as error:
        raise damaged(name, kind, error) from error

    width, height = image.size
    if min(width, height) < MIN_SIDE:
        raise ImageError(
            name, f"it is {width} × {height} px, too small to inspect", f"use images of at least {MIN_SIDE} px a side"
        )
    if max(width, height) > MAX_SIDE or width * height > max_pixels:
        raise ImageError(
            name,
            f"it is {width:,} × {height:,} px; the limit is {MAX_SIDE:,} px a side and {max_pixels:,} px in all",
            "crop it to the part or export it smaller",
        )
    if several:
        reason = "it has several pages" if kind == "TIFF" else "it is animated"
        raise ImageError(name, reason, "save every picture as a file of its own")
    if image.mode not in (*PLAIN_MODES, *ALPHA_MODES, *DEEP_MODES):
        reason = _REFUSED_MODES.get(image.mode, f"it stores its colours as {image.mode}")
        raise ImageError(name, reason, "export it as RGB or grey with 8 or 16 bits per channel")
    if not set(bits) <= {1, 2, 4, 8, 16}:
        raise ImageError(name, f"it has {max(bits)} bits per channel", "export it with 8 or 16")
    return image


def check_file(path: Path, max_bytes: int) -> None:
    """Refuse what is missing or too long before it is opened, and what would block a reader (a pipe, a device)."""
    try:
        if not path.exists():
            raise ImageError(path.name, "there is no such file", "check the path")
        if not path.is_file():
            raise ImageError(path.name, "it is not a file", "name an image file")
        check_length(path.stat().st_size, path.name, max_bytes)
    except OSError as error:
        raise unreadable(path.name, error) from error


def check_length(length: int, name: str, max_bytes: int) -> None:
    """Refuse an empty file and one of more than `max_bytes` bytes."""
    if length == 0:
        raise ImageError(name, "the file is empty", "copy it again from the camera")
    if length > max_bytes:
        reason = f"the file has {length:,} bytes, more than the limit of {max_bytes:,}"
        raise ImageError(name, reason, "export it as PNG or JPEG, or crop it to the part")


def damaged(name: str, kind: str, error: BaseException) -> ImageError:
    """Return the ImageError for content that its decoder gave up on."""
    return ImageError(name, f"the {kind} is cut short or damaged ({error})", "copy it again from the camera")


def unreadable(name: str, error: OSError) -> ImageError:
    """Return the ImageError for a file that the system would not let us read."""
    return ImageError(
        name, f"the file cannot be read ({error.strerror or error})", "check its permissions and the disk"
    )


def _format(file: BinaryIO) -> str | None:
    """Return the format that the first bytes stand for, whatever the extension, or None; rewinds the file."""
    file.seek(0)
    start = file.read(12)
    file.seek(0)
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if start.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if start.startswith(b"BM"):
        return "BMP"
    if start.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")):
        return "TIFF"
    if start.startswith(b"RIFF") and start[8:] == b"WEBP":
        return "WebP"
    return None
