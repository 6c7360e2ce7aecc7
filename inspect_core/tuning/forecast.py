"""What teaching will cost, said before it starts: measured on one photo here, then multiplied."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from inspect_core.features.backbones import shared
from inspect_core.features.extraction import Preparation
from inspect_core.features.store import Store
from inspect_core.methods.method import Workload
from inspect_core.methods.table import METHODS, parameters_of

READING = 0.006
SUGGESTING = 10.0
RUNNING_APP = 700 << 20


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
    taps: str,
    size: tuple[int, int],
    grid: tuple[int, int],
    method: str,
    parameters: Mapping[str, float | None],
    fit: int,
    shown: int,
    store: Store,
) -> Forecast:
    """The cost of teaching `fit` photos and scoring `shown` ones, from timing one grey photo on this machine.

    The photos to fit go through the network twice: for their patches, and as a whole for the product check.

    Raises ValueError when the backbone cannot be loaded, a parameter is unknown, or teaching would take more memory
    than LARGEST_FIT.
    """
    loaded, row = shared(backbone, taps=taps, size=size), METHODS[method]
    chosen = parameters_of(method, parameters)
    columns = row.project(sum(loaded.tap_channels), 0, chosen)
    preparation = Preparation(loaded, grid, None if columns is None else columns.cpu().numpy(), row.pool)
    costs = row.costs(Workload(fit, shown, grid[0] * grid[1], preparation.width), chosen)
    costs = costs.with_photos(preparation.work_bytes)
    grey = np.full((*size, 3), 128, np.uint8)
    preparation.features(grey)
    began = time.perf_counter()
    preparation.features(grey)
    per_photo = READING + time.perf_counter() - began
    disk = preparation.bytes_per_photo * (fit + shown)
    fits = store.would_fit(disk)
    suggesting = SUGGESTING if row.live == "q" else 0.0
    seconds = (fit + shown + fit) * per_photo + suggesting + costs.seconds
    return Forecast(seconds, RUNNING_APP + costs.memory, disk, loaded.engine, fits)
