"""Moves of γ, M and σ in the background: the shown photo first, then all, then the full fit, which takes the place of
the one before. A new move stops the previous one.

Plain threads that know nothing of the page; the page polls the fields of a run.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from typing import Self

import numpy as np

from inspect_core.images.areas import InspectionAreas
from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.runtime.jobs import device_lock
from inspect_core.runtime.pace import Pace
from inspect_core.runtime.progress import Cancelled
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning.patch_sample import PatchSample, SampleFit
from inspect_core.ui import fitted_product, open_product_store
from inspect_core.ui.fitted_product import LimitsByHand
from inspect_core.ui.taught_product import TaughtProduct
from inspect_core.verdict import Limits

_numbers = count(1)
LEAD = 8
"""Good photos scored first: the local scale is learned from them until all are scored."""


@dataclass(frozen=True, eq=False)
class _Shown:
    """Photos that have a map: scored, and the place in it of each by its position in the gallery."""

    scored: ScoredPhotos
    places: Mapping[int, int] = field(default_factory=dict)

    def with_photo(self, position: int, photo: ScoredPhoto, errors: Sequence[np.ndarray]) -> Self:
        if position in self.places:
            return self
        return replace(
            self,
            scored=self.scored.with_errors([(photo, [errors])]),
            places={**self.places, position: len(self.places)},
        )


class PreviewRun:
    """One move of γ, M or σ and its results so far. Read from any thread.

    First the method is fitted on all of the sample, and the photo shown gets its map; then by folds, and all photos get
    their scores: good ones that set limits under the method that has not seen them, as in a fit. Then all good photos
    are fitted, and the product of that takes the place of the one before.

    number: unique. parameters: those of the move. photos: all to be scored, in the order of the gallery. begin: the
    live value that a user chose, None for what the fit begins with. live: the live parameters, empty until the fit is
    done; then set by its session. limits: set by hand, None for those that follow from the model's. done: photos scored
    so far; complete: whether all are; fitted: share of the full fit that is done. error: the sentence to show when it
    failed. areas: by which maps are judged.
    """

    def __init__(
        self,
        parameters: Mapping[str, float],
        photos: tuple[ScoredPhoto, ...],
        first: int,
        model_live: Mapping[str, int],
        begin: int | None = None,
        areas: InspectionAreas | None = None,
    ):
        self.number = next(_numbers)
        self._model_live = dict(model_live)
        self.parameters = dict(parameters)
        self.photos = photos
        self.begin = begin
        self.areas = areas
        self.live: dict[str, int] = {}
        self.limits: Limits | None = None
        self.done, self.complete = 0, False
        self.fitted, self._pace, self._fit_began = 0.0, Pace(), 0.0
        self.error = ""
        self._shown: _Shown | None = None
        calibrate = [i for i, photo in enumerate(photos) if photo.subset == "calibration"]
        self._lead = calibrate[:LEAD]
        self._to_show = deque([*self._lead, first] if photos else [])
        self._stop = threading.Event()
        self.ended = threading.Event()

    @property
    def scored(self) -> ScoredPhotos:
        """The photos scored so far; in the order of the gallery, once complete. Not before `live`."""
        assert self._shown is not None
        return self._shown.scored

    def cancel(self) -> None:
        """Ask it to stop before its next photo."""
        self._stop.set()

    @property
    def cancelled(self) -> bool:
        """Whether it is to stop."""
        return self._stop.is_set()

    @property
    def seconds_left(self) -> float | None:
        """Seconds until all good photos are fitted; None before the pace is known."""
        return self._pace.seconds_left(time.monotonic() - self._fit_began)

    def report(self, fraction: float, step: str) -> None:
        """Called by the full fit: how far it is. Raises Cancelled after `cancel`."""
        self.fitted = fraction
        self._pace.report(fraction, time.monotonic() - self._fit_began)
        if self.cancelled:
            raise Cancelled

    def ready(self, position: int) -> bool:
        """Return whether this photo of the gallery has its map, and enough good ones theirs to scale it."""
        places = {} if self._shown is None else self._shown.places
        return position in places and all(place in places for place in self._lead)

    def state(self, position: int) -> tuple[bool, bool, bool]:
        """Return what a page drawn now shows: whether the photo at this place is ready, whether all are scored, and
        whether all has ended.
        """
        ended, complete = self.ended.is_set(), self.complete
        return self.ready(position), complete, ended

    def want(self, position: int) -> None:
        """Have this photo shown next."""
        if not self.ready(position):
            self._to_show.append(position)

    def map(self, position: int, live: Mapping[str, int]) -> np.ndarray:
        """Return (H, W) float32 anomaly map of a photo that is ready."""
        assert self._shown is not None
        shown = self._shown
        return shown.scored.map(shown.places[position], **live)

    def limits_by_hand(self) -> LimitsByHand | None:
        """Return those that were set on the preview; None for those that follow."""
        if self.limits is None:
            return None
        return LimitsByHand(self.limits, self.scored.default_limits(**self.live), self.scored.ceiling(**self.live))

    def chosen(self, view: int) -> int | None:
        """Return the live value of this view that a user chose, None for what the fit begins with."""
        if not self.live:
            return self.begin
        refit = self.scored.views[view]
        value = self.live[refit.live_parameter]
        if self.begin is not None and value == self.scored.stop_of(refit.live_parameter, self.begin):
            return self.begin
        return None if value == refit.start else value

    def work(self, draw: Callable[[], PatchSample], fit_all: Callable[["PreviewRun"], None] = lambda run: None) -> None:
        """Draw, fit, score photo by photo, then fit all, until that is done or it is cancelled; hold the device for
        each step.
        """
        try:
            self._work(draw())
            if self.complete and not self.cancelled:
                self._fit_began = time.monotonic()
                fit_all(self)
        except Cancelled:
            self.cancel()
        except (ValueError, OSError, RuntimeError, MemoryError) as error:
            self.error = str(error) or type(error).__name__
        finally:
            self.ended.set()

    def _work(self, sample: PatchSample) -> None:
        study, view = sample.study, sample.view
        lock = device_lock(study.extractor.backbone.device)
        with lock:
            fit = SampleFit(sample, self.parameters, self._stop.is_set)
            detector = fit.detector()
        fitted = study.results
        refit = replace(fitted.views[view], detector=detector, scales={}, selected_stops=None)
        views = [*fitted.views[:view], refit, *fitted.views[view + 1 :]]
        begin = refit.start if self.begin is None else self.begin
        nothing = _Shown(fitted.under(views).with_areas(self.areas))
        self._shown = nothing
        self.live = self._model_live | {refit.live_parameter: nothing.scored.stop_of(refit.live_parameter, begin)}

        def errors_under(other: FittedMethod, position: int) -> list[np.ndarray]:
            """Return the errors of a photo, those of this view under another fit of it, at the stops of this one."""
            photo = self.photos[position]
            errors = study.errors(photo)
            stops = tuple(min(stop, other.stops[-1]) for stop in refit.stops)
            errors[view] = other.sweep([study.features(photo)[view]], stops)[0]
            return errors

        def show_first() -> None:
            while self._to_show and not self.cancelled:
                position = self._to_show.popleft()
                with lock:
                    assert self._shown is not None
                    errors = errors_under(refit, position)
                    self._shown = self._shown.with_photo(position, self.photos[position], errors)

        show_first()
        everything, remaining = nothing, set(range(len(self.photos)))
        setters = {photo.name: i for i, photo in enumerate(self.photos) if photo.subset == "calibration"}
        for names, other in chain(fit.fold_detectors(), [(None, detector)]):
            fold = {setters[name] for name in names if name in setters} if names is not None else set(remaining)
            for position in sorted(fold):
                show_first()
                if self.cancelled:
                    return
                with lock:
                    errors = errors_under(replace(refit, detector=other), position)
                    everything = everything.with_photo(position, self.photos[position], errors)
                self.done += 1
            remaining -= fold
        places = [everything.places[position] for position in range(len(self.photos))]
        scored = everything.scored.reordered(places).with_unscored(fitted.unscored)
        self._shown = _Shown(scored, {i: i for i in range(len(places))})
        self.complete = True


def ask(
    product: TaughtProduct,
    current: PreviewRun | None,
    parameters: Mapping[str, float],
    live: Mapping[str, int],
    *,
    first: int,
    chosen: int | None = None,
) -> PreviewRun:
    """Return the run of these parameters over the photos of a product: the current one, or a new one, which stops it.

    current: the current run, if any; chosen: its initial live value, None for what the fit begins with; live: values of
    the live parameters in force; first: position of the photo shown.
    """
    photos, areas = product.scored.photos, product.scored.areas
    if current is not None:
        if (current.parameters, current.photos, current.areas) == (dict(parameters), photos, areas):
            return current
        current.cancel()
    run = PreviewRun(parameters, photos, first, live, chosen, areas)
    work = product.patch_sample, partial(fit_all, product)
    threading.Thread(target=run.work, args=work, name="loupe-preview", daemon=True).start()
    return run


def fit_all(product: TaughtProduct, run: PreviewRun) -> None:
    """Fit all good photos with the parameters of a preview, and put the product of that in the place of the one before.

    At the live values and limits of the preview. Holds the device all the time; the network is not run again. Raises
    JobRejected where a saved product could not be kept once it is changed, and Cancelled after `cancel`.
    """
    if product.is_saved:
        open_product_store.require_room()
    study = product.own_study.with_parameters(run.parameters)
    with device_lock(study.extractor.backbone.device):
        study.fit(run.report)
    name = run.scored.views[product.refit_view].live_parameter
    chosen = {} if (value := run.chosen(product.refit_view)) is None else {name: value}
    by_hand = run.limits_by_hand()

    def refitted(latest: TaughtProduct) -> TaughtProduct:
        """Photos may have been added and types learned meanwhile."""
        others = {other: value for other, value in latest.chosen().items() if other != name}
        return latest if run.cancelled else fitted_product.refitted_in_place(latest, study, others | chosen, by_hand)

    open_product_store.change(product.id, refitted)
