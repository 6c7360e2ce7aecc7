"""Starting values from good photos alone: synthetic defects pasted into held-out ones, and the setting that finds them.

Each method says which settings are worth trying (`settings`, `trial_stops`). They are compared on a patch sample by the
mean of pixel AUROC and AUPRO on the pasted defects.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from inspect_core.images.folders import Sample
from inspect_core.images.pasted_defects import KINDS
from inspect_core.images.read import ImageError, read, squash
from inspect_core.judge.anomaly_map import SIGMA, to_pixels
from inspect_core.judge.masks import mask_at
from inspect_core.judge.metrics import aupro, auroc
from inspect_core.methods.method import Detector
from inspect_core.methods.table import METHODS
from inspect_core.runtime.progress import Cancel, Report, stage, tell
from inspect_core.study.study import Study
from inspect_core.tuning.patch_sample import PatchSample

PHOTOS = 12
TIE = 0.0025
_MAP_SHRINK = 4


@dataclass(frozen=True)
class Suggestion:
    """Where to begin. parameters: of the fit; live: the live parameter by name; basis: what it rests on, a sentence."""

    parameters: Mapping[str, float]
    live: Mapping[str, int]
    basis: str


@dataclass(frozen=True)
class _Trial:
    """Good photos with synthetic defects: features (n, h, w, k), masks (n, H, W) bool at the size of the small maps."""

    features: Tensor
    masks: np.ndarray
    photos: int
    held_out: bool

    def quality(self, errors: np.ndarray) -> tuple[float, float]:
        """(mean of pixel AUROC and AUPRO, pixel AUROC) of grid errors (n, h, w)."""
        size = self.masks.shape[1:]
        maps = to_pixels(errors, size, sigma=SIGMA / _MAP_SHRINK)
        pixels = auroc(maps, self.masks)
        return (pixels + aupro(maps, self.masks)) / 2, pixels


@dataclass(frozen=True)
class _Setting:
    parameters: dict[str, float]
    live: int
    quality: float
    pixels: float


def fit_as_suggested(
    study: Study,
    *,
    fixed: Collection[str] = (),
    progress: Report | None = None,
    cancelled: Cancel | None = None,
) -> tuple[Study, Suggestion | None]:
    """Extract, suggest, fit: the fitted study, beginning with the suggested values, and the suggestion.

    fixed: parameters that the user has chosen; they are kept. None for a method that has nothing to suggest, and when
    the user has chosen all there is to suggest.
    """
    method = METHODS[study.method]
    if method.live is None or (method.one_fit and method.live in fixed):
        return study.fit(progress, cancelled), None
    if method.one_fit:
        study.fit(stage(progress, 0.0, 0.9), cancelled)
        suggestion = suggest(study, progress=stage(progress, 0.9, 1.0), cancelled=cancelled)
    else:
        study.extract(stage(progress, 0.0, 0.5), cancelled)
        suggestion = suggest(study, fixed=fixed, progress=stage(progress, 0.5, 0.75), cancelled=cancelled)
        study = study.with_parameters(suggestion.parameters).fit(stage(progress, 0.75, 1.0), cancelled)
    study.begin_with(**suggestion.live)
    started = {name: study.parameters[name] for name in method.refits}
    return study, replace(suggestion, parameters=started | dict(suggestion.parameters), live=study.live)


def suggest(
    study: Study,
    *,
    fixed: Collection[str] = (),
    progress: Report | None = None,
    cancelled: Cancel | None = None,
) -> Suggestion:
    """The setting of the study's method that sets synthetic defects off best from the good surface around them.

    study: fitted when its live parameter is k or m, of which every value comes from the one fit, else extracted. Of
    settings within TIE of the best the one with the least to compute is taken.
    Raises ValueError for a method that has nothing to suggest, and Cancelled when `cancelled` returns True.
    """
    if METHODS[study.method].live is None:
        raise ValueError(f"{study.method} has no value to suggest; it is used with its defaults")
    trial = _trial(study, progress, cancelled)
    tried: list[_Setting] = []
    for fraction, parameters, detector in candidates(study, fixed, cancelled):
        tell(progress, cancelled, 0.2 + 0.8 * fraction, "trying settings on synthetic defects")
        tried += _measure(study, trial, parameters, detector, fixed)
    best = max(setting.quality for setting in tried)
    chosen = min((s for s in tried if s.quality >= best - TIE), key=lambda setting: setting.live)
    tell(progress, cancelled, 1.0, "trying settings on synthetic defects")
    return Suggestion(chosen.parameters, {METHODS[study.method].live: chosen.live}, _basis(trial, len(tried), chosen))


def _trial(study: Study, progress: Report | None, cancelled: Cancel | None) -> _Trial:
    """One defect of each kind in every photo; few photos are used several times, with other defects."""
    held_out = bool(study.split.calibrate)
    pool = study.split.calibrate or study.split.fit
    chosen = [pool[i] for i in np.unique(np.linspace(0, len(pool) - 1, PHOTOS).astype(int))]
    size = study.preparation.backbone.size
    small = tuple(max(side // _MAP_SHRINK, cells) for side, cells in zip(size, study.preparation.grid, strict=True))
    features, masks = [], []
    for number in range(PHOTOS):
        pixels = _pixels(chosen[number % len(chosen)], size)
        if pixels is None:
            continue
        mask, rng = np.zeros(size, bool), np.random.default_rng([study.seed, number])
        for make in KINDS:
            pixels, changed = make(pixels, rng)
            mask |= changed
        features.append(study.preparation.features(pixels))
        masks.append(mask_at(mask, small))
        tell(progress, cancelled, 0.2 * (number + 1) / PHOTOS, "making synthetic defects")
    if not features:
        raise ValueError("none of the good photos can be read any more; check that they are still there")
    return _Trial(torch.cat(features), np.stack(masks), len(chosen), held_out)


def _pixels(sample: Sample, size: tuple[int, int]) -> np.ndarray | None:
    try:
        return squash(read(sample.path).pixels, size)
    except ImageError:
        return None


def candidates(
    study: Study, fixed: Collection[str], cancelled: Cancel | None
) -> Iterator[tuple[float, dict[str, float], Detector]]:
    """(share done, parameters of the fit, detector): one for every kernel width, or the study's own."""
    if METHODS[study.method].one_fit:
        if study.scored is None:
            raise ValueError(f"{study.method} is tried as it was fitted, and is not fitted yet; call fit first")
        yield 0.5, {}, study.scored.detector
        return
    sample = PatchSample.of(study, cancelled)
    method = METHODS[study.method]
    chosen_by_user = set(method.refits) & set(fixed) - {"M"}
    settings = [{}] if chosen_by_user else method.settings(sample.patches, study.seed)
    for number, parameters in enumerate(settings):
        yield (number + 1) / (len(settings) + 1), parameters, sample.fit(parameters, cancelled)


def _measure(
    study: Study, trial: _Trial, parameters: dict[str, float], detector: Detector, fixed: Collection[str]
) -> list[_Setting]:
    method = METHODS[study.method]
    tried = method.trial_stops(detector, study.parameters, fixed)
    sweep = [method.sweep(detector, photo[None], tuple(tried)).cpu() for photo in trial.features]
    errors = torch.stack([rows.reshape(len(tried), *study.preparation.grid) for rows in sweep], dim=1).float().numpy()
    return [
        _Setting(parameters | of_fit, stop, *trial.quality(at_stop))
        for (stop, of_fit), at_stop in zip(tried.items(), errors, strict=True)
    ]


def _basis(trial: _Trial, tried: int, chosen: _Setting) -> str:
    photos = "1 good photo" if trial.photos == 1 else f"{trial.photos} good photos"
    seen = "" if trial.held_out else ", learned from too since none was kept aside,"
    return (
        f"Suggested from {photos}{seen} with {len(trial.masks) * len(KINDS)} synthetic defects pasted in: of {tried} "
        f"settings tried, this one sets them off best. A pixel of theirs then scores above a good one "
        f"{round(100 * chosen.pixels)} times in 100."
    )
