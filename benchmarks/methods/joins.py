"""What joined methods gain on folders, by draw: python -m benchmarks.methods.joins [NAME=FOLDER ...] --store S

Of each folder in MVTec AD layout so many good photos are drawn to learn from and others to judge, groups kept together;
every detector learns and judges the same, with copies as teaching makes them. Writes after each draw, so that what is
done stays when it is stopped.
"""

from collections.abc import Mapping

import numpy as np

from benchmarks.measure import folder_parser, machine, sets, write
from benchmarks.methods.limits_from_few import case, drawn
from inspect_core.datasets.folders import scan
from inspect_core.features.store import FeatureStore
from inspect_core.methods.registry import FIXED, LOOSE
from inspect_core.runtime.progress import ignore_progress
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.turned_copies import with_turned_copies

PHOTOS = 60
DRAWS = 3
DETECTORS = (
    FIXED, LOOSE, "mahalanobis+corp+nearest+shade", "nearest+shade", "nearby", "nearest", "corp", "mahalanobis",
)  # fmt: skip


def main() -> None:
    options = _options()
    measured_on = machine()
    figures: dict[str, dict] = {}
    for draw in range(options.draws):
        for name, folder in sets(options.sets).items():
            samples = scan(folder)
            count = min(options.photos, len(samples.good) // 2)
            photos = drawn(name, samples, count, draw)
            if photos is None:
                continue
            order = with_turned_copies(TeachingConfig(name, photos), ignore_progress)
            store = FeatureStore(options.store)
            result = case(photos, store, draw, detectors=DETECTORS, tolerances=order.tolerances)
            for row in result["detectors"].values():
                row["aupro"] = row["aupro"] if np.isfinite(row["aupro"]) else None  # of photos without masks
            figures.setdefault(name, {})[str(draw)] = {"good": len(photos.train), **result}
            write(options.name, {"sets": figures, "mean": means(figures)}, measured_on=measured_on)
            print(name, draw, {key: row["image_auroc"] for key, row in result["detectors"].items()}, flush=True)


def means(figures: Mapping[str, Mapping[str, dict]]) -> dict[str, dict[str, dict[str, float]]]:
    """By set and detector image AUROC, AUPRO, and at the review limit good photos stopped, defects missed and
    the balanced accuracy given away against the best limit there could be.
    """
    results: dict[str, dict[str, dict[str, float]]] = {}
    for name, draws in figures.items():
        for detector in DETECTORS:
            rows = [draw["detectors"][detector] for draw in draws.values()]
            columns = {"image_auroc": [row["image_auroc"] for row in rows], "aupro": [row["aupro"] for row in rows]}
            for key in ("above_5_percent", "missed_percent", "regret"):
                columns[key] = [row["suggested"][key] for row in rows]
            known = {key: [value for value in values if value is not None] for key, values in columns.items()}
            results.setdefault(name, {})[detector] = {
                key: float(np.mean(values)) for key, values in known.items() if values
            }
    return results


def _options():
    arguments = folder_parser("joins", __doc__)
    arguments.add_argument("--draws", type=int, default=DRAWS)
    arguments.add_argument("--photos", type=int, default=PHOTOS)
    return arguments.parse_args()


if __name__ == "__main__":
    main()
