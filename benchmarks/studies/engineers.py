"""Quality against the number of good photos, and against the share of defects hidden among them, by detector.

python -m benchmarks.studies.engineers

Every detector and the one that the app begins with, on the sample parts and on magnetic tiles; the photos to judge stay
the same. Full: ten folds as in the app, 5 photos to all, 0, 2, 5 and 10 % hidden, five seeds. --quick: sample parts
alone, a fifth of the photos kept apart for scales and limits in place of folds, and as many cases as fit
into MINUTES a part; the result says which were measured.
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
from benchmarks.studies.common import line, panels, photo_sets, run
from inspect_core.features.store import FeatureStore
from inspect_core.images.folders import scan
from inspect_core.images.grouping import propose_groups
from inspect_core.images.samples import Dataset
from inspect_core.images.splitting import Split
from inspect_core.methods.registry import ALL, CANDIDATES
from inspect_core.runtime import workspace

COUNTS = (5, 10, 20, 40, 60, 120, 240)
SHARES = (0.0, 0.02, 0.05, 0.1)
SEEDS = 5
JUDGED = 60
"""Good photos, and defects, at most."""
MINUTES = 15
"""That --quick may take for each part."""
FIGURES = ("image_auroc", "aupro", "missed_percent", "above_5_percent")


def by_count(options: argparse.Namespace) -> dict:
    """By set, number of good photos, and detector."""

    def cases() -> Iterator[tuple[str, str, Dataset, int, int]]:
        for seed in range(SEEDS):
            for name, folder in _sets(options).items():
                samples = scan(folder)
                most = sum(sample.split_side != "test" for sample in samples.good)
                for count in sorted({count for count in COUNTS if count < most} | {most}):
                    yield name, str(count), samples, count, seed

    return _measured("by_count", cases(), options)


def by_share(options: argparse.Namespace) -> dict:
    """By set, share of hidden defects, and detector, with all good photos."""

    def cases() -> Iterator[tuple[str, str, Dataset, int, int]]:
        for seed in range(SEEDS):
            for name, folder in _sets(options).items():
                samples = scan(folder)
                for share in SHARES if not options.quick else (0.0, 0.05, 0.1):
                    yield name, str(share), mixed(samples, share, seed)[0], len(samples.good), seed

    return _measured("by_share", cases(), options)


def _sets(options: argparse.Namespace) -> dict:
    return sets([]) if options.quick else photo_sets(options)


def _measured(part: str, cases: Iterator[tuple[str, str, Dataset, int, int]], options: argparse.Namespace) -> dict:
    """Means over the seeds, and how many there were."""
    store, began, rows = FeatureStore(workspace.features_folder(), limit=40 << 30), time.monotonic(), {}
    detectors = CANDIDATES if options.quick else ALL
    for name, size, samples, count, seed in cases:
        if options.quick and time.monotonic() - began > 60 * MINUTES:
            break
        measured = case(
            _split(samples, count, seed, apart=options.quick), store, seed, detectors=detectors, tolerances=None
        )
        by_detector = {detector: row | row["suggested"] for detector, row in measured["detectors"].items()}
        by_detector["default"] = by_detector[measured["default"]]
        rows.setdefault(name, {}).setdefault(size, []).append(by_detector)
        print(part, name, size, seed, f"{time.monotonic() - began:.0f} s", flush=True)
    return {name: {size: _mean(runs) for size, runs in sizes.items()} for name, sizes in rows.items()}


def _split(samples: Dataset, count: int, seed: int, *, apart: bool) -> Split:
    """`count` good photos to learn from, whole groups; of the others those of the test folder to judge, and defects."""
    rng, groups = np.random.default_rng([seed, count]), propose_groups(samples)
    pool = sorted((sample for sample in samples.good if sample.split_side != "test"), key=lambda sample: sample.name)
    names = rng.permutation(sorted({groups[sample.name] for sample in pool}))
    ranked = {name: place for place, name in enumerate(names)}
    training = sorted(pool, key=lambda sample: ranked[groups[sample.name]])[:count]
    good = [sample for sample in samples.good if sample.split_side == "test"][:JUDGED]
    defects = sorted(samples.defects, key=lambda sample: sample.name)
    defects = [defects[i] for i in sorted(np.random.default_rng(seed).permutation(len(defects))[:JUDGED])]
    calibrate = max(1, len(training) // 5) if apart else 0
    kept_apart, fit = training[:calibrate], training[calibrate:]
    every = [replace(sample, group=None) for sample in (*good, *defects)]
    together = {sample.name: groups[sample.name] for sample in training}
    return Split(tuple(fit), tuple(kept_apart), tuple(every), groups=together)


def _mean(runs: list[dict]) -> dict:
    means = {
        detector: {key: float(np.mean([figures[detector][key] for figures in runs])) for key in FIGURES}
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
