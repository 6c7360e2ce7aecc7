"""What photographing the same part again does to its score, and what learning within tolerances changes about that.

From each folder at most TAUGHT good photos are taught in folds, without tolerances and with those of a careful station;
at most SHOWN other good ones and as many defects are judged. Of the first AGAIN good ones every photo is changed as
taken, at its own size: noise, brightness and contrast, colour temperature, a gradient of light, shift, turn, defocus,
JPEG. For every detector, and for the one that places prefer: the mean shift of their scores in standard deviations of
the scores that set limits, the share of them above the limit stated as 5 in 100, before and after; image AUROC, AUPRO.

python -m benchmarks.methods.repeatability --store DIR [NAME=FOLDER ...]
"""

import io
import warnings
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from benchmarks.measure import folder_parser, kept, sets, write
from inspect_core.datasets.folders import Split, scan
from inspect_core.datasets.splitting import split_to_teach
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.images.tolerances import DEFAULT_TOLERANCES, Tolerances
from inspect_core.methods.fitted_method import with_taps
from inspect_core.methods.registry import CANDIDATES, FIXED, LOOSE, methods_in, methods_of
from inspect_core.scoring.limits import limits_from_good
from inspect_core.study.evaluation import evaluate_photos
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.study import FittedStudy, Study
from inspect_core.tuning.place import PLACED, place_of

