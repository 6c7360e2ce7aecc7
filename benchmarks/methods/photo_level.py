"""What it changes to take a photo's own level off its map (`scoring.local_scale`), and what it leaves as it is.

Each folder is taught by the defaults, blind, and judged with its scales and with the same ones that take nothing off:
image AUROC, AUPRO, good parts stopped and defects missed at the suggested limit, and by how many standard deviations
of the scores that set it the mean score of AGAIN good parts moves when they are photographed again.

python -m benchmarks.methods.photo_level --store DIR [NAME=FOLDER ...]
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import figures_of_sets, folder_parser
from benchmarks.methods.repeatability import CHANGES
from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import split_to_teach
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.methods.fitted_method import sweep_errors
from inspect_core.runtime.progress import ignore_progress
from inspect_core.scoring.anomaly_map import AREA, image_score, to_pixels
from inspect_core.scoring.limits import limits_from_good
from inspect_core.scoring.local_scale import sum_error_maps
from inspect_core.scoring.metrics import auroc
from inspect_core.scoring.overlap_counts import OverlapCounts
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.study import FittedStudy
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.teaching import teach
from inspect_core.whole_part.product_check import OFF

AGAIN = 20
SHIFTS = ("noise 1.5", "noise 3", "light +6 %", "light -6 %", "contrast -6 %", "blur .5 px")
Maps = Callable[[list[np.ndarray]], np.ndarray]


def of_set(folder: Path, store: FeatureStore) -> dict:
    """The figures of one folder, with the level of photos taken off and without."""
    photos = split_to_teach(scan(folder), blind=True)
    order = TeachingConfig.from_photos(folder.name, photos, product_check=OFF)
    study = teach(order, store, ignore_progress).study
    errors = [study.scored.errors(i) for i in range(len(study.photos))]
    good = [photo for photo in study.photos if photo.label == "good" and photo.subset == "test"][:AGAIN]
    repeats = {name: [_again(study, photo, name) for photo in good] for name in ("", *SHIFTS)}
    figures = {"detector": study.method, "good": len(good)}
    for name, keeps in (("with", 1.0), ("without", 0.0)):
        figures[name] = _figures(study, errors, repeats, _maps(study, keeps))
    return figures


def _maps(study: FittedStudy, keeps: float) -> Maps:
    """From the errors of a photo under each view, at all stops, to its map; keeps: the share of the scale's reach."""
    scored = study.scored
    values = [view.value(study.live) for view in scored.views]
    scales = [scored.scale(i, value) for i, value in enumerate(values)]
    scales = [scale and replace(scale, reach=keeps * scale.reach) for scale in scales]
    places = [view.stops.index(value) for view, value in zip(scored.views, values, strict=True)]

    def map_of(errors: list[np.ndarray]) -> np.ndarray:
        stops = [by_stop[place] for by_stop, place in zip(errors, places, strict=True)]
        return to_pixels(sum_error_maps(stops, scales), scored.size)

    return map_of


def _again(study: FittedStudy, photo, name: str) -> list[np.ndarray]:
    """Errors of a photo, changed in the way of this name."""
    pixels = read(photo.path, photo.depth).pixels
    if name:
        pixels = CHANGES[name](pixels, np.random.default_rng(0))
    features = study.extractor.features(pixels, study.extractor.place(pixels))
    return sweep_errors([(view, view.stops) for view in study.scored.views], [features])[0]


def _figures(study: FittedStudy, errors: list, repeats: dict[str, list], map_of: Maps) -> dict:
    scored, area = study.scored, study.live[AREA]
    maps = [map_of(photo_errors) for photo_errors in errors]
    scores = np.array([image_score(anomaly_map, area=area) for anomaly_map in maps], float)
    setting = scores[scored.setters()]
    limit = limits_from_good(setting, ceiling=scored.ceiling())[0]
    tested, defect = scored.of_subset("test"), scored.good_and_defect()[1]
    counts = [
        OverlapCounts.from_map(maps[i], mask)
        for i, mask in enumerate(truth_masks(scored))
        if tested[i] and mask is not None
    ]
    mean_scores = {
        name: np.mean([image_score(map_of(photo), area=area) for photo in photos]) for name, photos in repeats.items()
    }
    return {
        "image_auroc": auroc(scores[tested], defect[tested]),
        "aupro": OverlapCounts.merged(counts).aupro() if counts else None,
        "stopped": int((scores[tested & ~defect] > limit).sum()), "judged_good": int((tested & ~defect).sum()),
        "missed": int((scores[tested & defect] <= limit).sum()), "judged_defects": int((tested & defect).sum()),
        "shifts": {name: float((mean_scores[name] - mean_scores[""]) / setting.std(ddof=1)) for name in SHIFTS},
    }  # fmt: skip


def main() -> None:
    asked = folder_parser("photo_level", __doc__)
    options = asked.parse_args()
    warnings.simplefilter("ignore")
    store = FeatureStore(options.store, limit=40 << 30)
    for name, figures in figures_of_sets(options, partial(of_set, store=store)):
        for which in ("with", "without"):
            print(name, which, figures[which], flush=True)


if __name__ == "__main__":
    main()
