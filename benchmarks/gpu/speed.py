"""How fast photos become features and verdicts on a device, how fast they are taught, and what keeps it waiting."""

import os
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import safetensors.torch
import torch

from benchmarks.gpu.setting import LITE, Clock, GpuSetting
from benchmarks.main_job.setting import sample
from benchmarks.measure import own_peak_mb
from inspect_core.datasets.dataset import PhotoFile
from inspect_core.datasets.folders import Dataset, Split, scan
from inspect_core.features.backbone_catalogue import spec_of
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.line.batch import Outputs, run
from inspect_core.line.photo_inspection import inspect_photo
from inspect_core.recipe import LoadedRecipe
from inspect_core.runtime.ordered_pool import CORES, in_order
from inspect_core.runtime.progress import ignore_progress
from inspect_core.study.photo_features import PhotoFeatures
from inspect_core.study.study import Study
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.teaching import teach

LONG = 5.0
"""Seconds that a rate is measured for, if there are photos enough."""
TAUGHT = 40
"""Photos that a detector learns from before its speed is measured."""
EVERY = 0.1
"""Seconds between two looks at how busy the GPU is."""


def write_photos(folder: Path, count: int, side: int) -> Dataset:
    """Write `count` different JPEGs of good parts of the sample, `side` pixels wide and high, and return them."""
    originals = [cv2.resize(read(photo.path).pixels, (side, side)) for photo in sample().good]
    folder.mkdir(parents=True)

    def write(number: int) -> None:
        rng = np.random.default_rng(number)
        moved = np.roll(originals[number % len(originals)], rng.integers(-3, 4, 2), axis=(0, 1))
        noisy = cv2.add(moved, rng.integers(0, 4, moved.shape, dtype=np.uint8))
        cv2.imwrite(str(folder / f"{number:05d}.jpg"), noisy[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 92])

    deque(in_order(write, range(count), threads=CORES), maxlen=0)
    return scan(folder)


def network(name: str, device: str, scratch: Path) -> Backbone:
    """A network of the catalogue, or of timm, on a device; all but LITE with weights that are drawn."""
    if name == LITE:
        return load(name, device=device)
    spec, side = spec_of(name, has_weights=True), 224 if name.startswith("vit") else 256
    weights = scratch / f"{name}.safetensors"
    if not weights.exists():
        torch.manual_seed(0)
        state = {key: value.contiguous() for key, value in spec.build((side, side)).state_dict().items()}
        safetensors.torch.save_file(state, weights)
    return load(name, size=(side, side), device=device, weights=weights, cache=scratch / "onnx")


def rates(backbone: Backbone, photos: Sequence[PhotoFile], store: FeatureStore) -> dict[str, float | None]:
    """Photos a second from file to features and from file to verdict, one at a time and in full batches, and
    what was busy meanwhile.
    """
    parts = Split(tuple(photos[:TAUGHT]), (), tuple(photos[TAUGHT : TAUGHT + 10]))
    study = Study.from_photos(parts, backbone, store, method="mahalanobis").fit()
    inspector = LoadedRecipe(study.recipe(), backbone)
    named = [(sample.name, sample.path) for sample in photos]
    first = named[: 2 * backbone.at_once]
    run(inspector, first, Outputs())  # loads kernels
    expected = len(first) / _seconds(lambda: run(inspector, first, Outputs()))
    count = min(len(photos), max(len(first), round(LONG * expected)))
    photos, named = photos[:count], named[:count]
    figures: dict[str, float | None] = {"at_once": backbone.at_once}
    figures["one_at_a_time_per_s"] = _rate(inspect_photo(inspector, *photo) for photo in named)
    streamed = {sample.name for sample in photos}
    features = PhotoFeatures.here(study.extractor, FeatureStore(store.folder / "none"), streamed)
    with busy(backbone.device) as shares:
        took = _seconds(lambda: deque(features.in_batches(lambda batch: [None] * len(batch), photos), maxlen=0))
    figures |= {"features_per_s": len(photos) / took} | shares.as_figures("features")
    with busy(backbone.device) as shares:
        took = _seconds(lambda: run(inspector, named, Outputs()))
    return figures | {"verdicts_per_s": len(photos) / took} | shares.as_figures("verdicts")


