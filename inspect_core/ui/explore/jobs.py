"""What the Explore page has worked out: in the background, kept for every session of this process, bounded."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from torch import Tensor

from inspect_core.explore import points as explore
from inspect_core.explore import spectra
from inspect_core.explore.points import Points
from inspect_core.explore.spectra import LocalSpectrum
from inspect_core.explore.tsne import arrange
from inspect_core.images.read import ImageError, read, squash
from inspect_core.methods.table import METHODS
from inspect_core.runtime.jobs import Job, device_lock
from inspect_core.study.evaluation import truth_masks
from inspect_core.tuning import sensitivity
from inspect_core.tuning.patch_sample import PatchSample, explained
from inspect_core.tuning.sensitivity import Reading
from inspect_core.ui import shell
from inspect_core.ui.taught_part import InHand
from inspect_core.ui.teach import teaching

KEPT = 24
PATCHES = 2000
LEARNED_FROM = 48
STEPS_OF_TWO = (-3, -2, -1, 0, 1, 2, 3)


@dataclass(frozen=True)
class MapOrder:
    """A map to draw: of whole photos or of patches, before or after the detector's own mapping."""

    whole: bool
    mapped: bool


@dataclass(frozen=True, eq=False)
class DrawnMap:
    """Points and where they lie on the map, (n, 2)."""

    points: Points
    positions: np.ndarray


class Kept:
    """The latest results by key; the oldest go first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        with self._lock:
            return self._items.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        with self._lock:
            self._items[key] = value
            self._items.move_to_end(key)
            while len(self._items) > KEPT:
                self._items.popitem(last=False)


@st.cache_resource
def kept() -> Kept:
    return Kept()


def start(title: str, key: Hashable, work: Callable[[Job], Any]) -> None:
    """Work in the background and keep its result under `key`. Raises Busy while another job runs."""
    shelf = kept()
    shell.start(title, lambda job: shelf.put(key, work(job)))


def draw_map(hand: InHand, order: MapOrder, live: dict[str, int], limit: float, job: Job) -> DrawnMap:
    """Gather the points, look at them as the detector does if asked, and arrange them."""

    def looking(share: float, step: str) -> None:
        job.report(0.3 * share, step)

    with device_lock(hand.preparation.backbone.device):
        if order.whole:
            points = explore.whole_photos(hand.tray, lambda i: _embedding(hand, i), looking, **live)
        else:
            points = explore.sample_patches(
                hand.tray, lambda i: features(hand, i), truth_masks(hand.tray),
                limit=limit, count=max(PATCHES, len(hand.tray.photos)), report=looking, **live,
            )  # fmt: skip
    if order.mapped:
        points = explore.seen_by(hand.tray.method, hand.tray.detector, points, live.get(hand.tray.live_name or ""))
    positions = arrange(
        points, teaching.feature_store(), report=lambda share, step: job.report(0.3 + 0.7 * share, step)
    )
    return DrawnMap(points, positions)


def follow_live(hand: InHand, live: dict[str, int], job: Job) -> list[Reading]:
    """The figures at stops of the live parameter, the one in force among them."""
    stops = sensitivity.chosen_stops(hand.tray, live[hand.tray.live_name])
    return sensitivity.over_live(hand.tray, truth_masks(hand.tray), stops, job.report)


def follow_refits(hand: InHand, name: str, in_force: float, live: dict[str, int], job: Job) -> list[Reading]:
    """The figures at values of γ, M or σ about the one in force, each fitted on the patch sample of previews."""
    job.report(0.0, "drawing a sample of good patches")
    with device_lock(hand.preparation.backbone.device):
        sample = PatchSample.of(hand.study, lambda: job.cancelling)

        def fit_at(value: float) -> Any:
            return sample.fit({name: value}, lambda: job.cancelling)

        return sensitivity.over_refits(
            hand.tray, truth_masks(hand.tray), values_about(name, in_force), fit_at, lambda i: features(hand, i),
            share=float(explained(hand.tray.detector, [live[hand.tray.live_name]])[0]), report=job.report,
        )  # fmt: skip


def values_about(name: str, in_force: float) -> tuple[float, ...]:
    """Values to try around the one in force: an eighth of it to eight times it; M from a quarter to twice."""
    if name == "M":
        return tuple(max(2, round(in_force * 2**step)) for step in STEPS_OF_TWO if -2 <= step <= 1)
    return tuple(in_force * 2.0**step for step in STEPS_OF_TWO)


def local_spectrum(hand: InHand) -> LocalSpectrum:
    """The spectra of the fitted Gaussians, worked out once a fit."""
    key = ("spectrum", hand.id)
    if (found := kept().get(key)) is None:
        found = LocalSpectrum(hand.tray.detector.spectrum().cpu().numpy(), hand.tray.detector.images)
        kept().put(key, found)
    return found


def compare_embeddings(hand: InHand, job: Job) -> tuple[LocalSpectrum, LocalSpectrum]:
    """Spectra of good photos under mixed (semi-orthogonal) and under sampled channels, as wide as the fitted ones."""
    paths = [sample.path for sample in hand.study.split.fit][:LEARNED_FROM]

    def photos():
        for done, path in enumerate(paths):
            job.report(0.8 * done / len(paths), f"reading photo {done + 1} of {len(paths)}")
            try:
                yield squash(read(path).pixels, hand.preparation.backbone.size)
            except ImageError:
                continue  # named among the notes of the fit
        job.report(0.8, "comparing spectra")

    preparation = hand.preparation
    with device_lock(preparation.backbone.device):
        return spectra.compare_embeddings(
            photos(), preparation.backbone, k=preparation.width, grid=preparation.grid, nearest=preparation.nearest,
            seed=hand.study.seed,
        )  # fmt: skip


def features(hand: InHand, position: int) -> Tensor:
    """(1, h, w, k) patch features of a photo on the tray, from the store when it has them."""
    if hand.study is not None:
        return hand.study.features(hand.tray.photos[position])
    return hand.preparation.features(hand.pixels(position))


def refits(hand: InHand) -> tuple[str, ...]:
    """Parameters that a curve can follow by refitting: those of the method, when its photos are at hand."""
    return METHODS[hand.tray.method].refits if hand.study is not None else ()


def _embedding(hand: InHand, position: int) -> Tensor:
    backbone = hand.preparation.backbone
    return backbone.embed(squash(hand.pixels(position), backbone.size)[None])
