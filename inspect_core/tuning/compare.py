"""Detectors side by side on the same photos and features, and the one to begin with on a new folder."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inspect_core.features.store import Store
from inspect_core.images.read import ImageError, read
from inspect_core.judge.limits import Counts, count_parts, limits_from_good
from inspect_core.judge.metrics import aupro, auroc
from inspect_core.methods.method import Workload
from inspect_core.methods.pooled import WIDEST
from inspect_core.methods.table import JOIN, METHODS, methods_of, title_of
from inspect_core.runtime.progress import Report, stage
from inspect_core.study.evaluation import truth_masks
from inspect_core.study.scored_photos import ScoredPhoto, ScoredPhotos
from inspect_core.study.study import Study
from inspect_core.tuning.order import Order
from inspect_core.tuning.trial import SHRINK, is_better, make_trial
from inspect_core.verdict import Limits
from inspect_core.view import View, with_taps

DEFAULT = f"mahalanobis{JOIN}quadrics"
CHEAP = (DEFAULT, "mahalanobis", f"mahalanobis{JOIN}corp", f"mahalanobis{JOIN}nearest")
"""Candidates for a new folder, the preferred first."""
ALL = (*CHEAP, f"mahalanobis{JOIN}kernel_pca", "corp", "cop", "kernel_pca", "quadrics", "nearest")
SLOWEST = 0.02
"""Seconds that the methods of a candidate for a new folder may take a photo, by their forecast: with them a verdict
takes about 3.5 times the smallest backbone alone. By a forecast, so that the same photos choose the same detector."""
MARGIN = 0.05
"""Of quality, from 0 to 1: a smaller lead on made-up defects did not carry over to true ones (magnetic tile: .02 there,
-.02 in image AUROC)."""
DRAWS = 500
AUPRO_DRAWS = 30
RUNS = 5


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval; NaN where the photos cannot give it."""

    value: float
    low: float
    high: float

    def ties(self, other: "Estimate") -> bool:
        """Whether either value lies in the other's interval."""
        return self.low <= other.value <= self.high or other.low <= self.value <= other.high


@dataclass(frozen=True, eq=False)
class Row:
    """One detector in a comparison.

    quality: on the trial, photo by photo, 0 to 1; image_auroc, aupro: on the judge photos; limits, counts: the
    suggested ones and what they do to the judge photos; fit_seconds, verdict_ms: of teaching without extraction, and
    from file to map; arrays_mb: of the detector's arrays; scored: the photos, for maps and histograms; live: in force.
    """

    detector: str
    qualities: np.ndarray
    quality: Estimate
    image_auroc: Estimate
    aupro: Estimate
    limits: Limits | None
    counts: Counts
    fit_seconds: float
    verdict_ms: float
    arrays_mb: float
    scored: ScoredPhotos

    @property
    def title(self) -> str:
        return title_of(self.detector)


@dataclass(frozen=True, eq=False)
class Comparison:
    """rows: one a detector, as asked for; basis: what the trial rests on, in words; backbone_ms: of the network alone;
    known: whether known defects are part of the trial; slow: titles of candidates left out because their verdict takes
    too long.
    """

    rows: tuple[Row, ...]
    basis: str
    backbone_ms: float
    known: bool = False
    slow: tuple[str, ...] = ()

    def chosen(self) -> Row:
        """The first row, unless another is better beyond chance on the same photos, and on made-up ones by MARGIN; then
        the best one.
        """
        first, margin = self.rows[0], 0.0 if self.known else MARGIN
        better = [
            row for row in self.rows[1:]
            if row.quality.value >= first.quality.value + margin and is_better(row.qualities, first.qualities)
        ]  # fmt: skip
        return max(better, key=lambda row: row.quality.value, default=first)

    def reason(self) -> str:
        """Why the chosen one was chosen, a sentence."""
        chosen, first = self.chosen(), self.rows[0]
        left_out = f" Left out, as a verdict would take too long: {', '.join(self.slow)}." if self.slow else ""
        if chosen is first:
            return (
                f"{first.title}, the default: on {self.basis}, none of {len(self.rows) - 1} others did clearly "
                f"better.{left_out}"
            )
        return (
            f"{chosen.title}: on {self.basis} it sets the defects off best, {100 * chosen.quality.value:.0f} of 100 "
            f"against {100 * first.quality.value:.0f} for {first.title}.{left_out}"
        )


def compare(
    order: Order,
    store: Store,
    report: Report,
    detectors: Sequence[str] = ALL,
    *,
    judged: bool = True,
    slowest: float | None = None,
) -> Comparison:
    """Every detector at its defaults on one extraction, each of their methods fitted once.

    judged: whether the judge photos are scored; slowest: seconds a photo above which a detector is left out by its
    forecast (the first never is). Raises ValueError as Study does, and whatever `report` raises to stop.
    """
    slow = () if slowest is None else tuple(name for name in detectors[1:] if _seconds(name, order.grid) > slowest)
    detectors = [name for name in detectors if name not in slow]
    methods = tuple(dict.fromkeys(name for detector in detectors for name in methods_of(detector)))
    backbone, taps = with_taps(
        methods, order.backbone, taps=order.taps, size=order.size, device=order.device, weights=order.weights
    )
    study = Study(order.photos, backbone, store, method=methods, grid=order.grid, taps=taps, seed=order.seed)
    study.extract(stage(report, 0.0, 0.3))
    trial = make_trial(study, stage(report, 0.3, 0.4))
    views, seconds, fitting = {}, {}, stage(report, 0.4, 0.7)
    for number, name in enumerate(methods):
        began = time.perf_counter()
        views[name] = study.fit_view(number, stage(fitting, number / len(methods), (number + 1) / len(methods)))
        seconds[name] = time.perf_counter() - began
    photo = next(found for found, _, _ in trial.photos)
    alone = _median_ms(lambda: backbone.tap_maps(np.zeros((1, *backbone.size, 3), np.uint8)))
    rows: list[Row] = []
    masks: list | None = None
    for number, detector in enumerate(detectors):
        report(0.7 + 0.3 * number / len(detectors), f"comparing: {title_of(detector)}")
        looks = [methods.index(name) for name in methods_of(detector)]
        chosen = [replace(views[name], only=(views[name].start,)) for name in methods_of(detector)]
        took = _verdict_ms(study, photo, chosen, looks) if judged else float("nan")
        tried = trial.scored(chosen, looks)
        qualities = trial.qualities(tried)
        scored = _scored(study, chosen, looks) if judged else tried
        masks = truth_masks(scored) if judged and masks is None else masks
        rows.append(
            _row(detector, qualities, scored, masks, sum(seconds[name] for name in methods_of(detector)), took, chosen)
        )
    return Comparison(tuple(rows), trial.basis, alone, bool(order.photos.choose), tuple(map(title_of, slow)))