def taught(device: str, dataset: Dataset, count: int, store: FeatureStore) -> dict[str, float | None]:
    """The seconds in which so many photos are taught, product check included, and peaks of memory."""
    good = dataset.good[:count]
    order = TeachingConfig("timing", Split(good, (), ()), method="mahalanobis", device=device)
    on_gpu = device != "cpu"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    chosen = torch.device("cuda" if on_gpu else "cpu")
    with busy(chosen) as shares:
        seconds = _seconds(partial(teach, order, store, ignore_progress))
    peak = {"gpu_peak_mb": torch.cuda.max_memory_allocated() / 2**20} if on_gpu else {}
    return {"seconds": seconds, "peak_mb": own_peak_mb()} | peak | shares.as_figures("teaching")


def measured(device: str, setting: GpuSetting, clock: Clock, bits: Callable[[Backbone], bool]) -> dict[str, dict]:
    """By device (the CPU beside it) and network its rates and whether its bits agree, and the fits."""
    figures: dict[str, dict] = {}
    with tempfile.TemporaryDirectory(prefix="loupe-gpu-") as folder:
        scratch = Path(folder)
        dataset = write_photos(scratch / "photos", max(*setting.fits, setting.inspected), setting.side)
        photos = dataset.good
        for where in dict.fromkeys((device, "cpu")):
            of_device = figures.setdefault(where, {"networks": {}, "fits": {}})
            store = FeatureStore(scratch / where / "features")
            for count in setting.fits[: None if where == device else 1]:
                if clock.allows(f"teaching {count} photos on {where}", 10 + count / (100 if where != "cpu" else 25)):
                    fresh = FeatureStore(scratch / where / f"features of {count}")
                    of_device["fits"][str(count)] = taught(where, dataset, count, fresh)
            for name in setting.networks:
                if clock.allows(f"{name} on {where}", 25 if where == device else 45):
                    backbone = network(name, where, scratch)
                    equal = {"same_bits_in_any_batch": bits(backbone)}
                    of_device["networks"][name] = rates(backbone, photos[: setting.inspected], store) | equal
    return figures


@dataclass(eq=False)
class Busy:
    """gpu: looks at how busy it was, 0 to 1; cores: share of all cores that this process used."""

    gpu: list[float] = field(default_factory=list)
    cores: float = 0.0

    def as_figures(self, name: str) -> dict[str, float | None]:
        return {f"{name}_gpu_busy": float(np.mean(self.gpu)) if self.gpu else None, f"{name}_cores_busy": self.cores}


@contextmanager
def busy(device: torch.device) -> Iterator[Busy]:
    """Watch the device, where it tells how busy it is, and the cores until the end of the block."""
    shares, ended = Busy(), threading.Event()

    def look() -> None:
        while not ended.wait(EVERY):
            try:
                shares.gpu.append(torch.cuda.utilization(device) / 100)
            except (ImportError, RuntimeError, OSError):  # without NVIDIA's library
                return

    watcher = threading.Thread(target=look, daemon=True)
    if device.type == "cuda":
        watcher.start()
    wall, used = time.perf_counter(), time.process_time()
    try:
        yield shares
    finally:
        ended.set()
        shares.cores = (time.process_time() - used) / (time.perf_counter() - wall) / (os.cpu_count() or 1)
        if watcher.is_alive():
            watcher.join()


def _rate(results: Iterator[object]) -> float:
    """How many results a second come, for LONG seconds or until all have come."""
    began, count = time.perf_counter(), 0
    for _ in results:
        count += 1
        if time.perf_counter() - began > LONG:
            break
    return count / (time.perf_counter() - began)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
