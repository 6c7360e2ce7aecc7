"""Small photos side by side in one picture."""

import itertools
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.images.boxes import downscale
from inspect_core.images.depth import Depth
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.line.html_page import data_url, webp

ACROSS = 12
"""Photos in a row."""
SIDE = 76
"""Pixels of a photo."""
GAP = 4
"""Pixels between two."""


def small(samples: Iterable[PhotoFile]) -> list[np.ndarray]:
    """(h, w, 3) uint8 of the photos that can still be read, with the longer side SIDE."""
    samples = list(samples)
    return small_of((sample.path for sample in samples), [sample.depth for sample in samples])


def small_of(paths: Iterable[Path], depths: Iterable[Depth | None] = ()) -> list[np.ndarray]:
    """The same of the photos at paths, read at these depths, None where there are no more."""
    thumbnails = []
    for path, depth in zip(paths, itertools.chain(depths, itertools.repeat(None)), strict=False):
        try:
            thumbnails.append(downscale(read(path, depth).pixels, SIDE))
        except ImageError:
            continue
    return thumbnails


def sheet(photos: list[np.ndarray], *, room: int = 0, across: int = ACROSS) -> str:
    """The data URL of photos in rows of `across`, each letterboxed; room: for how many there is, so that nothing
    moves. Streamlit decodes every other picture and writes it as PNG, at each run.
    """
    step = SIDE + GAP
    drawn = Image.new("RGBA", (across * step, max(1, -(-max(room, len(photos)) // across)) * step))
    for number, photo in enumerate(photos):
        left, top = (SIDE - photo.shape[1]) // 2, (SIDE - photo.shape[0]) // 2
        drawn.paste(Image.fromarray(photo), (number % across * step + left, number // across * step + top))
    return data_url(webp(drawn))
