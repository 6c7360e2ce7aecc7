"""Teaching, the same for the page and the command line: photos and choices in, a fitted study and a guard out."""

from dataclasses import dataclass, replace

from inspect_core.features.store import Store
from inspect_core.guard.model import OFF, Guard
from inspect_core.images.samples import counted
from inspect_core.images.splitting import learned_from_all
from inspect_core.methods.table import methods_of
from inspect_core.runtime.jobs import device_lock
from inspect_core.runtime.progress import Report, stage
from inspect_core.study.study import Study
from inspect_core.study.workers import Workers
from inspect_core.tuning.aligning import aligned, on_alignment
from inspect_core.tuning.compare import compare
from inspect_core.tuning.comparison import ALONE, DEFAULT, quick
from inspect_core.tuning.guard_training import train_guard
from inspect_core.tuning.order import Order
from inspect_core.tuning.suggest import Suggestion, fit_as_suggested
from inspect_core.view import remarks, with_taps

COMPARING = 0.6
"""Share of the progress for a comparison before teaching, in which the photos are read and their features stored."""
MOST_COMPARED = 300
"""Photos that the candidates for a new folder are fitted on."""


@dataclass(frozen=True, eq=False)
class Taught:
    """The result of teaching.

    choice: why this detector, None when the order named it; suggestion: None where there was nothing to suggest; notes:
    those of the order, then sentences on skipped photos, the fit and the limits.
    """

    study: Study
    choice: str | None
    suggestion: Suggestion | None
    guard: Guard | None
    notes: tuple[str, ...]


def teach(order: Order, store: Store, report: Report, workers: Workers | None = None) -> Taught:
    """Load the backbone, extract, find values to begin with, fit, learn the product; holds the device all the while.

    The same order on the same machine gives the same recipe to the bit, with or without workers (processes that process
    the photos in place of this one).
    Raises ValueError for a choice or photos that cannot be used, and whatever `report` raises to stop.
    """
    order = aligned(order, report)
    report(0.0, "loading the network, which can take a minute the first time")
    method, choice = _detector(order, store, stage(report, 0.0, COMPARING), workers)
    report = report if choice is None else stage(report, COMPARING, 1.0)
    backbone, seen = with_taps(
        methods_of(method), order.backbone,
        taps=order.taps, size=order.size, device=order.device, weights=order.weights,
    )  # fmt: skip
    photos, joined = learned_from_all(order.photos), len(methods_of(method)) > 1
    study = Study(
        photos if joined else order.photos,
        backbone,
        store,
        method=method,
        parameters=order.parameters,
        grid=order.grid,
        taps=seen,
        area=order.area,
        alignment=order.alignment,
        tiles=order.tiles,
        seed=order.seed,
        workers=workers,
    )
    with device_lock(backbone.device):
        fitted = 0.8 if study.split is photos else 0.6
        study, suggestion = fit_as_suggested(study, fixed=order.fixed, progress=stage(report, 0.0, fitted))
        if study.split is not photos:  # settings were tried on the photos kept for the limit
            view, live = study.results.views[0], study.live
            study = study.with_parameters({}, photos).fit(stage(report, fitted, 0.8))
            if view.live and live[view.live] != view.start:  # else it begins at its own default, which may be another
                study.begin_with(**{view.live: live[view.live]})
            suggestion = suggestion and replace(suggestion, live=study.live)
        guard = None
        if order.guard != OFF:
            guard = train_guard(
                backbone,
                order.photos.fit,
                order.photos.calibrate,
                fused=order.fused_guard,
                mode=order.guard,
                alignment=order.alignment,
                report=stage(report, 0.8, 1.0),
                workers=workers,
            )
        on_lying = on_alignment(study, report)
    skipped = tuple(f"{name} was skipped: {reason}" for name, reason in study.skipped)
    on_fit = remarks(study.results.views, study.preparation, study.parameters, study.live, photos=len(study.split.fit))
    notes = order.notes + skipped + on_lying + on_fit + _on_limits(study, kept=len(order.photos.calibrate))
    return Taught(study, choice, suggestion, guard, notes)


def _on_limits(study: Study, *, kept: int) -> tuple[str, ...]:
    """A note on limits set by photos that were learned from; kept: how many could have been kept for them instead."""
    setters = sum(photo.part == "calibrate" for photo in study.photos)
    if study.split.calibrate or not setters:
        return ()
    few = f"{counted(kept, 'good photo')} {'is' if kept == 1 else 'are'} too few to set a limit"
    why = few if kept else "No good photo was kept to set the limit"
    return (f"{why}: it is set on {setters} of those learned from, each scored by a detector that had not seen it.",)


def _detector(order: Order, store: Store, report: Report, workers: Workers | None) -> tuple[str, str | None]:
    """The detector of the order, and why it is that one; None when the order names it."""
    if order.method is not None:
        return order.method, None
    if order.tiles is not None:
        return ALONE, "Large photos in tiles are learned position by position."
    photos = order.photos
    if not photos.calibrate and not photos.sets_limits_crosswise:
        return ALONE, "Too few photos to compare detectors; Position by position needs the fewest."
    candidates, slow = quick(order.grid, order.parameters)
    if len(candidates) < 2:
        return (candidates or slow or [DEFAULT])[0], None
    step = -(-len(photos.fit) // MOST_COMPARED)
    fewer = replace(order, photos=replace(photos, fit=photos.fit[::step]), parameters={})
    comparison = compare(fewer, store, report, candidates, judged=False, workers=workers)
    return comparison.chosen().detector, comparison.reason(slow)
