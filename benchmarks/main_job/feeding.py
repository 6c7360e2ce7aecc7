"""Photos from file to verdict beside a network that costs nothing: what this program leaves a GPU to do.

A recipe of the sample part with its product check is served to one process, then to two, as a GPU's would be; in place
of network and detectors stand the errors of one good photo. Counted are photos a second, and the CPU time of a photo in
the processes and in this one, which gathers batches and keeps table, journal and log. What 16 cores would feed follows:
this process bounds it by its own time, all together by the sum. Photos are JPEGs of a megapixel.
"""

import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import cv2
import numpy as np

from benchmarks.main_job.setting import QUICK, Setting, sample, study, taught, with_head
from benchmarks.measure import cpu_seconds, spread
from inspect_core.audit.log import AuditLog
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.batch import Outputs, Photo, photos_of, run
from inspect_core.recipe import LoadedRecipe
from inspect_core.sharding.inspection_tasks import judging_on
from inspect_core.sharding.network_client import TOGETHER
from inspect_core.sharding.processes import Processes
from inspect_core.tuning.product_check_training import train_product_check

SIDES = 1024, 1024
PHOTOS = 400
GPU_CORES = 16
"""Of the machine whose GPU was 4 % busy when threads of one process fed it."""


class CostsNothing(LoadedRecipe):
    """A recipe that takes batches and gives every photo what it gave the first."""

    at_once = 8 * TOGETHER

    def compute_errors(
        self, pictures: Sequence[np.ndarray], wholes: Sequence[np.ndarray] | None = None
    ) -> tuple[np.ndarray, ...]:
        if not hasattr(self, "first"):
            self.first = super().compute_errors(pictures[:1], None if wholes is None else wholes[:1])
        np.stack(pictures)  # as a GPU's batch is gathered
        return tuple(np.repeat(rows, len(pictures), axis=0) for rows in self.first)


def figures(setting: Setting) -> dict:
    """Of one and of two processes: photos a second, milliseconds of CPU a photo; their ratio; the forecast."""
    count = 24 if setting == QUICK else PHOTOS
    with tempfile.TemporaryDirectory(prefix="loupe-feeding-") as folder:
        root = Path(folder)
        inspector = _inspector(setting, root / "features")
        photos = _jpegs(root / "photos", count)
        by_processes = {}
        for processes in (1, 2):
            turns = [_turn(inspector, photos, processes, root / f"{processes}-{turn}") for turn in range(setting.runs)]
            by_processes[f"{processes}"] = {
                "rate": spread([turn["rate"] for turn in turns], "photos_per_s"),
                "worker": spread([turn["worker_ms"] for turn in turns], "ms"),
                "main": spread([turn["main_ms"] for turn in turns], "ms"),
            }
    single, double = by_processes["1"], by_processes["2"]
    main_ms, worker_ms = (double[name]["median_ms"] for name in ("main", "worker"))
    return {
        "photos": count,
        "sides": SIDES,
        "processes": by_processes,
        "two_to_one": double["rate"]["median_photos_per_s"] / single["rate"]["median_photos_per_s"],
        "forecast_photos_per_s": min(1000 / main_ms, 1000 * GPU_CORES / (main_ms + worker_ms)),
    }


def _turn(inspector: LoadedRecipe, photos: Sequence[Photo], count: int, root: Path) -> dict[str, float]:
    """One batch, once the processes have started and opened the recipe."""
    root.mkdir()
    with (
        closing(Processes(count)) as pool,
        judging_on(pool, inspector, root) as judging,
        AuditLog.open(f"sqlite:///{root / 'log.sqlite'}") as log,
    ):
        record = AuditRecord(log, inspector, "benchmark")
        run(inspector, photos[: 32 * count], Outputs(root / "warm.csv"), judging=judging, record=record)
        ids = pool.ids
        began, here, there = time.perf_counter(), time.process_time(), sum(map(cpu_seconds, ids))
        run(inspector, photos, Outputs(root / "table.csv"), judging=judging, record=record)
        took, main = time.perf_counter() - began, time.process_time() - here
        workers = sum(map(cpu_seconds, ids)) - there
    return {"rate": len(photos) / took, "main_ms": 1000 * main / len(photos), "worker_ms": 1000 * workers / len(photos)}


def _inspector(setting: Setting, features: Path) -> LoadedRecipe:
    photos = taught(setting)
    backbone = with_head(setting)
    check = train_product_check(backbone, photos.train, photos.calibration)
    fitted = study(setting, photos, setting.sides[0], FeatureStore(features)).fit()
    return CostsNothing(fitted.recipe(product_check=check), backbone)


def _jpegs(folder: Path, count: int) -> list[Photo]:
    """`count` photos of good sample parts, enlarged to SIDES, each with noise of its own."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    originals = [cv2.resize(read(photo.path).pixels, SIDES[::-1]) for photo in sample().good]
    for number in range(count):
        pixels = np.clip(originals[number % len(originals)] + rng.normal(0, 3, (*SIDES, 3)), 0, 255).astype(np.uint8)
        cv2.imwrite(str(folder / f"{number:04}.jpg"), pixels[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 90])
    return photos_of([folder])
