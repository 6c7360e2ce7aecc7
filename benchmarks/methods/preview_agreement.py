"""Whether a preview of γ and M says what the fit then gives.

Of each folder at most LEARNED good photos set limits in folds and JUDGED others are judged, by CoRP alone and in the
join of a new folder. For every move: the largest and the median difference of a score between preview and fit, in
review bands of the fit, and how many verdicts differ; q is the preview's in both.

python -m benchmarks.methods.preview_agreement --store DIR [NAME=FOLDER ...]
"""

from dataclasses import replace

import numpy as np

from benchmarks.measure import folder_parser, machine, sets, write
from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import Split, split_to_teach
from inspect_core.features.store import FeatureStore
from inspect_core.methods.registry import LOOSE
from inspect_core.runtime.progress import ignore_progress
from inspect_core.study.study import FittedStudy
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.patch_sample import PatchSample
from inspect_core.tuning.teaching import teach
from inspect_core.whole_part.product_check import OFF
from inspect_core.workbench.previews import PreviewRun

LEARNED, JUDGED = 60, 60
MOVES = ({"gamma": 0.5, "M": 512}, {"gamma": 2.0, "M": 512}, {"gamma": 1.0, "M": 1024})


def main() -> None:
    options = folder_parser("preview_agreement", __doc__).parse_args()
    measured_on = machine()
    figures: dict[str, dict] = {}
    for name, folder in sets(options.sets).items():
        photos = split_to_teach(scan(folder), blind=True)
        photos = replace(photos, train=photos.train[:LEARNED], test=photos.test[:JUDGED])
        for detector in ("corp", LOOSE):
            study = _taught(photos, detector, FeatureStore(options.store))
            for move in MOVES:
                key = f"{detector}, γ {move['gamma']:g}, M {move['M']}"
                figures.setdefault(name, {})[key] = compared(study, move)
                print(name, key, figures[name][key], flush=True)
                write(options.name, figures, measured_on=measured_on)


def compared(study: FittedStudy, move: dict[str, float]) -> dict[str, float]:
    """How the preview of a move differs from the fit."""
    view = next(i for i, view in enumerate(study.scored.views) if view.definition.refit_parameters)
    sample = PatchSample.from_study(study, view=view)
    run = PreviewRun(move, study.photos, 0, study.live)
    run.work(lambda: sample)
    if run.error:
        raise ValueError(run.error)
    fit = study.with_parameters(move).fit()
    of_fit = {**fit.live, "q": fit.scored.stop_of("q", run.live["q"])}
    scores = run.scored.scores(**run.live).astype(float), fit.scores(**of_fit).astype(float)
    limits = run.scored.default_limits(**run.live), fit.default_limits(**of_fit)
    words = [[limit.decide(score)[0] for score in row] for limit, row in zip(limits, scores, strict=True)]
    bands = np.abs(scores[0] - scores[1]) / (limits[1].reject - limits[1].review)
    return {
        "photos": len(bands),
        "largest_bands": float(bands.max()),
        "median_bands": float(np.median(bands)),
        "verdicts_changed": sum(ours != theirs for ours, theirs in zip(*words, strict=True)),
    }


def _taught(photos: Split, detector: str, store: FeatureStore) -> FittedStudy:
    order = TeachingConfig("part", photos, "efficientnet_lite0", method=detector, product_check=OFF)
    return teach(order, store, ignore_progress).study


if __name__ == "__main__":
    main()
