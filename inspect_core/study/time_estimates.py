"""The seconds that the steps of a study are expected to take: for the forecast, and for the shares of its progress."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from inspect_core.features.extraction import FeatureExtractor
from inspect_core.images.tolerances import photos_per_original
from inspect_core.methods.fitted_method import costs_of
from inspect_core.methods.method import Parameters
from inspect_core.study.teaching_config import TeachingConfig

READING = 0.006
"""Seconds to read and squash a photo."""
READING_PIXEL = 1.2e-8
"""Seconds for each pixel of the working size when it has tiles."""
COPYING = 0.004
"""Seconds to make a copy."""
FOLDING = 0.04
"""Seconds to keep what a method learns from a fold."""
SIDE_BY_SIDE = 0.7
"""Share of the time that scoring photos one by one takes, when some are scored at a time."""
RUNS = 3
"""Runs of the network that are timed."""
CORES = 2
"""Cores that the costs of the methods are stated for."""
RUN_SIDE = 256
RUN_THERE = {"efficientnet_lite0": 0.009}
"""Seconds of a run on a photo of RUN_SIDE squared, by network, on the machine where costs and seconds were measured."""
PACES = (0.5, 4.0)
"""By how much a run may be slower elsewhere: it may have been disturbed."""


@dataclass(frozen=True)
class StepTimes:
    """Seconds where nothing else runs. extract: the network over all photos; learn: copies and statistics; cross_fit:
    for each fold the detectors without it, and the photos scored by them; score: the other photos; photo: one photo,
    read and run as a whole; pace: how many times longer work takes here than where the costs of methods were measured.
    """

    extract: float
    learn: float
    cross_fit: float
    score: float
    photo: float
    pace: float = 1.0

    @property
    def total(self) -> float:
        return self.extract + self.learn + self.cross_fit + self.score

    @classmethod
    def unknown(cls) -> "StepTimes":
        """Where nobody asks."""
        return cls(1.0, 1.0, 1.0, 1.0, 1.0)

    @classmethod
    def from_order(
        cls,
        order: TeachingConfig,
        methods: Sequence[str],
        parameters: Sequence[Parameters],
        extractor: FeatureExtractor,
        *,
        made: int = 0,
    ) -> "StepTimes":
        """Create it for an order, timing the network on one grey photo; made: photos scored besides the usual ones.

        Raises ValueError as `costs_of`.
        """
        # In a grey photo no part is located.
        untiled = replace(extractor.untiled, alignment=None)
        tiles = extractor.tiles
        whole = _timed(untiled)
        pace = _pace(untiled, whole)
        reading = pace * READING
        run = whole * (1 if tiles is None else len(tiles.tiles))
        if tiles is not None:
            reading += pace * READING_PIXEL * math.prod(tiles.size)

        def seconds(fit: int, shown: int) -> float:
            return pace * costs_of(methods, parameters, extractor, fit=fit, shown=shown).seconds

        def scoring(photos: int) -> float:
            return SIDE_BY_SIDE * (seconds(0, photos) - seconds(0, 0))

        fit = len(order.photos.train)
        shown = len(order.scored)
        looks = photos_per_original(order.tolerances)
        folds = 0 if order.photos.calibration else len(order.photos.folds(order.seed))
        crossed = len(order.setters) if folds else 0
        finish = seconds(0, 0)
        has_copies = order.tolerances is not None
        copy = pace * COPYING + run
        return cls(
            extract=(fit + shown) * (reading + run),
            learn=seconds(fit * looks, 0)
            + fit * (looks - 1) * copy
            + fit * reading * has_copies
            + folds * len(methods) * pace * FOLDING,
            cross_fit=folds * finish + scoring(crossed + made) + made * (reading + run),
            score=scoring(shown * (1 + has_copies)) + shown * (reading + copy) * has_copies,
            photo=pace * READING + whole,
            pace=pace,
        )


def _pace(extractor: FeatureExtractor, run: float) -> float:
    """By how much this machine is slower, from the seconds of a run: the root of what a run says, as all else differs
    less. 1 where that of the network is not known, and on a GPU, which says nothing of the processor.
    """
    there = RUN_THERE.get(extractor.backbone.name)
    if there is None or extractor.backbone.device.type != "cpu":
        return 1.0
    return math.sqrt(float(np.clip(run / (there * math.prod(extractor.size) / RUN_SIDE**2), *PACES)))


def _timed(extractor: FeatureExtractor) -> float:
    """Seconds that the network takes for a photo where nothing else runs, in a batch that is full."""
    grey = [np.full((*extractor.size, 3), 128, np.uint8)] * extractor.at_once

    def run() -> None:
        for features in extractor.features_of_inputs(grey):
            features.cpu()  # a GPU is still at it when the call returns

    walls = []
    works = []
    run()
    for _ in range(RUNS):
        wall = time.perf_counter()
        work = time.process_time()
        run()
        walls.append(time.perf_counter() - wall)
        works.append(time.process_time() - work)
    wall = median(walls) / len(grey)
    return min(wall, median(works) / CORES) if extractor.backbone.device.type == "cpu" else wall
