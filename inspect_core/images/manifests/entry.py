"""An entry for one photo in a file of another tool: its name, its label, and how its defects are marked."""

import hashlib
import os
import secrets
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from inspect_core.images.header import ImageError
from inspect_core.images.layout import is_good_word
from inspect_core.images.samples import GOOD, ScanError, shown
from inspect_core.runtime import workspace
from inspect_core.runtime.unfinished import process_folder

MOST_BYTES = 100 * 2**20
MOST_ENTRIES = 100_000
MOST_TYPES = 255
MOST_SHAPES = 1000  # most annotations of one photo: painting each takes a mask of the photo's size
LONGEST_LABEL = 80
LONGEST_NAME = 200
_GOOD_NUMBERS = ("0", "0.0")


class ManifestError(ScanError):
    """A file that lists photos and cannot be used: the message names it, the place in it, the reason, the remedy."""

    def __init__(self, path: Path, where: str, reason: str, remedy: str):
        super().__init__(f"{path.name}, {where}: {reason}; {remedy}")


class Marks(NamedTuple):
    """Where the defects of a photo are, to be painted at its size.

    name: what to call them in a message; types: the defect types; paint: (height, width) -> (H, W) uint8, 0 where there
    is no defect, else the position of its type, counted from 1. It raises ImageError for marks that do not fit.
    """

    name: str
    types: tuple[str, ...]
    paint: Callable[[tuple[int, int]], np.ndarray]

    def kept(self, size: tuple[int, int]) -> tuple[Path, str]:
        """A mask in the workspace, which stays until the process ends, and the type that covers most pixels.

        Raises ImageError when nothing is marked, or the marks do not fit a photo of this size; OSError.
        """
        painted = self.paint(size)
        pixels = np.bincount(painted.ravel(), minlength=len(self.types) + 1)[1:]
        if not pixels.any():
            raise ImageError(self.name, "nothing is marked", "mark the defect, or label the photo as good")
        content = np.ascontiguousarray((painted > 0) * np.uint8(255))
        folder = process_folder(workspace.root() / "masks")
        mask = folder / f"{hashlib.sha256(repr(size).encode() + content.tobytes()).hexdigest()[:32]}.png"
        if not mask.exists():
            new = folder / secrets.token_hex(8)
            Image.fromarray(content).save(new, "PNG")
            os.replace(new, mask)
        return mask, self.types[int(pixels.argmax())]


class Entry(NamedTuple):
    """photo: as the file names it; kind: `GOOD`, a defect type, or None without a label; where: its place in the file;
    marks: of a defect, None when it has none.
    """

    photo: str
    kind: str | None
    where: str
    marks: Marks | None = None


def named(reference: str) -> str:
    """The name of a photo in a file, escaped for display."""
    return shown(reference)[:LONGEST_NAME]


def kind_of(label: object) -> str | None:
    """`GOOD` for 0 and for a word that says so, the label itself for any other; None for an empty one."""
    text = " ".join(shown(str("" if label is None else label)).split())[:LONGEST_LABEL]
    if not text:
        return None
    return GOOD if text in _GOOD_NUMBERS or is_good_word(text) else text


def content_of(path: Path) -> bytes:
    """The bytes of a file that lists photos. Raises ManifestError for a large one, OSError for an unreadable one."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ManifestError(path, "the file", f"it is larger than {MOST_BYTES >> 20} MB", "split it into several")
    return content


def text_of(path: Path) -> str:
    """Its text: UTF-8, or UTF-16 with a byte order mark. Raises ManifestError for another, and as `content_of`."""
    content = content_of(path)
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ManifestError(path, f"line {line}", "it is not UTF-8 text", "save it as UTF-8") from error


def check_count(path: Path, entries: Collection) -> None:
    """Raise ManifestError when a file lists too many photos, or none."""
    if not entries:
        raise ManifestError(path, "the file", "it lists no photo", "export it again with its photos")
    if len(entries) > MOST_ENTRIES:
        raise ManifestError(path, "the file", f"it lists more than {MOST_ENTRIES:,} photos", "split it into several")