TAUGHT, SHOWN, AGAIN = 60, 80, 20
SIDE = 256
"""Pixels of the longer side to which shift and defocus refer."""
Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _clipped(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _noise(spread: float) -> Change:
    def change(photo: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        mono = bool((photo == photo[..., :1]).all())
        return _clipped(photo + spread * rng.standard_normal((*photo.shape[:2], 1 if mono else 3)))

    return change


def _gain(times: float) -> Change:
    return lambda photo, rng: _clipped(photo * times)


def _contrast(times: float) -> Change:
    return lambda photo, rng: _clipped((photo - photo.mean()) * times + photo.mean())


def _warmer(times: float) -> Change:
    return lambda photo, rng: _clipped(photo * np.array([times, 1.0, 1 / times]))


def _gradient(times: float) -> Change:
    return lambda photo, rng: _clipped(photo * np.linspace(1 / times, times, photo.shape[1])[None, :, None])


def _moved(right: float, down: float, turn: float = 0.0) -> Change:
    def change(photo: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        height, width = photo.shape[:2]
        matrix = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), turn, 1)
        matrix[:, 2] += np.array([right, down]) * max(height, width) / SIDE
        return cv2.warpAffine(photo, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT_101)

    return change


def _blurred(spread: float) -> Change:
    return lambda photo, rng: cv2.GaussianBlur(photo, (0, 0), spread * max(photo.shape[:2]) / SIDE)


def _compressed(quality: int) -> Change:
    def change(photo: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        file = io.BytesIO()
        Image.fromarray(photo).save(file, "JPEG", quality=quality)
        return np.array(Image.open(file))

    return change


CHANGES: dict[str, Change] = {
    "noise 1.5": _noise(1.5), "noise 3": _noise(3), "light +3 %": _gain(1.03), "light -3 %": _gain(0.97),
    "light +6 %": _gain(1.06), "light -6 %": _gain(0.94), "contrast +3 %": _contrast(1.03),
    "contrast -6 %": _contrast(0.94), "warmer by 3 %": _warmer(1.03), "gradient ± 3 %": _gradient(1.03),
    "1 px right": _moved(1, 0), "1 px left": _moved(-1, 0), "1 px down": _moved(0, 1), "2 px right": _moved(2, 0),
    "turned by .5°": _moved(0, 0, 0.5), "blur .5 px": _blurred(0.5), "blur 1 px": _blurred(1.0),
    "JPEG 90": _compressed(90), "JPEG 75": _compressed(75),
}  # fmt: skip
WITHIN = ("noise 1.5", "light +3 %", "light -3 %", "1 px right", "1 px left", "1 px down", "blur .5 px", "JPEG 90")
"""Those at the tolerances of a careful station."""


def of_set(folder: Path, store: FeatureStore) -> dict:
    """The figures of one folder, without tolerances and with them."""
    parts = split_to_teach(scan(folder), blind=True)
    rng = np.random.default_rng(0)
    good, bad = (
        [pool[i] for i in sorted(rng.permutation(len(pool))[:SHOWN])]
        for pool in ([s for s in parts.test if s.label == "good"], [s for s in parts.test if s.label != "good"])
    )
    fit = parts.train[:: -(-len(parts.train) // TAUGHT)]
    groups = {sample.name: parts.groups[sample.name] for sample in fit if sample.name in parts.groups}
    photos = Split(tuple(fit), (), tuple(sorted((*good, *bad), key=lambda sample: sample.name)), groups=groups)
    methods = methods_in(CANDIDATES)
    backbone, taps = with_taps(methods, "efficientnet_lite0")
    results = {}
    changed = []
    for name, tolerances in (("none", None), ("careful", DEFAULT_TOLERANCES)):
        study = Study.from_photos(
            photos, backbone, store, method=methods, taps=taps, seed=0, tolerances=tolerances
        ).fit()
        changed = changed or [photo for pool in enumerate(CHANGES.items()) for photo in _changed(study, good, *pool)]
        results[name] = _figures(study, good, changed, tolerances)
    place = place_of(study)
    return {"place": place, "default": FIXED if place >= PLACED else LOOSE, "tolerances": results}


def _changed(study: FittedStudy, good: list, number: int, named: tuple[str, Change]) -> list:
    """(photo, features) of the good parts, changed one way."""
    pairs = []
    for i, sample in enumerate(good[:AGAIN]):
        pixels = named[1](read(sample.path, sample.depth).pixels, np.random.default_rng([number, i]))
        placement = study.extractor.place(pixels)
        name = f"{named[0]}|{sample.name}"
        photo = ScoredPhoto(name, name, placement.size, "unknown", "test", sample.path, placement=placement)
        pairs.append((photo, study.extractor.features(pixels, placement)))
    return pairs


def _figures(study: FittedStudy, good: list, changed: list, tolerances: Tolerances | None) -> dict:
    with_changed = study.scored
    masks = truth_masks(study.scored)
    for photo, features in changed:
        with_changed = with_changed.with_photo(photo, features)
    names = [sample.name for sample in good[:AGAIN]]
    results = {}
    for detector in CANDIDATES:
        which = [study.methods.index(name) for name in methods_of(detector)]
        unchanged = study.scored.of_views(which)
        every = with_changed.of_views(which)
        at = {photo.name: float(score) for photo, score in zip(every.photos, every.scores(), strict=True)}
        setting = unchanged.calibration_scores().astype(float)
        limit = limits_from_good(setting, ceiling=unchanged.ceiling())[0]
        before = np.array([at[name] for name in names])
        shifts, above = {}, {}
        for change in CHANGES:
            after = np.array([at[f"{change}|{name}"] for name in names])
            shifts[change] = float((after - before).mean() / setting.std(ddof=1))
            above[change] = float((after > limit).mean())
        shown = evaluate_photos(unchanged, unchanged.default_limits(), masks)
        others = [at[sample.name] > limit for sample in good]
        results[detector] = {
            "image_auroc": shown.image_auroc, "aupro": shown.aupro, "good_above": float(np.mean(others)),
            "shifts": shifts, "above": above,
            "again_changed": None if shown.changed is None else [shown.changed.changed, shown.changed.total],
        }  # fmt: skip
    return results


def summary(results: dict[str, dict]) -> dict:
    """Of the detector that places prefer, by set: AUROC, AUPRO, and the shifts within the tolerances."""
    rows = {}
    for name, figures in results.items():
        for which, by_detector in figures["tolerances"].items():
            row = by_detector[figures["default"]]
            within = {change: row["shifts"][change] for change in WITHIN}
            rows[f"{name}, {which}"] = {
                "image_auroc": row["image_auroc"], "aupro": row["aupro"], "good_above": row["good_above"],
                "above_within": float(np.mean([row["above"][change] for change in WITHIN])),
                "noise_1.5": row["shifts"]["noise 1.5"], "worst": max(within.items(), key=lambda pair: pair[1]),
            }  # fmt: skip
    return rows


def main() -> None:
    asked = folder_parser("repeatability", __doc__)
    options = asked.parse_args()
    warnings.simplefilter("ignore")
    store = FeatureStore(options.store, limit=40 << 30)
    results = kept(options.name).get("sets", {})
    for name, folder in sets(options.sets).items():
        results[name] = of_set(folder, store)
        write(options.name, {"summary": summary(results), "sets": results})
        for row, figures in summary({name: results[name]}).items():
            print(row, *(f"{key} {value}" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()
