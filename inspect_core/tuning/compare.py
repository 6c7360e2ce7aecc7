"""Runs detectors side by side on the same photos and features."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from inspect_core.features.store import Store
from inspect_core.images.areas import Areas
from inspect_core.images.read import ImageError, read
from inspect_core.judge.masks import mask_at
from inspect_core.judge.metrics import aupro, auroc, pro_curve
from inspect_core.methods.table import methods_in, methods_of, title_of
from inspect_core.runtime.jobs import device_lock
from inspect_core.runtime.progress import Report, stage
from inspect_core.study.evaluation import evaluate_photos
from inspect_core.study.judged import truth_masks
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import Study
from inspect_core.study.workers import Workers
from inspect_core.tuning.aligning import aligned
from inspect_core.tuning.comparison import ALL, Comparison, Estimate, Row
from inspect_core.tuning.order import Order
from inspect_core.tuning.trial import SHRINK, Trial, make_trial
from inspect_core.view import View, remarks, with_taps

Looked = Iterator[tuple[ScoredPhoto, list[np.ndarray]]]
"""Photos, each with its (stops, h, w) errors under every method."""
DRAWS = 500
AUPRO_DRAWS = 30
RUNS = 5


def compare(
    order: Order,
    store: Store,
    report: Report,
    detectors: Sequence[str] = ALL,
    *,
    judged: bool = True,
    workers: Workers | None = None,
) -> Comparison:
    """All detectors on one extraction; each of their methods is fitted once and scores a photo once.

    The methods begin at their defaults, except for the order's parameters. judged: whether the judge photos are scored;
    workers: as `Study` takes them. Holds the device all the while. Raises ValueError as Study does, and whatever
    `report` raises to stop.
    """
    if judged and not order.photos.calibrate:
        raise ValueError("no good photo is kept to set limits; on Teach, keep some, then compare")
    order, methods = aligned(order, report), methods_in(detectors)
    backbone, taps = with_taps(
        methods, order.backbone, taps=order.taps, size=order.size, device=order.device, weights=order.weights
    )
    with device_lock(backbone.device):
        study = Study(
            order.photos, backbone, store, method=methods, parameters=order.parameters, grid=order.grid, taps=taps,
            area=order.area, alignment=order.alignment, tiles=order.tiles, seed=order.seed, workers=workers,
        )  # fmt: skip
        read, tried_on, fitted = (0.2, 0.25, 0.4) if judged else (0.5, 0.6, 0.9)
        study.extract(stage(report, 0.0, read))
        trial = make_trial(study, stage(report, read, tried_on))
        views, seconds = _fitted(study, stage(report, tried_on, fitted))
        tried = _scored(study, detectors, views, _tried(trial, views))
        scored, masks = tried, None
        if judged:
            scored = _scored(study, detectors, views, _judged(study, views, stage(report, fitted, 0.85)), order.areas)
            masks = truth_masks(scored[detectors[0]])
        photo = trial.photos[0][0]
        rows = []
        for number, detector in enumerate(detectors):
            report(0.85 + 0.15 * number / len(detectors), f"comparing: {title_of(detector)}")
            own = {name: views[name] for name in methods_of(detector)}
            rows.append(
                Row(
                    detector,
                    **_of_trial(trial, tried[detector]),
                    **_of_judged(scored[detector], masks),
                    fit_seconds=sum(seconds[name] for name in own),
                    verdict_ms=_verdict_ms(study, photo, own) if judged else math.nan,
                    arrays_mb=sum(map(_megabytes, own.values())),
                    scored=scored[detector],
                )
            )
    notes = remarks(list(views.values()), study.preparation, study.parameters, {}, photos=len(order.photos.fit))
    return Comparison(tuple(rows), trial.basis, bool(order.photos.choose), notes)


def _fitted(study: Study, report: Report) -> tuple[dict[str, View], dict[str, float]]:
    """Each method fitted, at the live value it begins with, and the seconds that took."""
    views, seconds = {}, {}
    for number, name in enumerate(study.methods):
        began = time.perf_counter()
        share = (number / len(study.methods), (number + 1) / len(study.methods))
        view = study.fit_view(number, stage(report, *share))
        views[name], seconds[name] = replace(view, only=(view.start,)), time.perf_counter() - began
    return views, seconds


def _tried(trial: Trial, views: Mapping[str, View]) -> Looked:
    """The photos of the trial with their errors under every method."""
    for photo, features, _ in trial.photos:
        yield photo, [view.sweep(own, view.stops) for view, own in zip(views.values(), features, strict=True)]


def _judged(study: Study, views: Mapping[str, View], report: Report) -> Looked:
    """The calibrate and judge photos with their errors under every method."""
    shown = [("calibrate", s) for s in study.split.calibrate] + [("judge", s) for s in study.split.judge]
    seen = ScoredPhotos(list(views.values()), study.preparation.grid, study.preparation.map_size)
    return study.looked(seen, shown, report)


def _scored(
    study: Study, detectors: Sequence[str], views: Mapping[str, View], looked: Looked, areas: Areas | None = None
) -> dict[str, ScoredPhotos]:
    """The photos under every detector; a method that is part of several looks at each photo once."""
    grid, size = study.preparation.grid, study.preparation.map_size
    found = {
        detector: ScoredPhotos([views[name] for name in methods_of(detector)], grid, size, area=study.area, areas=areas)
        for detector in detectors
    }
    for photo, each in looked:
        errors = dict(zip(views, each, strict=True))
        for detector in detectors:
            found[detector] = found[detector].with_errors(photo, [errors[name] for name in methods_of(detector)])
    return found


def _of_trial(trial: Trial, tried: ScoredPhotos) -> dict:
    """The fields of a row that come from the trial."""
    qualities = trial.qualities(tried)
    return {
        "qualities": qualities,
        "quality": _mean(qualities),
        "synthetic": _mean(qualities[: trial.pasted]),
        "known": _mean(qualities[trial.pasted :]),
    }


def _of_judged(scored: ScoredPhotos, masks: list[np.ndarray | None] | None) -> dict:
    """The fields of a row that come from the judge photos; masks: of `truth_masks`, None when these were not scored."""
    found = {"limits": None, "evaluation": None, "image_auroc": Estimate(), "aupro": Estimate(), "pro": None}
    if masks is None:
        return found
    found["limits"] = limits = scored.default_limits()
    found["evaluation"] = evaluation = evaluate_photos(scored, limits, masks)
    (good, defect), judge, scores = scored.good_and_defect(), scored.of_subset("judge"), scored.scores()
    if not ((good & judge).any() and (defect & judge).any()):
        return found
    rows = np.flatnonzero(judge & (good | defect))
    found["image_auroc"] = Estimate.of(
        evaluation.image_auroc, _drawn(lambda rows: auroc(scores[rows], defect[rows]), rows, defect, DRAWS)
    )
    known = np.array([i for i in np.flatnonzero(judge) if masks[i] is not None], int)
    here = slice(SHRINK // 2, None, SHRINK)
    maps = {i: scored.map(int(i))[here, here] for i in known}
    small = {i: mask_at(masks[i], maps[i].shape) for i in known}
    if any(mask.any() for mask in small.values()):

        def covered(rows: np.ndarray) -> float:
            return aupro(np.stack([maps[i] for i in rows]), np.stack([small[i] for i in rows]))

        found["aupro"] = Estimate.of(evaluation.aupro, _drawn(covered, known, defect, AUPRO_DRAWS))
        found["pro"] = pro_curve(np.stack(list(maps.values())), np.stack(list(small.values())))
    return found


def _mean(qualities: np.ndarray) -> Estimate:
    if not len(qualities):
        return Estimate()
    drawn = np.random.default_rng(0).choice(qualities, (DRAWS, len(qualities))).mean(axis=1)
    return Estimate.of(float(qualities.mean()), drawn)


def _drawn(figure: Callable[[np.ndarray], float], rows: np.ndarray, defect: np.ndarray, draws: int) -> list[float]:
    """A figure over photos resampled from these, good and defective ones separately."""
    rng = np.random.default_rng(0)
    kinds = [kind for kind in (rows[defect[rows]], rows[~defect[rows]]) if len(kind)]
    return [figure(np.concatenate([rng.choice(kind, len(kind)) for kind in kinds])) for _ in range(draws)]


def _megabytes(view: View) -> float:
    return sum(value.nelement() * value.element_size() for value in view.detector.arrays().values()) / 1e6


def _verdict_ms(study: Study, photo: ScoredPhoto, views: Mapping[str, View]) -> float:
    """Milliseconds from a photo's file to its grid errors; features that other detectors need are not counted."""
    look_at = replace(study.preparation, looks=tuple(view.look for view in views.values()))

    def verdict() -> None:
        for view, own in zip(views.values(), look_at.features(read(photo.path, photo.depth).pixels), strict=True):
            view.errors(own, view.start)

    try:
        return _median_ms(verdict)
    except ImageError:
        return math.inf


def _median_ms(run: Callable[[], object]) -> float:
    took = []
    for _ in range(RUNS):
        began = time.perf_counter()
        run()
        took.append(time.perf_counter() - began)
    return 1000 * float(np.median(took))
