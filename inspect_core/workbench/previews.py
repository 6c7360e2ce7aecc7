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
from typing import NamedTuple, Self

import numpy as np

from inspect_core.images.areas import InspectionAreas
from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.methods.method import Detector
from inspect_core.methods.registry import METHODS
from inspect_core.runtime.jobs import device_lock
from inspect_core.runtime.pace import Pace
from inspect_core.runtime.progress import Cancelled
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning.patch_sample import PatchSample, SampleFit
from inspect_core.verdict import Limits
from inspect_core.workbench import transitions
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

_numbers = count(1)
LEAD = 8
"""Good photos scored first: the local scale is learned from them until all are scored."""


@dataclass(frozen=True, eq=False)
class _Shown:
    """Photos that have a map: scored, and the place in it of each by its position in the gallery.

    refit: the view that is previewed, under the fit of the sample; live: values that it begins with.
    """

    scored: ScoredPhotos
    refit: FittedMethod
    live: Mapping[str, int]
    places: Mapping[int, int] = field(default_factory=dict)

    def with_photo(self, position: int, photo: ScoredPhoto, errors: Sequence[np.ndarray]) -> Self:
        if position in self.places:
            return self
        return replace(
            self,
            scored=self.scored.with_errors([(photo, [errors])]),
            places={**self.places, position: len(self.places)},
        )


class State(NamedTuple):
    """How far a run is: whether the photo shown is ready, its live parameters can be moved, all photos are scored, and
    all has ended.
    """

    ready: bool
    begun: bool
    complete: bool
    ended: bool


