"""Peak memory of teaching, by number of photos: each count in a process of its own, from the scan to the recipe.

The photos are the sample's, each shifted, re-lit and saved as a file of its own, so that every one is read, goes
through the network and is stored. A flat folder of good photos is split 60 / 20 / 20 as the app does, which puts two
fifths of them on the bench. Peaks are cumulative: that of a step holds those before it.
"""

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.main_job.setting import QUICK, Setting, sample, study, with_head
from benchmarks.measure import in_own_process, own_peak_mb, resident_mb
from inspect_core.datasets.folders import scan, split
from inspect_core.datasets.grouping import ungrouped
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.runtime import workspace
from inspect_core.runtime.process_settings import set_up_process
from inspect_core.tuning.product_check_training import train_product_check

QUALITY = 90


def figures(setting: Setting) -> dict:
    """Peaks for each count, the growth from the least to the most photos, and the peak of the very first start.

    `fit` is the budget's: scan, extraction, fit, limit and recipe. `app` also teaches the guard.
    """
    quick = ["--quick"] if setting == QUICK else []
    with tempfile.TemporaryDirectory(prefix="loupe-memory-") as folder:
        root = Path(folder)
        make_photos(root / "few", min(setting.photo_counts))
        ask = ["benchmarks.main_job.memory", *quick]
        first = in_own_process([*ask, str(root / "few")], workspace=root / "workspace")
        results = {"first_start_with_export": first}
        for count in setting.photo_counts:
            photos = root / f"photos-{count}"
            make_photos(photos, count)
            results[f"{count}"] = in_own_process([*ask, str(photos)], workspace=root / "workspace")
    least, most = (results[f"{count}"] for count in (min(setting.photo_counts), max(setting.photo_counts)))
    return results | {
        "fit_growth": most["fit_peak_mb"] / least["fit_peak_mb"] - 1,
        "app_growth": most["app_peak_mb"] / least["app_peak_mb"] - 1,
        "fit_peak_mb": most["fit_peak_mb"],
        "app_peak_mb": most["app_peak_mb"],
    }


def make_photos(folder: Path, count: int) -> None:
    """`count` different photos of good sample parts in one flat folder."""
    folder.mkdir(parents=True)
    originals = [read(photo.path).pixels for photo in sample().good]
    rng = np.random.default_rng(0)
    for number in range(count):
        shift = rng.integers(-4, 5, 2)
        light = rng.uniform(0.95, 1.05)
        moved = np.roll(originals[number % len(originals)], shift, axis=(0, 1))
        pixels = np.clip(moved * light + rng.integers(0, 3, (*moved.shape[:2], 1)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:05d}.jpg", quality=QUALITY)


def teach(folder: Path, setting: Setting) -> dict:
    """MB at the end of each step of teaching the photos of `folder` on the first of the grids."""
    steps: dict[str, dict[str, float]] = {}
    began = time.perf_counter()

    def done(step: str) -> None:
        steps[step] = {"peak_mb": own_peak_mb(), "seconds": time.perf_counter() - began, **resident_mb()}

    done("start")
    dataset = scan(folder)
    photos = split(dataset, seed=0, groups=ungrouped(dataset))
    done("scan")
    with tempfile.TemporaryDirectory(prefix="features-", dir=workspace.root().parent) as features:
        store = FeatureStore(features)
        session = study(setting, photos, setting.sides[0], store)
        done("network")
        session.extract()
        done("extract")
        session = session.fit()
        done("fit")
        session.recipe(product="part")
        done("limit")
        fit_peak = own_peak_mb()
        with_head(setting)
        done("network with head")
        train_product_check(session.extractor.backbone, session.split.train, session.split.calibration)
        done("guard")
    counts = {"fit": len(photos.train), "shown": len(photos.calibration) + len(photos.test)}
    return counts | {"fit_peak_mb": fit_peak, "app_peak_mb": own_peak_mb(), "steps": steps}


def main() -> None:
    parser = argparse.ArgumentParser(description="Teach the photos of a folder and print the memory it took as JSON.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    setting = QUICK if options.quick else Setting()
    warnings.simplefilter("ignore", UserWarning)
    set_up_process()
    print(json.dumps(teach(options.folder, setting)))


if __name__ == "__main__":
    main()
