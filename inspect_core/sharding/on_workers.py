"""A study's work on workers: learn from photos, score or judge them, describe them for the product check."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from inspect_core.features.extraction import Preparation
from inspect_core.images.folders import Sample
from inspect_core.images.read import ImageError, read
from inspect_core.images.tolerances import Tolerances
from inspect_core.line.overlap import ranges
from inspect_core.methods.view import View
from inspect_core.runtime.progress import Report, tell
from inspect_core.sharding.executor import RESTING, Executor, Failure, Numbered, attempt, stamp
from inspect_core.sharding.kept import MERGED, Kept
from inspect_core.sharding.run import in_order, kept_results, results
from inspect_core.sharding.sent import Network, Prepared
from inspect_core.sharding.teaching import (
    KINDS,
    Describing,
    Fitting,
    Found,
    Judging,
    Scoring,
    Shard,
    fault,
    has_mask,
    restored,
    states,
)
from inspect_core.study.gathering import BLOCK, SHARD, Fit, Gathered, Merged
from inspect_core.study.judged import AT_ONCE, Judged, Live
from inspect_core.study.photo_features import Unusable
from inspect_core.study.workers import Looked

MOST_SHARDS = 64
"""Largest fit that is sent shard by shard; larger ones are sent in whole blocks."""
KEEPING = 8
"""Blocks after which the merged state is written to disk; it is as large as one block."""
SHOWN = 16
"""Photos per task of scoring or describing."""


@dataclass(eq=False)
class OnWorkers:
    """The workers of an executor, as a study uses them. weights: the backbone's file, None for the installed one.

    A photo that a worker cannot read is read here; only if that fails too does it count as damaged. Finished shards are
    stored until all are finished.
    """

    executor: Executor
    weights: Path | None = None

    def gather(
        self,
        preparation: Preparation,
        fit: Fit,
        samples: Sequence[Sample],
        *,
        keep: bool,
        memory: int,
        progress: Report | None,
    ) -> tuple[Gathered, Unusable]:
        """As `Workers.gather`, equal to the bit to `study.gathering.gather`.

        Also raises ShardsFailed, and ValueError for too little memory.
        """
        self.executor.require(RESTING + memory)
        whole = len(samples) > MOST_SHARDS * SHARD
        task, size = Fitting(self._prepared(preparation), fit, keep), SHARD * BLOCK if whole else SHARD
        work = _Work(self.executor, task, samples, size, "learning", progress)
        return merged_states(fit, work.kept, work.results, whole=whole)

    def score(
        self,
        preparation: Preparation,
        views: Sequence[View],
        stops: Sequence[Sequence[int]],
        samples: Sequence[Sample],
        *,
        again: Tolerances | None,
        progress: Report | None,
    ) -> Iterator[tuple[list[Looked], Unusable]]:
        """As `Workers.score`: equal to the bit to `View.sweep`."""
        asked = tuple(_bare(view, own, scales={}) for view, own in zip(views, stops, strict=True))
        task = Scoring(self._prepared(preparation), asked, again)
        by_name, alignment = {sample.name: sample for sample in samples}, preparation.alignment
        for found in _Work(self.executor, task, samples, SHOWN, "scoring", progress).finished():
            for i, own in enumerate(found.content):
                placement = replace(own.placement, alignment=alignment)
                found.content[i] = own._replace(sample=by_name[own.sample.name], placement=placement)
            yield found.content, found.unusable

    def judge(
        self,
        preparation: Preparation,
        views: Sequence[View],
        moves: Sequence[Live],
        samples: Sequence[Sample],
        *,
        keep: bool,
        again: Tolerances | None,
        progress: Report | None,
    ) -> Iterator[tuple[list[Judged], Unusable]]:
        """As `Workers.judge`: equal to the bit to `judged.judge`."""
        asked = tuple(_bare(view, view.stops) for view in views)
        task = Judging(self._prepared(preparation), asked, tuple(moves), keep, again)
        for found in _Work(self.executor, task, samples, AT_ONCE, "judging", progress).finished():
            yield found.content, found.unusable

    def describe(
        self, preparation: Preparation, samples: Sequence[Sample], progress: Report | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `Workers.describe`."""
        task = Describing(self._prepared(preparation))
        work = _Work(self.executor, task, samples, SHOWN, "describing", progress)
        found = [found.content for found in work.finished() if found.content] or [np.zeros((2, 0, 0), np.float32)]
        embeddings, logits = map(np.concatenate, zip(*found, strict=True))
        return embeddings, logits

    def _prepared(self, preparation: Preparation) -> Prepared:
        return Prepared.of(preparation, Network.of(preparation.backbone, self.weights))