class PreviewRun:
    """One move of γ, M or σ and its results so far. Read from any thread.

    First the method is fitted on all of the sample, with `Method.coarse` at first where that takes long, and the photo
    shown gets its map; then by folds, and all photos get their scores: good ones that set limits under the method that
    has not seen them, as in a fit. Then all good photos are fitted, and the product of that takes the place of the one
    before.

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
        """Whether this photo of the gallery has its map, and enough good ones theirs to scale it."""
        places = {} if self._shown is None else self._shown.places
        return position in places and all(place in places for place in self._lead)

    def state(self, position: int) -> State:
        """What a page drawn now shows."""
        ended, complete, begun = self.ended.is_set(), self.complete, bool(self.live)
        return State(self.ready(position), begun, complete, ended)

    def want(self, position: int) -> None:
        """Have this photo shown next."""
        if not self.ready(position):
            self._to_show.append(position)

    def map(self, position: int, live: Mapping[str, int]) -> np.ndarray:
        """(H, W) float32 anomaly map of a photo that is ready; live: empty for the values to begin with."""
        assert self._shown is not None
        shown = self._shown
        return shown.scored.map(shown.places[position], **(live or shown.live))

    def limits_by_hand(self) -> transitions.LimitsByHand | None:
        """Those that were set on the preview; None for those that follow."""
        if self.limits is None:
            return None
        return transitions.LimitsByHand(
            self.limits, self.scored.default_limits(**self.live), self.scored.ceiling(**self.live)
        )

    def chosen(self, view: int) -> int | None:
        """The live value of this view that a user chose, None for what the fit begins with."""
        if not self.live:
            return self.begin
        refit = self.scored.views[view]
        value = self.live[refit.live_parameter]
        if self.begin is not None and value == self.scored.stop_of(refit.live_parameter, self.begin):
            return self.begin
        return None if value == refit.start else value

    def moved(self, *, besides: str) -> dict[str, int]:
        """The live values but one that were moved since the preview began, by name."""
        return {name: v for name, v in self.live.items() if name != besides and v != self._model_live.get(name)}

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
        study = sample.study
        lock = device_lock(study.extractor.backbone.device)
        for parameters in (*self._coarse(sample), self.parameters):
            with lock:
                fit = SampleFit(sample, parameters, self._stop.is_set)
                detector = fit.detector()
            shown = self._nothing_scored(sample, detector)
            for position in self._shown.places if self._shown else ():
                with lock:
                    shown = self._with_photo(shown, sample, detector, position)
            self._shown = shown
            self._show_wanted(sample, detector)
            if self.cancelled:
                return
        everything, remaining = self._nothing_scored(sample, detector), set(range(len(self.photos)))
        self.live = dict(everything.live)
        setters = {photo.name: i for i, photo in enumerate(self.photos) if photo.subset == "calibration"}
        for names, of_fold in chain(fit.fold_detectors(), [(None, detector)]):
            fold = {setters[name] for name in names if name in setters} if names is not None else set(remaining)
            for position in sorted(fold):
                self._show_wanted(sample, detector)
                if self.cancelled:
                    return
                with lock:
                    everything = self._with_photo(everything, sample, of_fold, position)
                self.done += 1
            remaining -= fold
        places = [everything.places[position] for position in range(len(self.photos))]
        scored = everything.scored.reordered(places).with_unscored(study.scored.unscored)
        self._shown = replace(everything, scored=scored, places={i: i for i in range(len(places))})
        self.complete = True

    def _coarse(self, sample: PatchSample) -> list[Mapping[str, float]]:
        """The parameters of a quicker fit to show first, if there is one."""
        method = METHODS[sample.study.methods[sample.view]]
        coarse = method.coarse({**sample.study.parameters[sample.view], **self.parameters})
        return [] if coarse is None else [coarse]

    def _nothing_scored(self, sample: PatchSample, detector: Detector) -> _Shown:
        """No photos yet, to be scored under a fit of the sample."""
        fitted, view = sample.study.scored, sample.view
        refit = replace(fitted.views[view], detector=detector, scales={}, selected_stops=None)
        scored = fitted.with_views([*fitted.views[:view], refit, *fitted.views[view + 1 :]]).with_areas(self.areas)
        begin = refit.start if self.begin is None else self.begin
        live = self._model_live | {refit.live_parameter: scored.stop_of(refit.live_parameter, begin)}
        return _Shown(scored, refit, live)

    def _with_photo(self, shown: _Shown, sample: PatchSample, detector: Detector, position: int) -> _Shown:
        """One more photo scored, its errors in this view under a detector, at the stops of the fit."""
        study, photo, refit = sample.study, self.photos[position], shown.refit
        fitted = replace(refit, detector=detector)
        stops = tuple(min(stop, fitted.stops[-1]) for stop in refit.stops)
        errors = study.errors(photo)
        errors[sample.view] = fitted.sweep([study.features(photo)[sample.view]], stops)[0]
        return shown.with_photo(position, photo, errors)

    def _show_wanted(self, sample: PatchSample, detector: Detector) -> None:
        """Score the photos that are to be shown next."""
        while self._to_show and not self.cancelled:
            position = self._to_show.popleft()
            with device_lock(sample.study.extractor.backbone.device):
                assert self._shown is not None
                self._shown = self._with_photo(self._shown, sample, detector, position)


def ask(
    product: TaughtProduct,
    current: PreviewRun | None,
    parameters: Mapping[str, float],
    live: Mapping[str, int],
    *,
    first: int,
    chosen: int | None = None,
) -> PreviewRun:
    """The run of these parameters over the photos of a product: the current one, or a new one, which stops it.

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
        shelf().require_room()
    unfitted = product.own_study.with_parameters(run.parameters)
    with device_lock(unfitted.extractor.backbone.device):
        fitted = unfitted.fit(run.report)
        study, _ = fitted.with_known_defects(fitted.scored)
    name = run.scored.views[product.refit_view].live_parameter
    chosen = {} if (value := run.chosen(product.refit_view)) is None else {name: value}
    chosen |= run.moved(besides=name)
    by_hand = run.limits_by_hand()

    def refitted(latest: TaughtProduct) -> TaughtProduct:
        """Photos may have been added and types learned meanwhile."""
        others = {other: value for other, value in latest.chosen().items() if other != name}
        return latest if run.cancelled else transitions.refitted_in_place(latest, study, others | chosen, by_hand)

    shelf().change(product.id, refitted)
