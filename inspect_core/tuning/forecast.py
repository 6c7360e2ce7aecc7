"""What teaching will cost, said before it starts: measured on one photo here, then multiplied."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from inspect_core.features.extraction import Preparation
from inspect_core.features.store import Store
from inspect_core.methods.table import METHODS, methods_of, parameters_of
from inspect_core.tuning.compare import DEFAULT
from inspect_core.view import costs_of, looks_of, with_taps

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
    taps: str | tuple[str, ...] | None,
    size: tuple[int, int],
    grid: tuple[int, int],
    method: str | None,
    parameters: Mapping[str, float | None],
    fit: int,
    shown: int,
    store: Store,
) -> Forecast:
    """The cost of teaching `fit` photos and scoring `shown` ones, from timing one grey photo on this machine.

    The photos to fit go through the network twice: for their patches, and as a whole for the product check. method
    None: the detector is first chosen by a comparison, which fits each candidate once.
    Raises ValueError when the backbone cannot be loaded, a parameter is unknown, or teaching would take more memory
    than LARGEST_FIT.
    """
    compared, method = method is None, method or DEFAULT
    methods, chosen = methods_of(method), parameters_of(methods_of(method), parameters)
    loaded, seen = with_taps(methods, backbone, taps=taps, size=size)
    preparation = Preparation(loaded, grid, looks_of(methods, chosen, loaded, seen, 0))
    costs = costs_of(methods, chosen, preparation, fit=fit, shown=shown)
    grey = np.full((*size, 3), 128, np.uint8)
    preparation.features(grey)
    began = time.perf_counter()
    preparation.features(grey)
    per_photo = READING + time.perf_counter() - began
    disk = preparation.bytes_per_photo * (fit + shown)
    fits = store.would_fit(disk)
    suggesting = SUGGESTING if len(methods) == 1 and METHODS[method].live == "q" else 0.0
    teaching = (fit + shown) * per_photo + suggesting + costs.seconds
    seconds = teaching * (2 if compared else 1) + fit * per_photo
    return Forecast(seconds, RUNNING_APP + costs.memory, disk, loaded.engine, fits)
