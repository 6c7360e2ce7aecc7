"""The detectors side by side on the same photos, split, network and grid, with their defaults and as suggested.

python -m benchmarks.methods.comparison [FOLDER ...] [--detectors corp cop ...] [--taps outputs] [--name NAME]
Default and suggested settings see good photos only; the judge photos are used for the figures alone. Seconds are those
of the fit on features already extracted, without the network and the suggestion. Folders are in MVTec AD layout; the
bundled sample parts otherwise.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.measure import write
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.store import Store
from inspect_core.images.folders import Split, scan, split
from inspect_core.methods.table import METHODS
from inspect_core.runtime import workspace
from inspect_core.study.evaluation import evaluate
from inspect_core.study.judged import truth_masks
from inspect_core.study.study import Study
from inspect_core.tuning.suggest import suggest

SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"
DETECTORS = ("mahalanobis", "cop", "corp", "kernel_pca", "quadrics", "nearest")
FIGURES = ("image_auroc", "pixel_auroc", "aupro")


def compare(photos: Split, backbone: Backbone, store: Store, detector: str) -> dict[str, dict]:
    """Of "default" and, where there is one, "suggested": parameters, live value, figures and seconds of the fit."""
    study = Study(photos, backbone, store, method=detector).extract()
    rows = {"default": _row(study)}
    if not METHODS[detector].live:
        return rows
    suggestion = suggest(study)
    if not METHODS[detector].one_fit:
        study = study.with_parameters(suggestion.parameters)
    rows["suggested"] = _row(study, **suggestion.live)
    return rows


def _row(study: Study, **live: int) -> dict:
    """The study fitted and measured, beginning with the live value given or with its own."""
    began, used = time.perf_counter(), time.process_time()
    study.fit()
    seconds = {"wall": time.perf_counter() - began, "processor": time.process_time() - used}
    study.begin_with(**live)
    found = evaluate(study, study.default_limits(), truth_masks(study.scored), **study.live)
    fractions = {name: getattr(found, name) for name in FIGURES}
    return {"parameters": study.parameters[0], "live": study.live, **fractions, "fit_seconds": seconds}


def means(parts: dict[str, dict], detectors: tuple[str, ...]) -> dict[str, dict[str, dict[str, float]]]:
    """Detector -> setting -> mean of each figure over the parts."""

    def mean(detector: str, setting: str, name: str) -> float:
        return float(np.mean([part[detector][setting][name] for part in parts.values()]))

    settings = {detector: list(next(iter(parts.values()))[detector]) for detector in detectors}
    return {
        detector: {setting: {name: mean(detector, setting, name) for name in FIGURES} for setting in names}
        for detector, names in settings.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=sorted(SAMPLES.iterdir()))
    parser.add_argument("--detectors", nargs="+", default=DETECTORS, choices=METHODS)
    parser.add_argument("--taps", default="expansions")
    parser.add_argument("--name", default="comparison", help="of the file of results")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    backbone = load("efficientnet_lite0", taps=options.taps)
    store, parts = Store(workspace.features_folder(), limit=12 << 30), {}
    for folder in (folder for folder in options.folders if folder.is_dir()):
        photos = split(scan(folder), seed=0)
        for detector in options.detectors:
            rows = parts.setdefault(folder.name, {})[detector] = compare(photos, backbone, store, detector)
            for setting, row in rows.items():
                fractions = " ".join(f"{row[name]:.3f}" for name in FIGURES)
                print(
                    f"{folder.name:14} {detector:12} {setting:10} {fractions} {row['fit_seconds']['wall']:6.1f} s",
                    flush=True,
                )
        write(options.name, {"taps": options.taps, "parts": parts, "means": means(parts, tuple(options.detectors))})


if __name__ == "__main__":
    main()
