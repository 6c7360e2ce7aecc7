"""What teaching will cost, estimated before it starts: measured on one photo on this machine, then multiplied."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import Look, Preparation
from inspect_core.features.store import Store
from inspect_core.images.splitting import MOST_CROSSED
from inspect_core.images.tiles import TilePlan
from inspect_core.images.tolerances import Tolerances, looks_in
from inspect_core.methods.method import Costs
from inspect_core.methods.table import FIRST, METHODS, methods_in, parameters_of
from inspect_core.methods.view import costs_of, looks_of, with_taps
from inspect_core.tuning.comparison import Shortlist
from inspect_core.tuning.order import Order
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


def forecast(
    backbone: str,
    *,
    taps: str | tuple[str, ...] | None,
    size: tuple[int, int],
    grid: tuple[int, int],
    methods: Sequence[str],
    parameters: Mapping[str, float | None],
    fit: int,
    shown: int,
    store: Store,
    tiles: TilePlan | None = None,
    tolerances: Tolerances | None = None,
    folds: int = 0,
    compared: int = 0,
    settings: bool = False,
) -> Forecast:
    """The cost of teaching `fit` photos and scoring `shown` ones, from timing one grey photo on this machine.

    The photos to fit go through the network twice: for their patches, and as a whole for the product check. folds: in
    how many the photos set limits, 0: others are kept for that; compared: how many detectors of these methods are
    compared; settings: whether settings of a single detector are tried.

    Raises ValueError when the backbone cannot be loaded, a parameter is unknown, or teaching would take more memory
    than LARGEST_FIT.
    """
    known = {name: value for name, value in parameters.items() if any(name in METHODS[one].defaults for one in methods)}
    chosen = parameters_of(methods, known, tiles)
    loaded, seen = with_taps(methods, backbone, taps=taps, size=size)
    preparation = _prepared(loaded, grid, looks_of(methods, chosen, loaded, seen, 0), tiles)
    pasted = PASTED if compared else 0
    copies, again = (looks_in(tolerances) - 1) * fit, shown if tolerances is not None else 0
    scored = shown + again + pasted + (min(fit, MOST_CROSSED) if folds else 0)
    costs = costs_of(methods, chosen, preparation, fit=fit + copies, shown=scored)
    each = costs_of(methods, chosen, preparation, fit=0, shown=0).seconds
    seconds = folds * each + compared * (JUDGING + JUDGING_PHOTO * shown)
    first = METHODS[methods[0]]
    seconds += SUGGESTING if settings and first.live and not first.one_fit else 0.0
    return _forecast(
        preparation, costs, seconds, photos=fit + shown, made=copies + again + pasted, wholes=fit, store=store
    )


def of_order(order: Order, detectors: Sequence[str] = ()) -> dict[str, Any]:
    """The arguments of `forecast` for teaching an order, or for comparing detectors on its photos, without a store."""
    photos, setters, compared = order.photos, order.photos.setters(order.seed), tuple(detectors)
    if not compared and order.method is None and order.tiles is None and setters:
        compared = tuple(Shortlist.of(order.grid, order.parameters, budget=order.budget).candidates)
    methods = methods_in(compared or (order.method or FIRST,))
    return {
        "backbone": order.backbone, "taps": order.taps, "size": order.size, "grid": order.grid, "methods": methods,
        "parameters": order.parameters, "fit": len(photos.fit),
        "shown": len(photos.calibrate) + len(photos.choose) + len(photos.judge), "tiles": order.tiles,
        "tolerances": order.tolerances, "folds": 0 if photos.calibrate else len(setters), "compared": len(compared),
        "settings": order.method is not None and len(methods) == 1 and not compared,
    }  # fmt: skip


def _prepared(
    backbone: Backbone, grid: tuple[int, int], looks: tuple[Look, ...], tiles: TilePlan | None
) -> Preparation:
    return Preparation(backbone, grid if tiles is None else tiles.grid, looks, tiles=tiles)


def _forecast(
    preparation: Preparation, costs: Costs, seconds: float, *, photos: int, made: int, wholes: int, store: Store
) -> Forecast:
    """photos: whose features are stored; made: from them, for copies and a trial; wholes: photos that the product check
    sees again; seconds: to be added. One run of the network is timed; a photo takes one run per tile.
    """
    one = preparation.untiled
    grey = np.full((*one.size, 3), 128, np.uint8)
    one.features(grey)
    began = time.perf_counter()
    one.features(grey)
    run, tiles = time.perf_counter() - began, preparation.tiles
    reading = READING if tiles is None else READING + READING_PIXEL * math.prod(tiles.size)
    seconds += costs.seconds + (photos + made) * (reading + run * (1 if tiles is None else len(tiles.tiles)))
    seconds += wholes * (reading + run)
    disk = preparation.bytes_per_photo * photos
    engine = preparation.backbone.engine
    return Forecast(seconds, RUNNING_APP + costs.memory, disk, engine, store.would_fit(disk))
