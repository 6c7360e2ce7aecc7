"""What a file of another tool says of one photo: its name, its label, and how its defects are marked."""

import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from PIL import Image

from inspect_core.datasets.dataset import Side
from inspect_core.images.header import require
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import process_folder
from inspect_core.runtime.wording import escape_line

PAINTED = "painted-masks"
"""The folder among the uploads in which masks of annotations lie."""
MOST_TYPES = 255
MOST_SHAPES = 1000  # most annotations of one photo: painting each takes a mask of the photo's size
LONGEST_NAME = 200


class ManifestError(ValueError):
    """A list of photos that cannot be used: the message names the place in it, the reason and the remedy."""

    def __init__(self, location: str, reason: str, remedy: str):
        super().__init__(f"{location}: {reason}; {remedy}")


class Annotation(NamedTuple):
    """Where the defects of a photo are, to be painted at its size.

    name: what to call them in a message; types: the defect types; paint: (height, width) -> (H, W) uint8, 0 where there
    is no defect, else the position of its type, counted from 1. It raises ImageError for marks that do not fit.
    """

    name: str
    types: tuple[str, ...]
    paint: Callable[[tuple[int, int]], np.ndarray]

    def save_mask(self, size: tuple[int, int]) -> tuple[Path, str]:
        """A mask among the uploads of the workspace, where it stays as long as a product names it, and the type that
        covers most pixels.

        Raises ImageError when nothing is marked, or the marks do not fit a photo of this size; OSError.
        """
        painted = self.paint(size)
        pixels = np.bincount(painted.ravel(), minlength=len(self.types) + 1)[1:]
        require(self.name, bool(pixels.any()), "nothing is marked", "mark the defect, or label the photo as good")
        content = np.ascontiguousarray((painted > 0) * np.uint8(255))
        folder = workspace.uploads_folder() / PAINTED
        folder.mkdir(parents=True, exist_ok=True)
        mask = folder / f"{hashlib.sha256(repr(size).encode() + content.tobytes()).hexdigest()[:32]}.png"
        if not mask.exists():
            new = process_folder(workspace.root() / "masks") / secrets.token_hex(8)
            Image.fromarray(content).save(new, "PNG")
            os.replace(new, mask)
        return mask, self.types[int(pixels.argmax())]


class ManifestEntry(NamedTuple):
    """What one place in a file says of a photo.

    photo: as the file names it; label: as `Vocabulary.label`, None for a label left empty; where: place in the file;
    marks: a defect's, or mask: the file of them as named; side: of a split; product: whose photo it is, "" if not said;
    says_label: whether the file has a label for it at all, even an empty one; marks_good: of an annotation without a
    defect, whether it has shapes, of a good class.
    """

    photo: str
    label: str | None
    where: str
    marks: Annotation | None = None
    mask: str = ""
    side: Side | Literal["unlabelled"] | None = None
    product: str = ""
    says_label: bool = True
    marks_good: bool | None = None


class Listing(NamedTuple):
    """What a file says: its photos, and sentences on what of it is not used."""

    entries: list[ManifestEntry]
    notes: tuple[str, ...] = ()


def display_name(reference: str) -> str:
    """The name of a photo in a file, escaped for display."""
    return escape_line(reference)[:LONGEST_NAME]