@dataclass(eq=False)
class _Work:
    """One task over photos, `size` at a time; verb: what it does with them."""

    executor: Executor
    task: Fitting | Scoring | Judging | Describing
    samples: Sequence[Sample]
    size: int
    verb: str
    progress: Report | None

    def __post_init__(self) -> None:
        """Identity: program, task, photos, and when their files were written."""
        self._ranges = ranges(len(self.samples), self.size)
        self._sent = [_absolute(sample) for sample in self.samples]
        written = [[_written(path) for path in (own.path, own.mask)] for own in self._sent]
        self.kept = Kept([stamp(), self.task, self._sent, written], KINDS)

    def finished(self) -> Iterator[Any]:
        """The results in order; then none is stored any more."""
        for _, result in self.results():
            yield result
        self.kept.remove()

    def results(self, first: int = 0) -> Iterator[Numbered]:
        """(number, result) of the shards from `first` on, in order; early results wait on disk."""
        total = len(self._ranges)

        def names(number: int) -> list[str]:
            return [sample.name for sample in self._shard(number).samples]

        def told() -> Iterator[Numbered]:
            worked = partial(results, self.executor, self.task, self._shard, self._taken)
            for done, result in enumerate(kept_results(self.kept, range(first, total), names, worked), start=first + 1):
                yield result
                photos = min(done * self.size, len(self.samples))
                words = f"{self.verb}: {photos:,} of {len(self.samples):,} photos, {self.executor.words}"
                tell(self.progress, None, done / total, words)

        return in_order(told(), first, self.kept)

    def _shard(self, number: int) -> Shard:
        numbers = self._ranges[number]
        return Shard(numbers.start, self._sent[numbers.start : numbers.stop])

    def _taken(self, number: int, result: Any) -> Any:
        """The result; that of this machine where it can read what the worker could not."""
        shard = self._shard(number)
        if why := fault(shard, result):
            return Failure(why)
        return attempt(self.task, shard) if _readable_here(shard, result) else result


def merged_states(
    fit: Fit, kept: Kept, results_from: Callable[[int], Iterator[Numbered]], *, whole: bool
) -> tuple[Gathered, Unusable]:
    """The statistics of all shards, or of whole blocks, merged in order; their stored results are deleted.

    results_from(first): (number, `Found`) in order, from the first that is not merged yet. Every KEEPING blocks the
    merged state is stored in their place.
    """
    merged, unusable, following = Merged(fit), Unusable([], []), 0
    if whole and (before := kept.get(MERGED)) is not None:
        following, found = before
        merged.add_block(restored(fit, found.content))
        unusable = found.unusable
    for number, found in results_from(following):
        (merged.add_block if whole else merged.add_shard)(restored(fit, found.content))
        for own, more in zip(unusable, found.unusable, strict=True):
            own.extend(more)
        if whole and (number + 1) % KEEPING == 0:
            kept.put(MERGED, (number + 1, Found(unusable, states(merged.total()))))
            for done in range(following, number + 1):
                kept.drop(done)
            following = number + 1
    kept.remove()
    return merged.total(), unusable


def _bare(view: View, stops: Sequence[int], **changes: Any) -> View:
    """The view for these stops, without what it has computed."""
    detector: Any = view.detector
    return replace(view, detector=replace(detector), look=replace(view.look), only=tuple(stops), **changes)


def _absolute(sample: Sample) -> Sample:
    """The sample for a process that may run in another folder."""
    mask = sample.mask and Path(os.path.abspath(sample.mask))
    return replace(sample, path=Path(os.path.abspath(sample.path)), mask=mask)


def _written(path: Path | None) -> tuple[int, int] | None:
    """Size and time of a file, so that a changed one is new; None without one: the worker reports it."""
    try:
        facts = os.stat(path or "")
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns


def _readable_here(shard: Shard, found: Found) -> bool:
    damaged = {name for name, _ in found.unusable.damaged}
    for sample in shard.samples:
        if sample.name in found.unmasked and has_mask(sample):
            return True
        if sample.name in damaged:
            try:
                read(sample.path, sample.depth)
            except ImageError:
                continue
            return True
    return False
