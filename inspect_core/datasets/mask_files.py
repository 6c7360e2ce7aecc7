"""Files that mark the defects of a photo: told from photos by their content, empty or not, and joined where several
mark one photo.
"""

from pathlib import Path, PurePosixPath

import numpy as np

from inspect_core.datasets.manifests.manifest_entry import Annotation
from inspect_core.datasets.verdict_words import UNNAMED
from inspect_core.images.header import ALPHA_MODES, ImageError, open_header, open_photo
from inspect_core.images.photo_reader import read_mask

MASK_LEVELS = 32
"""Most grey levels of a mask; a photo in the place of one has more."""
_JPEG_MARK = 128
"""Least grey level of a mark in a JPEG, whose compression leaves specks around every edge."""


def is_drawn(path: Path) -> bool:
    """Whether an image has so few grey levels that it is a mask, not a photo; False for one that is damaged, and
    for a JPEG.
    """
    try:
        with open_photo(path) as file:
            image = open_header(file, path.name)
            return image.format != "JPEG" and image.convert("L").getcolors(MASK_LEVELS) is not None
    except (ImageError, OSError):
        return False


def is_marked(path: Path) -> bool:
    """Whether a mask marks anything, in its colours, its palette or its alpha; one that cannot be read does, so that
    its photo is not taken for good.
    """
    try:
        with open_photo(path) as file:
            image = open_header(file, path.name)
            least = _JPEG_MARK if image.format == "JPEG" else 1
            values = np.asarray(image)
            has_alpha = image.mode in ALPHA_MODES or "transparency" in image.info
            colours = values[..., :-1] if image.mode in ALPHA_MODES else values
            return int(colours.max()) >= least or (has_alpha and int(np.ptp(values[..., -1:])) > 0)
    except (ImageError, OSError):
        return True


def joined(root: Path, files: tuple[PurePosixPath, ...]) -> Annotation:
    """What several masks below `root` mark together."""

    def paint(size: tuple[int, int]) -> np.ndarray:
        return np.logical_or.reduce([read_mask(root / file, size) for file in files]).astype(np.uint8)

    return Annotation(str(files[0].parent), (UNNAMED,), paint)
