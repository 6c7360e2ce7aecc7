"""Previews in the background: the shown photo first, then the others; a new move stops the previous one.

Plain threads that know nothing of the page; the page polls the fields of a run.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count

import numpy as np

from inspect_core.images.areas import InspectionAreas
from inspect_core.runtime.jobs import device_lock
from inspect_core.runtime.progress import Cancelled
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning.patch_sample import PatchSample
from inspect_core.ui import fitted_product, open_product_store
from inspect_core.ui.taught_product import TaughtProduct

_numbers = count(1)
LEAD = 8
"""Good photos scored first: the local scale is learned from them until all are scored."""


class PreviewRun:
    """One move of γ, M or σ and its results so far. Read from any thread.

    number: unique. parameters: those of the move. photos: all to be scored, in the order of the gallery. begin: the
    live value that a user chose, None for what the fit begins with. live: the live parameters, empty until the fit is
    done; then set by its session. scored: the photos scored so far, in the order of scoring; not before `live`. error:
    the sentence to show when it failed. areas: by which maps are judged.
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
        self.error = ""
        self.scored: ScoredPhotos
        self._order: list[int] = []
        calibrate = [i for i, photo in enumerate(photos) if photo.subset == "calibration"]
        self._lead = set(calibrate[:LEAD])
        self._to_do = deque(dict.fromkeys([*self._lead, first, *range(len(photos))] if photos else []))
        self._stop = threading.Event()
        self.ended = threading.Event()

    @property
    def done(self) -> int:
        """Photos scored so far."""
        return len(self._order)

    @property
    def complete(self) -> bool:
        return bool(self.live) and self.done == len(self.photos)

    def cancel(self) -> None:
        """Ask it to stop before its next photo."""
        self._stop.set()

    def ready(self, position: int) -> bool:
        """Return whether this photo of the gallery has its map, and enough good ones theirs to scale it."""
        return position in self._order and self._lead <= set(self._order)

    def state(self, position: int) -> tuple[bool, bool]:
        """Return what a page drawn now shows: whether the photo at this place is ready, and whether all has ended."""
        ended = self.ended.is_set()
        return self.ready(position), ended

    def want(self, position: int) -> None:
        """Have this photo scored next."""
        if position not in self._order:
            self._to_do.appendleft(position)

    def map(self, position: int, live: Mapping[str, int]) -> np.ndarray:
        """Return (H, W) float32 anomaly map of a photo that is ready."""
        return self.scored.map(self._order.index(position), **live)

    def scores(self, live: Mapping[str, int]) -> np.ndarray:
        """Return (photos,) in the order of the gallery, once complete."""
        return self.scored.scores(**live)[np.argsort(self._order)]

    def chosen(self, view: int) -> int | None:
        """Return the live value of this view that a user chose, None for what the fit begins with."""
        if not self.live:
            return self.begin
        refit = self.scored.views[view]
        value = self.live[refit.live_parameter]
        if self.begin is not None and value == self.scored.stop_of(refit.live_parameter, self.begin):
            return self.begin
        return None if value == refit.start else value

    def work(self, draw: Callable[[], PatchSample]) -> None:
        """Draw, fit, then score photo by photo until all are done or it is cancelled; hold the device for each step."""
        try:
            sample = draw()
            study = sample.study
            lock = device_lock(study.extractor.backbone.device)
            with lock:
                detector = sample.fit(self.parameters, self._stop.is_set)
            view, fitted = sample.view, study.results
            refit = replace(fitted.views[view], detector=detector, scales={}, selected_stops=None)
            views = [*fitted.views[:view], refit, *fitted.views[view + 1 :]]
            begin = refit.start if self.begin is None else self.begin
            self.scored = fitted.under(views).with_areas(self.areas)
            self.live = self._model_live | {refit.live_parameter: self.scored.stop_of(refit.live_parameter, begin)}
            while self._to_do and not self._stop.is_set():
                position = self._to_do.popleft()
                if position not in self._order:
                    with lock:
                        photo = self.photos[position]
                        errors = study.errors(photo)
                        errors[view] = refit.sweep([study.features(photo)[view]], refit.stops)[0]
                        self.scored = self.scored.with_errors([(photo, [errors])])
                    self._order.append(position)
        except Cancelled:
            self.cancel()
        except (ValueError, OSError, RuntimeError, MemoryError) as error:
            self.error = str(error) or type(error).__name__
        finally:
            self.ended.set()


def ask(
    draw: Callable[[], PatchSample],
    current: PreviewRun | None,
    parameters: Mapping[str, float],
    photos: tuple[ScoredPhoto, ...],
    live: Mapping[str, int],
    *,
    first: int,
    chosen: int | None = None,
    areas: InspectionAreas | None = None,
) -> PreviewRun:
    """Return the run of these parameters over these photos: the current one, or a new one, which stops it.

    draw: returns the patches to fit it on; current: the current run, if any; chosen: its initial live value, None for
    what the fit begins with; live: values of the live parameters in force.
    """
    if current is not None:
        if (current.parameters, current.photos, current.areas) == (dict(parameters), photos, areas):
            return current
        current.cancel()
    run = PreviewRun(parameters, photos, first, live, chosen, areas)
    threading.Thread(target=run.work, args=(draw,), name="loupe-preview", daemon=True).start()
    return run


def apply(product: TaughtProduct, run: PreviewRun, report: Callable[[float, str], None]) -> str:
    """Return the full pass with the parameters of a preview, at its live values; returns the new product's id.

    Holds the device all the time. The network is not run again. The current product is unchanged.
    """
    position = product.refit_view
    live_name = run.scored.views[position].live_parameter
    study = product.own_study.with_parameters(run.parameters)
    with device_lock(study.extractor.backbone.device):
        study.fit(report)
    latest = open_product_store.find(product.id) or product  # photos may have been added and types learned meanwhile
    chosen = {name: value for name, value in latest.chosen().items() if name != live_name}
    if (value := run.chosen(position)) is not None:
        chosen[live_name] = value
    fitted = fitted_product.product_from_study(
        latest.product, study, latest.notes, latest.product_check, detector_reason=latest.detector_reason
    )
    return open_product_store.put(fitted_product.refitted(latest, fitted, chosen))
