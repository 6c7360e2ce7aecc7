"""What methods learn from many photos, in pieces that any process may compute, with a result that is equal to the bit.

The photos to fit, in their order, are cut into shards of SHARD. The statistics of a shard begin empty; those of BLOCK
shards are merged one after the other, then the blocks one after the other. Sums of floating-point numbers depend on
their order, and this order depends on the photos alone: neither on the number of processes nor on which finishes first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from inspect_core.images.samples import Sample
from inspect_core.images.tolerances import Tolerances, looks_in
from inspect_core.line.overlap import ranges
from inspect_core.methods.method import BATCH, Detector, Parameters, Patches
from inspect_core.methods.table import METHODS, drawing
from inspect_core.runtime.progress import Cancel, Report, stage, tell

SHARD = 64
"""Photos."""
BLOCK = 8
"""Shards."""

Gathered = list[Any]
"""The statistics of each method."""


@dataclass(frozen=True, eq=False)
class Fit:
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
        """A `Fit` that only draws `count` patches of one view; `rows` of its statistics returns them."""
        method, parameters = drawing(count)
        return cls((method,), (view,), (patches,), (None,), (parameters,), seed)

    def begin(self) -> Gathered:
        """Empty statistics."""
        each = zip(self.methods, self.patches, self.columns, self.parameters, strict=True)
        return [METHODS[name].begin(patches, columns, self.seed, own) for name, patches, columns, own in each]

    def shard(self, photos: Iterable[tuple[int, Sequence[tuple[Tensor, ...]]]]) -> Gathered:
        """The statistics of the photos of one shard: (number, features for each view of it and of its copies)."""
        gathered, batch, each = self.begin(), [], looks_in(self.tolerances)
        for number, looks in photos:
            for copy, features in enumerate(looks):
                batch.append(((self.first + number) * each + copy, features))
                if len(batch) == BATCH:
                    self._see(gathered, batch)
                    batch = []
        if batch:
            self._see(gathered, batch)
        return gathered

    def finish(self, gathered: Gathered, progress: Report | None, cancelled: Cancel | None) -> list[Detector]:
        """The detectors. Raises Cancelled when `cancelled` returns True."""
        found = []
        for i, (name, own) in enumerate(zip(self.methods, gathered, strict=True)):
            step = stage(progress, i / len(gathered), (i + 1) / len(gathered))

            def report(fraction: float, step: Report | None = step) -> None:
                tell(step, cancelled, fraction, "learning what good looks like")

            found.append(METHODS[name].finish(own, self.seed, self.parameters[i], report))
        return found

    def _see(self, gathered: Gathered, batch: Sequence[tuple[int, tuple[Tensor, ...]]]) -> None:
        numbers, features = zip(*batch, strict=True)
        for name, view, own in zip(self.methods, self.views, gathered, strict=True):
            METHODS[name].see(own, torch.cat([photo[view] for photo in features]), numbers)


class Merged:
    """The statistics of shards or whole blocks, added in their order."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._total: Gathered | None = None
        self._block: Gathered | None = None
        self._shards = 0

    def add_shard(self, shard: Gathered) -> None:
        """Add the next shard, which must not be used afterwards."""
        self._block = self._fit.begin() if self._block is None else self._block
        _merge(self._block, shard)
        self._shards += 1
        if self._shards % BLOCK == 0:
            self._close()

    def add_block(self, block: Gathered) -> None:
        """Add the next block, which must not be used afterwards."""
        if self._total is None:
            self._total = block
        else:
            _merge(self._total, block)

    def total(self) -> Gathered:
        """The statistics of all."""
        self._close()
        return self._fit.begin() if self._total is None else self._total

    def _close(self) -> None:
        block, self._block = self._block, None
        if block is not None:
            self.add_block(block)


def _merge(earlier: Gathered, later: Gathered) -> None:
    for own, other in zip(earlier, later, strict=True):
        own.merge(other)


def gather(
    fit: Fit,
    samples: Sequence[Sample],
    looks_of: Callable[[Sample, Tolerances | None], Sequence[tuple[Tensor, ...]]],
    progress: Report | None = None,
    cancelled: Cancel | None = None,
) -> Gathered:
    """The statistics of all photos, gathered in this process. Raises Cancelled when `cancelled` returns True."""
    merged = Merged(fit)

    def seen(numbers: range) -> Iterator[tuple[int, Sequence[tuple[Tensor, ...]]]]:
        for number in numbers:
            yield number, looks_of(samples[number], fit.tolerances)
            tell(progress, cancelled, (number + 1) / len(samples), "learning what good looks like")

    for numbers in ranges(len(samples), SHARD):
        merged.add_shard(fit.shard(seen(numbers)))
    return merged.total()
