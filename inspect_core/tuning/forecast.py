"""What teaching will cost, estimated before it starts: measured on one photo on this machine, then multiplied."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import Look, Preparation
from inspect_core.features.store import Store
from inspect_core.images.splitting import CROSSED, MOST_CROSSED
from inspect_core.images.tiles import TilePlan
from inspect_core.methods.method import Costs
from inspect_core.methods.table import METHODS, methods_in, methods_of, parameters_of
from inspect_core.tuning.comparison import ALONE, DEFAULT, quick
from inspect_core.tuning.trial import MOST_GOOD, PASTED
from inspect_core.view import costs_of, looks_of, with_taps

READING, READING_PIXEL = 0.006, 1.2e-8
"""Seconds to read and squash a photo, and for each pixel of the working size when it has tiles."""
SUGGESTING = 10.0
RUNNING_APP = 700 << 20
JUDGING, JUDGING_PHOTO = 2.0, 0.01
"""Seconds per detector in a comparison, and per photo it is judged on: figures, intervals, timing of verdicts."""


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
    method: str | None,
    parameters: Mapping[str, float | None],
    fit: int,
    shown: int,
    store: Store,
    tiles: TilePlan | None = None,
    crossed: bool = False,
) -> Forecast:
    """The cost of teaching `fit` photos and scoring `shown` ones, from timing one grey photo on this machine.

    The photos to fit go through the network twice: for their patches, and as a whole for the product check. method
    None: a comparison of the quick detectors comes first, except with large photos in tiles. crossed: whether limits
    are set by detectors fitted without a part of the photos.

    Raises ValueError when the backbone cannot be loaded, a parameter is unknown, or teaching would take more memory
    than LARGEST_FIT.
    """
    if method is None and tiles is None:
        first = forecast_comparison(
            backbone, quick(grid, parameters)[0], size=size, grid=grid, fit=fit, shown=0, store=store
        )
        then = forecast(
            backbone, taps=taps, size=size, grid=grid, method=DEFAULT, parameters=parameters, fit=fit, shown=shown,
            store=store, crossed=crossed,
        )  # fmt: skip
        return replace(then, seconds=first.seconds + then.seconds, memory=max(first.memory, then.memory))
    method = method or ALONE
    methods, chosen = methods_of(method), parameters_of(methods_of(method), parameters, tiles)
    loaded, seen = with_taps(methods, backbone, taps=taps, size=size)
    preparation = _prepared(loaded, grid, looks_of(methods, chosen, loaded, seen, 0), tiles)
    scored = shown + (min(fit, MOST_CROSSED) if crossed else 0)
    costs = costs_of(methods, chosen, preparation, fit=fit, shown=scored)
    if crossed:  # one detector of all photos, and for each fold one of all others
        costs = replace(costs, seconds=costs.seconds * CROSSED)
    suggesting = SUGGESTING if len(methods) == 1 and METHODS[method].live == "q" else 0.0
    return _forecast(preparation, costs, suggesting, photos=fit + shown, wholes=fit, store=store)


def forecast_comparison(
    backbone: str, detectors: Sequence[str], *, size: tuple[int, int], grid: tuple[int, int], fit: int, shown: int,
    store: Store, tiles: TilePlan | None = None,
) -> Forecast:  # fmt: skip
    """The cost of comparing detectors on `fit` photos and `shown` others; otherwise as `forecast`."""
    methods = methods_in(detectors)
    chosen = parameters_of(methods, {}, tiles)
    loaded, seen = with_taps(methods, backbone, size=size)
    preparation = _prepared(loaded, grid, looks_of(methods, chosen, loaded, seen, 0), tiles)
    tried = min(fit, MOST_GOOD) + PASTED
    costs = costs_of(methods, chosen, preparation, fit=fit, shown=shown + tried)
    judging = len(detectors) * (JUDGING + JUDGING_PHOTO * shown)
    return _forecast(preparation, costs, judging, photos=fit + shown, wholes=0, store=store)


def _prepared(
    backbone: Backbone, grid: tuple[int, int], looks: tuple[Look, ...], tiles: TilePlan | None
) -> Preparation:
    return Preparation(backbone, grid if tiles is None else tiles.grid, looks, tiles=tiles)


def _forecast(
    preparation: Preparation, costs: Costs, seconds: float, *, photos: int, wholes: int, store: Store
) -> Forecast:
    """photos: whose features are stored; wholes: photos that the product check sees again; seconds: to be added.

    One run of the network is timed; a photo takes one run per tile, and the photos of the trial come on top.
    """
    one = preparation.untiled
    grey = np.full((*one.size, 3), 128, np.uint8)
    one.features(grey)
    began = time.perf_counter()
    one.features(grey)
    run, tiles = time.perf_counter() - began, preparation.tiles
    reading = READING if tiles is None else READING + READING_PIXEL * math.prod(tiles.size)
    seconds += costs.seconds + (photos + PASTED) * (reading + run * (1 if tiles is None else len(tiles.tiles)))
    seconds += wholes * (reading + run)
    disk = preparation.bytes_per_photo * photos
    engine = preparation.backbone.engine
    return Forecast(seconds, RUNNING_APP + costs.memory, disk, engine, store.would_fit(disk))
