"""Quality against the number of good photos, and against the share of defects hidden among them, by detector.

python -m benchmarks.studies.engineers

The detectors of which the app begins with one, that one, and three single ones, on the sample parts; 5 photos to all,
and 0, 5 and 10 % hidden among all. Taught as the app does: all of them are learned from with a copy each, and folds set
the limits. The photos to judge stay the same. Three seeds, --quick: one.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from benchmarks.measure import sets
from benchmarks.methods.defects_among_good import mixed
from benchmarks.methods.limits_from_few import case
from benchmarks.studies.common import line, panels, run
from inspect_core.datasets.dataset import Dataset
from inspect_core.datasets.folders import scan
from inspect_core.datasets.grouping import propose_groups
from inspect_core.datasets.splitting import Split
from inspect_core.features.store import FeatureStore
from inspect_core.methods.registry import FIXED, LOOSE
from inspect_core.runtime import workspace

DETECTORS = tuple(dict.fromkeys((FIXED, LOOSE, "mahalanobis", "corp", "nearest")))
COUNTS = (5, 10, 20, 40, 60, 120, 240)
SHARES = (0.0, 0.05, 0.1)
SEEDS = 3
JUDGED = 60
"""Good photos, and defects, at most."""
FIGURES = ("image_auroc", "aupro", "missed_percent", "above_5_percent")


def by_count(options: argparse.Namespace) -> dict:
    """By set, number of good photos, and detector."""

    def cases() -> Iterator[tuple[str, str, Dataset, int, int]]:
        for seed in range(1 if options.quick else SEEDS):
            for name, folder in sets([]).items():
                samples = scan(folder)
                most = sum(sample.split_side != "test" for sample in samples.good)
                for count in sorted({count for count in COUNTS if count < most} | {most}):
                    yield name, str(count), samples, count, seed

    return _measured("by_count", cases())


def by_share(options: argparse.Namespace) -> dict:
    """By set, share of hidden defects, and detector, with all good photos."""

    def cases() -> Iterator[tuple[str, str, Dataset, int, int]]:
        for seed in range(1 if options.quick else SEEDS):
            for name, folder in sets([]).items():
                samples = scan(folder)
                for share in SHARES:
                    yield name, str(share), mixed(samples, share, seed)[0], len(samples.good), seed

    return _measured("by_share", cases())


def _measured(part: str, cases: Iterator[tuple[str, str, Dataset, int, int]]) -> dict:
    """Means over the seeds, how many there were, and the range of the image AUROC among them."""
    store = FeatureStore(workspace.features_folder(), limit=40 << 30)
    began = time.monotonic()
    rows = {}
    for name, size, samples, count, seed in cases:
        measured = case(_split(samples, count, seed), store, seed, detectors=DETECTORS)
        by_detector = {detector: row | row["suggested"] for detector, row in measured["detectors"].items()}
        by_detector["default"] = by_detector[measured["default"]]
        rows.setdefault(name, {}).setdefault(size, []).append(by_detector)
        print(part, name, size, seed, f"{time.monotonic() - began:.0f} s", flush=True)
    return {name: {size: _mean(runs) for size, runs in sizes.items()} for name, sizes in rows.items()}


def _split(samples: Dataset, count: int, seed: int) -> Split:
    """`count` good photos to learn from, whole groups; of the others those of the test folder to judge, and defects."""
    rng = np.random.default_rng([seed, count])
    groups = propose_groups(samples)
    pool = sorted((sample for sample in samples.good if sample.split_side != "test"), key=lambda sample: sample.name)
    names = rng.permutation(sorted({groups[sample.name] for sample in pool}))
    ranked = {name: place for place, name in enumerate(names)}
    training = sorted(pool, key=lambda sample: ranked[groups[sample.name]])[:count]
    good = [sample for sample in samples.good if sample.split_side == "test"][:JUDGED]
    defects = sorted(samples.defects, key=lambda sample: sample.name)
    defects = [defects[i] for i in sorted(np.random.default_rng(seed).permutation(len(defects))[:JUDGED])]
    every = [replace(sample, group=None) for sample in (*good, *defects)]
    together = {sample.name: groups[sample.name] for sample in training}
    return Split(tuple(sorted(training, key=lambda sample: sample.name)), (), tuple(every), groups=together)


def _mean(runs: list[dict]) -> dict:
    means = {
        detector: {key: float(np.mean([figures[detector][key] for figures in runs])) for key in FIGURES}
        | {"image_auroc_range": float(np.ptp([figures[detector]["image_auroc"] for figures in runs]))}
        for detector in runs[0]
    }
    return {"seeds": len(runs), "detectors": means}


def draw(figures: dict) -> go.Figure:
    """Image AUROC and missed defects against the number of photos and the share of hidden defects, by set."""
    names = list(figures["by_count"])
    titles = [f"{name}: {what}" for what in ("AUROC, good photos", "AUPRO, good photos") for name in names]
    titles += [f"{name}: {what}" for what in ("AUROC, hidden", "missed, hidden") for name in names]
    shown = panels(4, len(names), titles, height=1250, vertical_spacing=0.06, horizontal_spacing=0.06)
    rows = (
        ("by_count", "image_auroc"),
        ("by_count", "aupro"),
        ("by_share", "image_auroc"),
        ("by_share", "missed_percent"),
    )
    for column, name in enumerate(names, start=1):
        for row, (part, key) in enumerate(rows, start=1):
            by_size = figures[part].get(name, {})
            detectors = next(iter(by_size.values()))["detectors"] if by_size else ()
            for number, detector in enumerate(detectors):
                values = [case_figures["detectors"][detector][key] for case_figures in by_size.values()]
                x = [float(size) for size in by_size]
                line(shown, x, values, detector, number, (row, column), first=row == column == 1)
                if detector == "default":
                    shown.data[-1].line = {"color": "black", "width": 3, "dash": "dot"}
            if part == "by_count":
                shown.update_xaxes(type="log", row=row, col=column)
    return shown


PARTS = {"by_count": by_count, "by_share": by_share}


def main() -> None:
    run("engineers", __doc__, PARTS, draw)


if __name__ == "__main__":
    main()
