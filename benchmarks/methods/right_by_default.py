"""What Loupe says before anyone touches it, on whole sets of photos: as it was, and as it is.

As it was: the raw map, its maximum, one limit at the largest good score plus half a gap. As it is: the calibrated map,
the score of the smallest area, a review band from the fitted tail, set by all good photos where few could be kept. For
every detector, at its defaults: image AUROC, AUPRO, regret (balanced accuracy given away against the best limit there
could be; review or reject counts as found) and overkill against what was stated. Sets are folders named as NAME=FOLDER;
without any, the sample parts. What was
measured before stays in the result.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measure import folder_parser, kept, sets, write
from inspect_core.features.store import FeatureStore
from inspect_core.images.folders import scan, split
from inspect_core.images.splitting import train_on_all
from inspect_core.methods.fitted_method import with_taps
from inspect_core.methods.registry import methods_of
from inspect_core.scoring.limits import DEFAULT_OVERKILL, limit_for_overkill, overkill_at
from inspect_core.scoring.metrics import aupro, auroc
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import Study
from inspect_core.verdict import Limits

DETECTORS = ("mahalanobis", "quadrics", "nearest", "corp", "cop", "kernel_pca", "mahalanobis+quadrics",
             "mahalanobis+corp", "mahalanobis+nearest")  # fmt: skip


def figures(folder: Path, store: FeatureStore, detectors: Sequence[str]) -> dict[str, dict]:
    """By detector: the figures as it was (none for joined ones) and as it is."""
    parts = split(scan(folder), seed=0)
    results = {}
    for detector in detectors:
        names = methods_of(detector)
        backbone, taps = with_taps(names, "efficientnet_lite0")
        study = Study(train_on_all(parts), backbone, store, method=detector, taps=taps).fit()
        results[detector] = {"new": _new(study.results)}
        if len(names) == 1:
            results[detector]["old"] = _old(_as_it_was(Study(parts, backbone, store, method=detector, taps=taps)))
    return results


def _as_it_was(study: Study) -> ScoredPhotos:
    """The photos under raw maps: those that set the limit teach no local scale."""
    view = study.extract().fit_view(0)
    scored = ScoredPhotos(
        [replace(view, selected_stops=(view.start,))], study.extractor.grid, study.extractor.backbone.size
    )
    shown = [("spare", s) for s in study.split.calibration] + [("test", s) for s in study.split.test]
    for part, sample in shown:
        if (photo := study.scored_photo(sample, part)) is not None:
            scored = scored.with_photo(*photo)
    return scored


def _new(scored: ScoredPhotos) -> dict:
    setting = scored.calibration_scores()
    limits = scored.default_limits()
    ceiling = scored.ceiling()
    stated = overkill_at(limits.review, setting, ceiling=ceiling)
    return _figures(scored, scored.live["area"], limits) | {"stated_in_100": [stated.expected, stated.low, stated.high]}


def _old(scored: ScoredPhotos) -> dict:
    limit = limit_for_overkill(scored.scores(area=1)[scored.of_subset("spare")], rate=DEFAULT_OVERKILL)
    return _figures(scored, 1, Limits(limit, limit))


def _figures(scored: ScoredPhotos, area: int, limits: Limits) -> dict:
    good, defect = scored.good_and_defect()
    judge = scored.of_subset("test")
    scores = scored.scores(area=area).astype(float)
    masks = truth_masks(scored)
    known = [i for i in np.flatnonzero(judge).tolist() if masks[i] is not None]
    has_masks = any(masks[i].any() for i in known)
    fine, bad = scores[judge & good], scores[judge & defect]

    def balanced(limit: float) -> float:
        return ((fine <= limit).mean() + (bad > limit).mean()) / 2

    best = max(balanced(limit) for limit in [-np.inf, *fine, *bad])
    return {
        "image_auroc": auroc(scores[judge], defect[judge]),
        "aupro": aupro(scored.maps(known), np.stack([masks[i] for i in known])) if has_masks else None,
        "regret": best - balanced(limits.review),
        "overkill_percent": 100 * float((fine > limits.review).mean()),
        "rejected_percent": 100 * float((fine > limits.reject).mean()),
        "escapes_percent": 100 * float((bad <= limits.review).mean()),
    }


def main() -> None:
    asked = folder_parser("right_by_default", __doc__)
    asked.add_argument("--detectors", default=",".join(DETECTORS))
    options = asked.parse_args()
    warnings.simplefilter("ignore")
    store = FeatureStore(options.store, limit=20 << 30)
    results = kept(options.name)
    for name, folder in sets(options.sets).items():
        measured = figures(folder, store, options.detectors.split(","))
        results[name] = results.get(name, {}) | measured
        for detector, row in measured.items():
            for age, of_age in row.items():
                numbers = {key: value for key, value in of_age.items() if isinstance(value, float)}
                print(
                    f"{name:8} {detector:22} {age}",
                    *(f"{key} {value:.3f}" for key, value in numbers.items()),
                    flush=True,
                )
        write(options.name, results)


if __name__ == "__main__":
    main()
