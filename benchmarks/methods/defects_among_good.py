"""Defects among the good photos: does the first look show them, and what does it cost not to leave them out?

python -m benchmarks.methods.defects_among_good [NAME=FOLDER ...] [--store FOLDER]
2, 5 and 10 % of defects are mixed in among the good photos to learn from, with several seeds; the judge photos are the
same at every share. Measured: how many of them come among the first photos of the look, and the detector fitted as it
is, robustly (first seed alone), without the defects that a user finds who goes through the first fifth of the look's
list, and without any. Folders are in MVTec AD layout; the sample parts without any.
"""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measure import kept, parser, sets, write
from inspect_core.datasets.dataset import GOOD, Dataset
from inspect_core.datasets.folders import scan, split
from inspect_core.datasets.splitting import Split
from inspect_core.features.backbones import Backbone
from inspect_core.features.store import FeatureStore
from inspect_core.methods.fitted_method import with_taps
from inspect_core.methods.registry import LOOSE, methods_of
from inspect_core.runtime import workspace
from inspect_core.scoring.metrics import auroc
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import Study
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.photo_screening import ScreeningResult, screen_photos

SHARES = (0.02, 0.05, 0.1)
SEEDS = (0, 1, 2)
GONE_THROUGH = 0.2
"""Of the look's list, which a user goes through."""


def mixed(samples: Dataset, share: float, seed: int) -> tuple[Dataset, frozenset[str]]:
    """The photos with defects mixed in among the good ones, and the names of these."""
    training = [sample for sample in samples.good if sample.split_side != "test"]
    order = np.random.default_rng(seed).permutation(len(samples.defects))
    count, most = (max(part > 0, round(part * len(training))) for part in (share, max(SHARES)))
    hidden = [replace(samples.defects[i], label=GOOD, mask=None, split_side="train", group=None) for i in order[:count]]
    test = [sample for sample in samples.good if sample.split_side == "test"]
    defects = tuple(samples.defects[i] for i in order[most:])
    return replace(samples, good=(*training, *hidden, *test), defects=defects), frozenset(
        sample.name for sample in hidden
    )


def shown(screening: ScreeningResult, hidden: frozenset[str]) -> tuple[dict, frozenset[str]]:
    """Figures of the look, and the hidden defects that a user finds who goes through a part of it."""
    order = [photo.sample.name in hidden for photo in screening.photos]
    places = np.flatnonzero(order)
    flagged = [bool(photo.findings) for photo in screening.photos]
    through = round(GONE_THROUGH * len(order))
    count = len(hidden)
    figures = {
        "hidden": count,
        "photos": len(order),
        "among_first_n": int(sum(order[:count])),
        "among_first_2n": int(sum(order[: 2 * count])),
        "among_first_fifth": int(sum(order[:through])),
        "good_before_half": int(places[(count - 1) // 2]) - (count - 1) // 2,
        "good_before_last": int(places[-1]) - (count - 1),
        "hidden_said": int(sum(np.array(order) & flagged)),
        "good_said": int(sum(~np.array(order) & flagged)),
    }
    return figures, frozenset(photo.sample.name for photo in screening.photos[:through] if photo.sample.name in hidden)


def without(photos: Split, names: frozenset[str]) -> Split:
    """The split without these photos to learn from and to set limits by."""
    fit, calibrate = (
        tuple(sample for sample in part if sample.name not in names) for part in (photos.train, photos.calibration)
    )
    return replace(photos, train=fit, calibration=calibrate)


def fitted(photos: Split, backbone: Backbone, taps: list, store: FeatureStore, **parameters: float) -> dict:
    """Image AUROC, and the shares of defects accepted and of good photos not accepted under the default limits."""
    study = Study.from_photos(photos, backbone, store, method=LOOSE, taps=taps, parameters=parameters).extract()
    views = [study.fit_view(number) for number in range(len(study.methods))]
    views = [replace(view, selected_stops=(view.start,)) for view in views]
    scored = ScoredPhotos(views, study.extractor.grid, backbone.size)
    for part in ("calibration", "test"):
        for sample in getattr(photos, part):
            if (photo := study.scored_photo(sample, part)) is not None:
                scored = scored.with_photo(*photo)
    judge = scored.of_subset("test")
    limits = scored.default_limits()
    scores = scored.scores()
    good, defect = scored.good_and_defect()
    return {
        "image_auroc": auroc(scores[judge], defect[judge]),
        "missed": float((scores[judge & defect] <= limits.review).mean()),
        "overkill": float((scores[judge & good] > limits.review).mean()),
    }


def rows(folder: Path, store: FeatureStore, done: set[tuple[float, int]]):
    """A row for every share and seed that is not done yet."""
    backbone, taps = with_taps(methods_of(LOOSE), "efficientnet_lite0")
    samples = scan(folder)
    for seed in SEEDS:
        for share in SHARES:
            if (share, seed) in done:
                continue
            photos, hidden = mixed(samples, share, seed)
            parts = split(photos, seed=seed)
            pool = tuple(sample for sample in photos.good if sample.split_side != "test")
            screening = screen_photos(
                replace(photos, good=pool), TeachingConfig("", parts, seed=seed), store, lambda *_: None
            )
            figures, flagged = shown(screening, hidden)
            row = {"share": share, "seed": seed, "look": figures}
            ways = {"as it is": parts, "left out": without(parts, flagged), "clean": without(parts, hidden)}
            row |= {way: fitted(remaining, backbone, taps, store) for way, remaining in ways.items()}
            if seed == SEEDS[0]:  # minutes a fit
                row["robust"] = fitted(parts, backbone, taps, store, robust=1)
            yield row


COUNTED = ("hidden", "among_first_n", "among_first_fifth")


def summary(measured: dict[str, list[dict]]) -> dict[str, dict[str, dict[str, float]]]:
    """By set and share, over the seeds: sums of the hidden defects and of those found, means of the fits."""
    results: dict[str, dict[str, dict[str, float]]] = {}
    for name, rows in measured.items():
        for share in SHARES:
            of_share = [row for row in rows if row["share"] == share]
            sums = {
                key: sum(row["look"][key] for row in of_share)
                for key in ("hidden", "among_first_n", "among_first_fifth")
            }
            means = {
                f"{key}: {way}": float(np.mean([row[way][key] for row in of_share]))
                for key in ("missed", "image_auroc") for way in ("as it is", "left out", "clean")
            }  # fmt: skip
            results.setdefault(name, {})[f"{100 * share:g} %"] = sums | means
    return results


def main() -> None:
    asked = parser("defects_among_good", __doc__)
    asked.add_argument("sets", nargs="*", metavar="NAME=FOLDER", help="instead of the sample parts")
    asked.add_argument("--store", type=Path, help="folder for the features; the workspace's otherwise")
    options = asked.parse_args()
    warnings.simplefilter("ignore")
    store = FeatureStore(options.store or workspace.features_folder())
    measured = kept(options.name)
    measured.pop("summary", None)
    for name, folder in sets(options.sets).items():
        set_rows = measured.setdefault(name, [])
        for row in rows(folder, store, {(row["share"], row["seed"]) for row in set_rows}):
            set_rows.append(row)
            print(name, json.dumps(row), flush=True)
            write(options.name, measured | {"summary": summary(measured)})


if __name__ == "__main__":
    main()
