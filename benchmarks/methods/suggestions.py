"""Suggested starting values against the defaults and against the best of the same grid, on true defects with masks.

python -m benchmarks.methods.suggestions [NAME=FOLDER ...] [--detectors corp cop ...] [--taps outputs] [--width 128]

The suggestion sees good photos only; "best" is the oracle that picks from the same grid by the true masks. Every row is
a full fit, measured on the judge photos, with its seconds on features already extracted. A detector without a live
parameter has its default alone. Folders are in MVTec AD layout; the bundled sample parts otherwise.
"""

import time
import warnings

import numpy as np

from benchmarks.measure import parser, sets, write
from inspect_core.features.backbones import load
from inspect_core.features.store import Store
from inspect_core.images.folders import Split, scan, split
from inspect_core.judge.anomaly_map import to_pixels
from inspect_core.judge.masks import mask_at
from inspect_core.judge.metrics import aupro, auroc
from inspect_core.methods import method as interface
from inspect_core.methods.table import METHODS
from inspect_core.runtime import workspace
from inspect_core.study.evaluation import evaluate
from inspect_core.study.judged import truth_masks
from inspect_core.study.study import Study
from inspect_core.tuning.suggest import candidates, suggest

DETECTORS = ("mahalanobis", "corp", "cop", "kernel_pca")
SMALL = (64, 64)


def measure(study: Study, masks: list) -> dict[str, float]:
    """Image AUROC, pixel AUROC and AUPRO of the judge photos at the value the fitted study begins with."""
    found = evaluate(study, study.default_limits(), masks, **study.live)
    return {"image_auroc": found.image_auroc, "pixel_auroc": found.pixel_auroc, "aupro": found.aupro}


def oracle(study: Study, masks: list) -> tuple[dict[str, float], dict[str, int]]:
    """The setting of the suggestion's own grid that the true masks like best, on small maps."""
    known = [i for i in np.flatnonzero(study.scored.of_subset("judge")) if masks[i] is not None]
    true = np.stack([mask_at(masks[i], SMALL) for i in known])
    best, method = (-1.0, {}, {}), METHODS[study.method]
    for _, parameters, detector in candidates(study, ()):
        tried = method.trial_stops(detector, study.parameters[0], ())
        errors = np.stack(
            [
                method.sweep(detector, study.features(study.photos[i])[0], tuple(tried))
                .reshape(len(tried), *study.preparation.grid)
                .float()
                .cpu()
                .numpy()
                for i in known
            ],
            axis=1,
        )
        for (stop, of_fit), at_stop in zip(tried.items(), errors, strict=True):
            maps = to_pixels(at_stop, SMALL, sigma=1.0)
            quality = (auroc(maps, true) + aupro(maps, true)) / 2
            best = max(best, (quality, parameters | of_fit, {method.live: stop}), key=lambda row: row[0])
    return best[1], best[2]


def compare(photos: Split, backbone, store: Store, detector: str) -> dict:
    """Default, suggested and best: parameters, live value, figures and seconds of each, and those of the suggestion."""
    default = Study(photos, backbone, store, method=detector).extract()
    fit_seconds = _fit(default)
    masks = truth_masks(default.scored)
    rows = {"default": _row(default, default.parameters[0], masks) | {"fit_seconds": fit_seconds}}
    if not METHODS[detector].live:
        return rows
    began, used = time.perf_counter(), time.process_time()
    suggestion = suggest(default)
    seconds = _since(began, used)
    for name, (parameters, live) in (
        ("suggested", (suggestion.parameters, suggestion.live)),
        ("best", oracle(default, masks)),
    ):
        study, fit_seconds = default, rows["default"]["fit_seconds"]
        if parameters:
            study = default.with_parameters(parameters)
            fit_seconds = _fit(study)
        if "explained_variance" not in parameters:
            study.begin_with(**live)
        rows[name] = _row(study, dict(parameters), masks) | {"fit_seconds": fit_seconds}
    return rows | {"suggestion_seconds": seconds, "basis": suggestion.basis}


def _fit(study: Study) -> dict[str, float]:
    began, used = time.perf_counter(), time.process_time()
    study.fit()
    return _since(began, used)


def _since(began: float, used: float) -> dict[str, float]:
    return {"wall": time.perf_counter() - began, "processor": time.process_time() - used}


def _row(study: Study, parameters: dict, masks: list) -> dict:
    return {"parameters": parameters, "live": study.live, **measure(study, masks)}


def main() -> None:
    asked = parser("suggestions", __doc__)
    asked.add_argument("sets", nargs="*", metavar="NAME=FOLDER", help="instead of the sample parts")
    asked.add_argument("--detectors", nargs="+", default=DETECTORS, choices=METHODS)
    asked.add_argument("--taps", default="expansions")
    asked.add_argument("--width", type=int, default=interface.WIDEST, help="mixed channels of pooled detectors at most")
    options = asked.parse_args()
    interface.WIDEST = options.width
    warnings.simplefilter("ignore", UserWarning)
    backbone = load("efficientnet_lite0", taps=options.taps)
    store = Store(workspace.features_folder(), limit=12 << 30)
    figures = {"taps": options.taps, "width": options.width}
    for part, folder in sets(options.sets).items():
        photos = split(scan(folder), seed=0)
        for detector in options.detectors:
            found = figures.setdefault(part, {})[detector] = compare(photos, backbone, store, detector)
            for name in ("default", "suggested", "best"):
                if row := found.get(name):
                    print(f"{part:14} {detector:12} {name:10} {row['image_auroc']:.3f} {row['pixel_auroc']:.3f} "
                          f"{row['aupro']:.3f} {row['fit_seconds']['wall']:6.1f} s {row['parameters']} {row['live']}",
                          flush=True)  # fmt: skip
            write(options.name, figures)


if __name__ == "__main__":
    main()
