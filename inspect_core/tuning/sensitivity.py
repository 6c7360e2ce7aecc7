"""How the figures follow a parameter: one point a value, from errors already kept or from one refit a value."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from inspect_core.judge.anomaly_map import SIGMA, image_score, to_pixels
from inspect_core.judge.metrics import aupro, auroc, fpr_at_tpr
from inspect_core.methods.method import Detector, stops_up_to
from inspect_core.methods.table import METHODS
from inspect_core.recipe import map_patches
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning.patch_sample import stop_explaining

Report = Callable[[float, str], None]


@dataclass(frozen=True)
class Reading:
    """Figures at one value of a parameter, NaN where the photos cannot give them.

    image_auroc, fpr95: of judge photos' scores; aupro: of their maps, to 30 % false positives; all shares, 0 to 1.
    spread: (largest - median) / median of good scores, calibrate photos where there are any; needs no defects.
    """

    value: float
    image_auroc: float
    aupro: float
    fpr95: float
    spread: float


def chosen_stops(scored: ScoredPhotos, value: int, count: int = 10) -> tuple[int, ...]:
    """At most count + 1 of the tray's stops, about evenly spaced on a log scale, with the value in force among them."""
    wanted = np.geomspace(max(scored.stops[0], 1), scored.stops[-1], count)
    nearest = {min(scored.stops, key=lambda stop: abs(stop - target)) for target in wanted}
    return tuple(sorted(nearest | {scored.stop_of(value)}))


def over_live(
    scored: ScoredPhotos,
    masks: list[np.ndarray | None],
    stops: Sequence[int],
    report: Report | None = None,
) -> list[Reading]:
    """Figures at values of the live parameter, from the errors the tray keeps: no network and no fit."""
    readings = []
    for done, stop in enumerate(stops):
        if report is not None:
            report(done / len(stops), f"{scored.live_name} = {stop}, {done + 1} of {len(stops)}")
        readings.append(read_figures(scored, stop, scored.maps(**{scored.live_name: stop}), masks))
    return readings


def over_refits(
    scored: ScoredPhotos,
    masks: list[np.ndarray | None],
    values: Sequence[float],
    fit_at: Callable[[float], Detector],
    features_of: Callable[[int], Tensor],
    *,
    fraction: float,
    report: Report | None = None,
) -> list[Reading]:
    """Figures at values of a parameter that needs a fit each, such as γ, M or σ.

    fit_at(value) -> a detector of the tray's method; features_of(position) -> (1, h, w, k); fraction: of the variance,
    which decides q of every detector. A value whose fit raises ValueError reads NaN.
    """
    readings, top, photos = [], METHODS[scored.method].top, len(scored.photos)
    for done, value in enumerate(values):

        def tell(fraction: float, *, value: float = value, done: int = done) -> None:
            if report is not None:
                report((done + fraction) / len(values), f"value {value:.3g}, {done + 1} of {len(values)}")

        tell(0.0)
        try:
            detector = fit_at(value)
        except ValueError:
            readings.append(Reading(value, math.nan, math.nan, math.nan, math.nan))
            continue
        live = {scored.live_name: stop_explaining(detector, stops_up_to(top(detector)), fraction)}
        maps = np.empty((photos, *scored.size), np.float32)
        for i in range(photos):
            maps[i] = to_pixels(map_patches(scored.method, detector, features_of(i), live), scored.size, sigma=SIGMA)
            tell((i + 1) / photos)
        readings.append(read_figures(scored, value, maps, masks))
    return readings


def read_figures(scored: ScoredPhotos, value: float, maps: np.ndarray, masks: list[np.ndarray | None]) -> Reading:
    """The figures of the tray's photos given their (photos, H, W) anomaly maps."""
    good, defect = scored.good_and_defect()
    judge, scores = scored.of_subset("judge"), np.asarray(image_score(maps))
    known = [i for i in np.flatnonzero(judge) if masks[i] is not None]
    told = judge & (good | defect)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # one kind of photo alone: NaN says it
        overlap = aupro(maps[known], np.stack([masks[i] for i in known])) if known else math.nan
        return Reading(
            value,
            auroc(scores[told], defect[told]),
            overlap,
            fpr_at_tpr(scores[told], defect[told]),
            spread(
                scores[
                    good & (scored.of_subset("calibrate") if (good & scored.of_subset("calibrate")).any() else judge)
                ]
            ),
        )


def spread(good_scores: np.ndarray) -> float:
    """(largest - median) / median: how far the strangest good part stands out; NaN with fewer than 2, or median <= 0.

    The larger it is, the more a limit above all good parts gives away to small defects.
    """
    median = float(np.median(good_scores)) if len(good_scores) > 1 else 0.0
    return (float(good_scores.max()) - median) / median if median > 0 else math.nan
