"""What the benchmarks of the main job are measured on: how much of it, which photos, which network."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.measure import SAMPLES
from inspect_core.datasets.folders import Dataset, Split, scan, split
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.store import FeatureStore
from inspect_core.images.tolerances import Tolerances
from inspect_core.methods.fitted_method import with_taps
from inspect_core.methods.registry import JOIN, methods_of
from inspect_core.study.study import Study

BACKBONE = "efficientnet_lite0"
SAMPLE = SAMPLES / "flange"


@dataclass(frozen=True)
class Setting:
    """How large a measurement is.

    size: (H, W) pixels that enter the network; sides: of the square patch grids; k: embedded features; good: images
    of the fit without a network; shown: photos on the bench; of_sample: photos taken of each part of the sample's
    split, None for all; repeats: of what takes milliseconds; runs: of what takes seconds; photo_counts: numbers of
    photos whose peaks of memory are compared.
    """

    size: tuple[int, int] = (256, 256)
    sides: tuple[int, ...] = (32, 64)
    k: int = 100
    good: int = 300
    shown: int = 100
    of_sample: int | None = None
    repeats: int = 40
    runs: int = 3
    photo_counts: tuple[int, ...] = (200, 5000)


FULL = Setting()
QUICK = Setting(
    size=(128, 128), sides=(8, 16), k=10, good=6, shown=10, of_sample=6, repeats=2, runs=1, photo_counts=(10, 15)
)
"""Only to see that everything runs; its figures say nothing."""


@lru_cache(maxsize=1)
def sample() -> Dataset:
    """The bundled sample part: 60 good photos to learn from, 20 good and 20 defects to judge."""
    return scan(SAMPLE)


def taught(setting: Setting) -> Split:
    """The sample's photos as the app splits them."""
    parts = split(sample(), seed=0)
    return Split(*(_some(part, setting.of_sample) for part in parts))


def all_shown(setting: Setting) -> Split:
    """The same photos to fit and to set limits, and `shown` on the bench: the fitted ones are among them, so only time
    may be read.
    """
    fit, calibrate, _ = taught(setting)
    others = sorted({*sample().good, *sample().defects} - {*calibrate}, key=lambda photo: photo.name)
    return Split(fit, calibrate, _some(tuple(others), setting.shown - len(calibrate)))


def network(setting: Setting) -> Backbone:
    """The backbone on the CPU, which the budgets are for, with its graph at hand."""
    return _network(setting.size)


def study(
    setting: Setting,
    photos: Split,
    side: int,
    store: FeatureStore,
    *,
    method: str = "mahalanobis",
    tolerances: Tolerances | None = None,
) -> Study:
    """An unfitted study of `photos` on a side x side grid."""
    parameters = {"k": setting.k} if method == "mahalanobis" else {}
    order = {"method": method, "parameters": parameters, "grid": (side, side), "tolerances": tolerances}
    backbone, taps = network(setting), None
    if JOIN in method:
        backbone, taps = with_taps(methods_of(method), BACKBONE, size=setting.size, device="cpu")
    return Study.from_photos(photos, backbone, store, taps=taps, **order)


def with_head(setting: Setting) -> Backbone:
    """The same with the graph that the guard needs at hand too."""
    network(setting).embed(_black(setting.size))
    return network(setting)


def _some(photos: tuple, count: int | None) -> tuple:
    """`count` photos spread evenly over the given ones, all when None."""
    if count is None or count >= len(photos):
        return photos
    return tuple(photos[i * len(photos) // count] for i in range(count))


def _black(size: tuple[int, int]) -> np.ndarray:
    return np.zeros((1, *size, 3), np.uint8)


@lru_cache(maxsize=2)
def _network(size: tuple[int, int]) -> Backbone:
    backbone = load(BACKBONE, size=size, device="cpu")
    backbone.tap_maps(_black(size))
    return backbone
