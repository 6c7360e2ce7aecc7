"""What teaching will cost, estimated before it starts: measured on one photo on this machine, then multiplied."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inspect_core.features.extraction import Preparation
from inspect_core.features.store import Store
from inspect_core.images.splitting import MOST_CROSSED
from inspect_core.images.tolerances import looks_in
from inspect_core.methods.table import FIRST, METHODS, methods_in, parameters_of
from inspect_core.methods.view import costs_of, looks_of
from inspect_core.study.order import Order
from inspect_core.tuning.comparison import Shortlist
from inspect_core.tuning.trial import PASTED

READING, READING_PIXEL = 0.006, 1.2e-8
"""Seconds to read and squash a photo, and for each pixel of the working size when it has tiles."""
SUGGESTING = 10.0
RUNNING_APP = 700 << 20
JUDGING, JUDGING_PHOTO = 1.0, 0.01
"""Seconds per detector in a comparison, and per photo it is judged on: figures and intervals."""


@dataclass(frozen=True)
class Forecast:
    """seconds to teach; memory at its peak and disk for features, in bytes; engine that runs the backbone."""

    seconds: float
    memory: int
    disk: int
    engine: str
    fits_store: bool


def methods_to_fit(order: Order, detectors: Sequence[str] = ()) -> tuple[str, ...]:
    """The methods that are fitted to teach an order, or to compare detectors on its photos."""
    return methods_in(tuple(detectors) or tuple(Shortlist.of_order(order).candidates) or (order.method or FIRST,))


def forecast(order: Order, store: Store, detectors: Sequence[str] = ()) -> Forecast:
    """The cost of teaching an order, or of comparing detectors on its photos, from timing one grey photo here.

    The photos to fit go through the network twice: for their patches, and as a whole for the product check; a photo
    takes one run per tile. Raises ValueError when the backbone cannot be loaded, a parameter is unknown, or teaching
    would take more memory than LARGEST_FIT.
    """
    methods, compared = methods_to_fit(order, detectors), len(detectors or Shortlist.of_order(order).candidates)
    known = {name for method in methods for name in METHODS[method].defaults}
    given = {name: value for name, value in order.parameters.items() if name in known}
    parameters, (backbone, taps) = parameters_of(methods, given, order.tiles), order.network(methods)
    grid = order.grid if order.tiles is None else order.tiles.grid
    preparation = Preparation(backbone, grid, looks_of(methods, parameters, backbone, taps, 0), tiles=order.tiles)

    fit, shown = len(order.photos.fit), len(order.scored)
    folds = 0 if order.photos.calibrate else len(order.photos.setters(order.seed))
    copies = (looks_in(order.tolerances) - 1) * fit
    made = copies + (shown if order.tolerances is not None else 0) + (PASTED if compared else 0)
    scored = shown + made - copies + (min(fit, MOST_CROSSED) if folds else 0)
    costs = costs_of(methods, parameters, preparation, fit=fit + copies, shown=scored)
    again = folds * costs_of(methods, parameters, preparation, fit=0, shown=0).seconds
    seconds = costs.seconds + again + compared * (JUDGING + JUDGING_PHOTO * shown)
    first = METHODS[methods[0]]
    if order.method is not None and len(methods) == 1 and not compared and first.live and not first.one_fit:
        seconds += SUGGESTING

    one, tiles = preparation.untiled, preparation.tiles
    grey = np.full((*one.size, 3), 128, np.uint8)
    one.features(grey)
    began = time.perf_counter()
    one.features(grey)
    run, reading = time.perf_counter() - began, READING
    if tiles is not None:
        reading += READING_PIXEL * math.prod(tiles.size)
    seconds += (fit + shown + made) * (reading + run * (1 if tiles is None else len(tiles.tiles)))
    seconds += fit * (reading + run)
    disk = preparation.bytes_per_photo * (fit + shown)
    return Forecast(seconds, RUNNING_APP + costs.memory, disk, backbone.engine, store.would_fit(disk))
