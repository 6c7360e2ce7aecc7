"""EfficientNet-Lite0's embeddings of crops: nine places of every photo, so that few photos give many vectors."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import split
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.extraction import Crop, embeddings_of
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import digest, read, read_mask
from inspect_core.runtime import workspace

PLACES = 9
"""Windows of half the sides, three by three, each half over the next."""


@dataclass(frozen=True, eq=False)
class Crops:
    """learned (n, 9, d), test (m, 9, d): of good photos; defects (k, d): of the window nearest each defect's middle;
    defect_places: (k,), 0 to 8.
    """

    learned: np.ndarray
    test: np.ndarray
    defects: np.ndarray
    defect_places: np.ndarray


def crops_of(folder: Path, *, most: int = 60) -> Crops:
    """Of at most `most` good photos to learn from and as many to judge, and of all defects with a mask."""
    backbone = load("efficientnet_lite0")
    store = FeatureStore(workspace.features_folder())
    photos = split(scan(folder), seed=0)
    learned = [*photos.train, *photos.calibration][:most]
    test = [sample for sample in photos.test if sample.label == "good"][:most]
    marked = [sample for sample in photos.test if sample.mask is not None][:most]
    places = np.array([_place(sample) for sample in marked], int)
    every = [[embedding_of(_window(sample, place), backbone, store) for place in range(PLACES)] for sample in learned]
    shown = [[embedding_of(_window(sample, place), backbone, store) for place in range(PLACES)] for sample in test]
    faulty = [
        embedding_of(_window(sample, place), backbone, store) for sample, place in zip(marked, places, strict=True)
    ]
    return Crops(np.array(every), np.array(shown), np.array(faulty), places)


def windows_of(folder: Path, count: int) -> list[np.ndarray]:
    """The middle window of so many good photos, as pixels."""
    photos = split(scan(folder), seed=0)
    return [_window(sample, PLACES // 2) for sample in photos.train[:count]]


def embedding_of(pixels: np.ndarray, backbone: Backbone, store: FeatureStore) -> np.ndarray:
    """(d,) float32 of (H, W, 3) uint8, from the store where it is."""
    pixels = np.ascontiguousarray(pixels)
    [embedding] = embeddings_of([Crop(digest(pixels), lambda: pixels)], backbone, store)
    return embedding


def _window(sample: PhotoFile, place: int) -> np.ndarray:
    pixels = read(sample.path, sample.depth).pixels
    height, width = pixels.shape[:2]
    top, left = (place // 3) * height // 4, (place % 3) * width // 4
    return pixels[top : top + height // 2, left : left + width // 2]


def _place(sample: PhotoFile) -> int:
    height, width = sample.size
    row, column = (axis.mean() for axis in np.nonzero(read_mask(sample.mask, sample.size)))
    return 3 * int(np.clip(round(4 * row / height - 1), 0, 2)) + int(np.clip(round(4 * column / width - 1), 0, 2))