def _seconds(detector: str, grid: tuple[int, int]) -> float:
    """Forecast of what the detector's methods take to score one photo more."""
    one, two = (Workload(0, shown, grid[0] * grid[1], WIDEST) for shown in (1, 2))
    rows = [METHODS[name] for name in methods_of(detector)]
    return sum(row.costs(two, row.defaults).seconds - row.costs(one, row.defaults).seconds for row in rows)


def _scored(study: Study, views: Sequence[View], looks: Sequence[int]) -> ScoredPhotos:
    """The calibrate and judge photos under these views."""
    scored = ScoredPhotos(views, study.preparation.grid, study.preparation.backbone.size)
    shown = [("calibrate", s) for s in study.split.calibrate] + [("judge", s) for s in study.split.judge]
    for part, sample in shown:
        if (found := study.scored_photo(sample, part)) is not None:
            photo, features = found
            scored = scored.with_photo(photo, [features[look] for look in looks])
    return scored


def _row(
    detector: str,
    qualities: np.ndarray,
    scored: ScoredPhotos,
    masks: list[np.ndarray | None] | None,
    fit_seconds: float,
    verdict_ms: float,
    views: Sequence[View],
) -> Row:
    setting = scored.calibration_scores()
    limits = Limits(*limits_from_good(setting)) if len(setting) else None
    good, defect = scored.good_and_defect()
    judge, scores = scored.of_subset("judge"), scored.scores()
    nothing = Estimate(float("nan"), float("nan"), float("nan"))
    ranked = overlap = nothing
    if masks is not None and (good & judge).any() and (defect & judge).any():
        ranked = _bootstrapped(
            lambda rows: auroc(scores[rows], defect[rows]), np.flatnonzero(judge & (good | defect)), defect, DRAWS
        )
        known = np.array([i for i in np.flatnonzero(judge) if masks[i] is not None], int)
        if defect[known].any():
            here = slice(SHRINK // 2, None, SHRINK)
            maps = {i: scored.map(int(i))[here, here] for i in known}
            small = {i: masks[i][here, here] for i in known}
            overlap = _bootstrapped(
                lambda rows: aupro(np.stack([maps[i] for i in rows]), np.stack([small[i] for i in rows])),
                known, defect, AUPRO_DRAWS,
            )  # fmt: skip
    counts = Counts(0, 0, 0, 0)
    if limits is not None:
        counts = count_parts(scores[judge & good], scores[judge & defect], review=limits.review, reject=limits.reject)
    spread = 1.96 * qualities.std(ddof=1) / np.sqrt(len(qualities))
    quality = Estimate(float(qualities.mean()), float(qualities.mean() - spread), float(qualities.mean() + spread))
    arrays = sum(value.nelement() * value.element_size() for view in views for value in view.detector.arrays().values())
    return Row(
        detector, qualities, quality, ranked, overlap, limits, counts, fit_seconds, verdict_ms, arrays / 1e6, scored
    )


def _bootstrapped(figure: Callable[[np.ndarray], float], rows: np.ndarray, defect: np.ndarray, draws: int) -> Estimate:
    """A figure of these photos, and twice the spread it has over photos drawn anew, good and defective ones apart."""
    rng, value = np.random.default_rng(0), figure(rows)
    kinds = [rows[defect[rows]], rows[~defect[rows]]]
    drawn = [figure(np.concatenate([rng.choice(kind, len(kind)) for kind in kinds if len(kind)])) for _ in range(draws)]
    half = 1.96 * float(np.std(drawn))
    return Estimate(value, max(value - half, 0.0), min(value + half, 1.0))


def _verdict_ms(study: Study, photo: ScoredPhoto, views: Sequence[View], looks: Sequence[int]) -> float:
    """From a photo's file to its grid errors, beside the other detectors' features, which are not counted."""
    look_at = replace(study.preparation, looks=tuple(study.preparation.looks[look] for look in looks))

    def verdict() -> None:
        raw = [replace(view, scales={}) for view in views]
        for view, own in zip(raw, look_at.features(read(photo.path).pixels), strict=True):
            view.errors(own, view.start)

    try:
        return _median_ms(verdict)
    except ImageError:
        return float("inf")


def _median_ms(run: Callable[[], object]) -> float:
    took = []
    for _ in range(RUNS):
        began = time.perf_counter()
        run()
        took.append(time.perf_counter() - began)
    return 1000 * float(np.median(took))
