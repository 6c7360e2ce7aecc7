"""Teaching: the fit of localized Mahalanobis without the network, a sample part from folder to guard, and extraction.

Steps of teaching are those of the Teach page: scan and split, extract, fit, teach the guard, into an empty
feature store. The exported network is there already, as on every start but the first.
"""

import math
import tempfile

import numpy as np
import torch

from benchmarks.main_job.setting import SAMPLE, Setting, network, study, taught, with_head
from benchmarks.measure import Stopwatch, spread
from inspect_core.datasets.folders import Split, scan, split
from inspect_core.detectors.mahalanobis import semi_orthogonal
from inspect_core.features.store import FeatureStore
from inspect_core.methods.method import Patches
from inspect_core.methods.registry import CANDIDATES
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.runtime.threads import cores
from inspect_core.study.statistics_gathering import FitPlan, merged, shards_of
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.comparison_result import Comparison
from inspect_core.tuning.detector_comparison import compare
from inspect_core.tuning.product_check_training import train_product_check
from inspect_core.tuning.teaching import teach

GIGABYTES = 10**9


def figures(setting: Setting) -> dict:
    """Seconds of fits on each grid and of teaching the sample, and photos a second of extraction."""
    results = {f"{side}x{side}": fit_alone(setting, side) for side in setting.sides}
    return results | {"sample": sample_part(setting), "default": by_default(setting), "threads": cores()}


def fit_alone(setting: Setting, side: int) -> dict:
    """The fit as a study runs it, on features in memory, and read back from the feature store."""
    width = sum(network(setting).tap_channels)
    columns = semi_orthogonal(width, setting.k)
    shape = (1, side, side, setting.k)
    one_photo = 4 * math.prod(shape)
    with tempfile.TemporaryDirectory(prefix="loupe-features-") as folder:
        store = FeatureStore(folder, limit=2 * setting.good * one_photo + GIGABYTES)
        rng = np.random.default_rng(0)
        falling = 1 / np.sqrt(np.arange(1, setting.k + 1, dtype=np.float32))
        features = []
        for number in range(setting.good):
            features.append(torch.from_numpy(rng.standard_normal(shape, np.float32) * falling))
            store.put(f"{number}", features[-1].numpy())

        def stored(number: int) -> list[tuple[torch.Tensor]]:
            return [(torch.from_numpy(store.get(f"{number}", shape)),)]

        fit = FitPlan(
            ("mahalanobis",), (0,), (Patches(setting.good, (side, side), setting.k),), (columns,),
            ({"k": setting.k, "ridge": 0.01},), 0,
        )  # fmt: skip
        watch = Stopwatch()
        photos = range(setting.good)
        for _ in range(setting.runs + 1):
            for name, features_of in (("fit", lambda number: [(features[number],)]), ("fit_from_store", stored)):
                watch.start()
                shards = (fit.shard((i, features_of(i)) for i in numbers) for numbers in shards_of(len(photos)))
                fit.finish(merged(fit, shards))
                watch.lap(name)
    return {"images": setting.good} | _in_seconds(watch, skip=1)


def sample_part(setting: Setting) -> dict:
    """Steps of teaching the sample part, their sum, and photos a second from file to stored features."""
    with_head(setting)
    watch = Stopwatch()
    photos = sum(map(len, taught(setting)))
    for _ in range(setting.runs):
        with tempfile.TemporaryDirectory(prefix="loupe-features-") as folder:
            watch.start()
            split(scan(SAMPLE), seed=0)
            watch.lap("scan")
            session = study(setting, taught(setting), setting.sides[0], FeatureStore(folder))
            watch.start()
            session.extract()
            watch.lap("extract")
            session = session.fit()
            watch.lap("fit")
            train_product_check(session.extractor.backbone, session.split.train, session.split.calibration)
            watch.lap("guard")
    timings = watch.took
    totals = np.sum(list(timings.values()), axis=0) / 1000
    per_second = [1000 * photos / seconds for seconds in timings["extract"]]
    return _in_seconds(watch) | {
        "photos": photos,
        "teach": spread(totals.tolist(), "s"),
        "extraction": spread(per_second, "photos_per_s"),
    }


def by_default(setting: Setting) -> dict:
    """What *Teach* does with the sample's good photos when nothing is chosen; and the fit of all candidates on them,
    with made-up defects, which it did before it chose by place.
    """
    fit, calibrate, _ = taught(setting)
    photos = Split((*fit, *calibrate), (), ())
    order = TeachingConfig("part", photos, size=setting.size, grid=(setting.sides[0],) * 2)
    watch = Stopwatch()
    for _ in range(setting.runs):
        for name, work in (("teach", teach), ("compare", compared)):
            with tempfile.TemporaryDirectory(prefix="loupe-features-") as folder:
                watch.start()
                work(order, FeatureStore(folder), ignore_progress)
                watch.lap(name)
    return _in_seconds(watch) | {"photos": len(photos.train)}


def compared(order: TeachingConfig, store: FeatureStore, report: Report) -> Comparison:
    """All candidates for a new folder."""
    return compare(order, store, report, CANDIDATES, with_test_photos=False)


def _in_seconds(watch: Stopwatch, *, skip: int = 0) -> dict:
    return {name: spread([value / 1000 for value in values[skip:]], "s") for name, values in watch.took.items()}
