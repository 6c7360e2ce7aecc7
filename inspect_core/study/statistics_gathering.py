"""What methods learn from many photos, in pieces that any process may compute, with a result that is equal to the bit.

The photos to fit, in their order, are cut into shards. The statistics of a shard begin empty and are merged one shard
after the other. Sums of floating-point numbers depend on their order, and this order depends on the photos alone:
neither on the number of processes nor on which finishes first.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Self

import torch
from torch import Tensor

from inspect_core.images.tolerances import Tolerances, photos_per_original
from inspect_core.methods.method import BATCH, Detector, Parameters, Patches
from inspect_core.methods.registry import METHODS, patch_sample_method
from inspect_core.runtime.ordered_pool import ranges
from inspect_core.runtime.progress import Report, ignore_progress, stage

SHARD = 64
"""Photos of a shard."""
MOST_SHARDS = 64
"""Of this size: of more photos, whose statistics would travel and be merged too often, shards are larger."""
LARGE_SHARD = 512

Gathered = list[Any]
"""The statistics of each method."""


def shards_of(count: int) -> list[range]:
    """The numbers of the photos of each shard, given how many photos there are to fit."""
    return ranges(count, SHARD if count <= MOST_SHARDS * SHARD else LARGE_SHARD)


@dataclass(frozen=True, eq=False)
class FitPlan:
    """Methods that learn from the same photos.

    methods: names; views: the position of each among the features of a photo; patches, columns, parameters: of each, as
    `Method.begin` takes them; first: number of the first of the photos among those that `patches` counts; tolerances:
    within which copies of every photo are made and learned from too.
    """

    methods: tuple[str, ...]
    views: tuple[int, ...]
    patches: tuple[Patches, ...]
    columns: tuple[Tensor | None, ...]
    parameters: tuple[Parameters, ...]
    seed: int
    first: int = 0
    tolerances: Tolerances | None = None

    @classmethod
    def of_sample(cls, view: int, patches: Patches, count: int, seed: int) -> Self:
        """A `FitPlan` that only draws `count` patches of one view; `rows` of its statistics returns them."""
        method, parameters = patch_sample_method(count)
        return cls((method,), (view,), (patches,), (None,), (parameters,), seed)

    def begin(self) -> Gathered:
        """Empty statistics."""
        method_patches = zip(self.methods, self.patches, self.columns, self.parameters, strict=True)
        return [
            METHODS[name].begin(patches, columns, self.seed, parameters)
            for name, patches, columns, parameters in method_patches
        ]

    def shard(self, photos: Iterable[tuple[int, Sequence[tuple[Tensor, ...]]]]) -> Gathered:
        """The statistics of the photos of one shard: (number, features for each view of it and of its copies).

        On a CPU the methods learn side by side, each from one batch after the other, while the next one is read.
        """
        gathered = self.begin()
        copies = photos_per_original(self.tolerances)
        numbered = (
            ((self.first + number) * copies + copy, features)
            for number, looks in photos
            for copy, features in enumerate(looks)
        )
        with ThreadPoolExecutor(len(self.methods), thread_name_prefix="loupe-fit") as pool:
            learning: list[Future[None]] = []
            while batch := list(islice(numbered, BATCH)):
                for future in learning:
                    future.result()
                if batch[0][1][0].device.type == "cpu":
                    learning = [pool.submit(self._see, place, method, batch) for place, method in enumerate(gathered)]
                else:
                    for place, statistics in enumerate(gathered):
                        self._see(place, statistics, batch)
            for future in learning:
                future.result()
        return gathered

    def _see(self, place: int, statistics: Any, batch: Sequence[tuple[int, tuple[Tensor, ...]]]) -> None:
        numbers, features = zip(*batch, strict=True)
        METHODS[self.methods[place]].update(
            statistics, torch.cat([photo[self.views[place]] for photo in features]), numbers
        )

    def finish(self, gathered: Gathered, report: Report = ignore_progress) -> list[Detector]:
        """The detectors, made side by side. Raises whatever `report` raises to stop."""

        def finished(place: int) -> Detector:
            step = partial(_learning, stage(report, place / len(gathered), (place + 1) / len(gathered)))
            method = METHODS[self.methods[place]]
            return method.finish(gathered[place], self.seed, self.parameters[place], step)

        with ThreadPoolExecutor(len(gathered), thread_name_prefix="loupe-fit") as pool:
            return list(pool.map(finished, range(len(gathered))))


def _learning(report: Report, fraction: float) -> None:
    report(fraction, "learning from the good photos")


def merged(fit: FitPlan, shards: Iterable[Gathered], earlier: Gathered | None = None) -> Gathered:
    """The statistics of all these shards, merged in their order into those of earlier ones.

    Neither what is merged nor `earlier` must be used afterwards.
    """
    total = earlier or []

    def merge(shard: Gathered) -> None:
        if not total:
            total.extend(shard)
            return
        for statistics, other in zip(total, shard, strict=True):
            statistics.merge(other)

    # Not a loop, whose variable would hold a shard while the next one is gathered.
    deque(map(merge, shards), maxlen=0)
    return total or fit.begin()
