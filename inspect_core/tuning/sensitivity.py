"""How the figures change with a parameter: one point per value, from stored errors or from one refit per value."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from inspect_core.methods.method import Detector
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.scoring.metrics import auroc, fpr95_of_foreign, fpr_at_tpr
from inspect_core.study.evaluation_scores import EvaluationScores
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning.patch_sample import stop_explaining

STOPS = 10


@dataclass(frozen=True)
class SensitivityPoint:
    """Figures at one value of a parameter, NaN where the photos cannot give them.

    image_auroc, good_rejected_at_95_caught, fpr95: of test photos' scores; aupro: of their maps, to 30 % false
    positives; all shares, 0 to 1, as of `study.evaluation.Evaluation`.
    spread: (largest - median) / median of good scores, calibration photos where there are any; needs no defects.
    """

    value: float
    image_auroc: float
    aupro: float
    good_rejected_at_95_caught: float
    fpr95: float
    spread: float


def chosen_stops(scored: ScoredPhotos, name: str, value: int) -> tuple[int, ...]:
    """At most STOPS + 1 of a live parameter's stops, spread on a log scale, with the one in force."""
    stops = scored.stops(name)
    targets = np.geomspace(max(stops[0], 1), stops[-1], STOPS)
    nearest = {min(stops, key=lambda stop: abs(stop - target)) for target in targets}
    return tuple(sorted(nearest | {scored.stop_of(name, value)}))


def live_sensitivity(
    scored: ScoredPhotos,
    masks: list[np.ndarray | None],
    name: str,
    stops: Sequence[int],
    live: Mapping[str, int],
    report: Report = ignore_progress,
) -> list[SensitivityPoint]:
    """Figures at values of one live parameter, the others as in `live`: no network and no fit."""
    readings = []
    for done, stop in enumerate(stops):
        report(done / len(stops), f"{name} = {stop}, {done + 1} of {len(stops)}")
        readings.append(read_figures(scored, stop, masks, **{**live, name: stop}))
    return readings


def refit_sensitivity(
    scored: ScoredPhotos,
    masks: list[np.ndarray | None],
    values: Sequence[float],
    fit_at: Callable[[float], Detector],
    features_of: Callable[[int], Sequence[Tensor]],
    live: Mapping[str, int],
    *,
    view: int,
    fraction: float,
    report: Report = ignore_progress,
) -> list[SensitivityPoint]:
    """Figures at values of a parameter that needs a fit each, such as γ, M or σ.

    fit_at(value) -> a detector for the view at that position; features_of(position) -> (1, h, w, k) for each view;
    live: values of the other live parameters; fraction: of the variance, which decides q of every detector. The other
    views keep the errors they have. A value whose fit raises ValueError reads NaN.
    """
    readings = []
    photos = len(scored.photos)
    for done, value in enumerate(values):
        words = f"value {value:.3g}, {done + 1} of {len(values)}"
        report(done / len(values), words)
        try:
            refit = replace(scored.views[view], detector=fit_at(value))
        except ValueError:
            readings.append(SensitivityPoint(value, *[math.nan] * 5))
            continue
        chosen = {**live, refit.live_parameter: stop_explaining(refit, fraction)}
        views = [*scored.views[:view], refit, *scored.views[view + 1 :]]
        only = [replace(fitted, selected_stops=(fitted.value(chosen),)) for fitted in views]
        other = scored.with_views(only)
        for i, photo in enumerate(scored.photos):
            errors = [
                after.sweep([features_of(i)[n]], after.stops)[0]
                if n == view
                else view_errors[[before.stops.index(after.stops[0])]]
                for n, (view_errors, before, after) in enumerate(zip(scored.errors(i), scored.views, only, strict=True))
            ]
            other = other.with_errors([(photo, [errors])])
            report((done + (i + 1) / photos) / len(values), words)
        readings.append(read_figures(other, value, masks, **chosen))
    return readings


def read_figures(scored: ScoredPhotos, value: float, masks: list[np.ndarray | None], **live: int) -> SensitivityPoint:
    """The figures of the photos under these live values; `value`: that of the parameter under study."""
    good, defect = scored.good_and_defect()
    judge = np.flatnonzero(scored.of_subset("test") & (good | defect)).tolist()
    evaluated = EvaluationScores.from_scored(scored, live, judge, masks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # only good or only defective photos: NaN shows it
        return SensitivityPoint(
            value,
            auroc(evaluated.scores, evaluated.defect),
            evaluated.counts.aupro(),
            fpr_at_tpr(evaluated.scores, evaluated.defect),
            fpr95_of_foreign(evaluated.scores[~evaluated.defect], evaluated.scores[evaluated.defect]),
            spread(scored.calibration_scores(**live)),
        )


def spread(good_scores: np.ndarray) -> float:
    """(largest - median) / median: how far the strangest stands out; NaN below 2 or for median <= 0.

    The larger it is, the more small defects a limit above all good parts misses.
    """
    median = float(np.median(good_scores)) if len(good_scores) > 1 else 0.0
    return (float(good_scores.max()) - median) / median if median > 0 else math.nan
