"""A study's tasks on the workers of an executor: photos out, arrays and numbers back."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from inspect_core.datasets.folders import PhotoFile
from inspect_core.features.store import feature_store
from inspect_core.images.depth import Depth
from inspect_core.images.part_pose import PartPose
from inspect_core.images.photo_quality import PhotoQuality
from inspect_core.images.photo_reader import ImageError, read, read_mask
from inspect_core.images.photo_setup import PhotoSetup
from inspect_core.images.placement import Placement
from inspect_core.runtime.ordered_pool import ranges
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.scoring.overlap_counts import OverlapCounts
from inspect_core.sharding.checkpoints import MERGED, ShardCheckpoints
from inspect_core.sharding.executor import IDLE_WORKER_BYTES, Executor, Failure, Numbered, attempt, environment_stamp
from inspect_core.sharding.shard_runner import in_order, results, stored_results
from inspect_core.sharding.transport import SentBackbone, SentExtractor, bare, extractor_of
from inspect_core.study.evaluation_scores import AT_ONCE, EvaluationScores
from inspect_core.study.photo_features import PhotoFeatures, PhotoNotes
from inspect_core.study.statistics_gathering import FitPlan, Gathered, merged, shards_of
from inspect_core.study.study_tasks import EvaluationTask, FitTask, Shard, Task

KEEPING = 8
"""Shards after which the merged state is written to disk; it is as large as that of one shard."""


@dataclass(frozen=True, eq=False)
class ShardResult:
    """What a worker found in a shard; unreadable_masks: names of photos whose mask it could not read."""

    notes: PhotoNotes
    content: Any
    unreadable_masks: list[str] = field(default_factory=list)


KINDS = (
    PhotoNotes,
    ShardResult,
    PhotoFile,
    Depth,
    Placement,
    PartPose,
    PhotoQuality,
    PhotoSetup,
    EvaluationScores,
    OverlapCounts,
)
"""What results consist of."""


@dataclass(frozen=True, eq=False)
class RemoteTask:
    """A task as a worker performs it. Placements come back without the alignment, which both sides know."""

    task: Task
    prepared: SentExtractor

    def __call__(self, shard: Shard) -> ShardResult:
        features = PhotoFeatures(extractor_of(self.prepared), feature_store(), shard.streamed)
        content = self.task.process(features, shard, ignore_progress)
        masked = ()
        if isinstance(self.task, FitTask):
            content = states(merged(self.task.fit, content))
        elif isinstance(self.task, EvaluationTask):
            masked = [sample for sample in shard.samples if sample.mask]
        content, placements = list(content), features.notes.placements
        sent = {name: (digest, replace(placement, alignment=None)) for name, (digest, placement) in placements.items()}
        placements |= sent
        return ShardResult(features.notes, content, [sample.name for sample in masked if not _has_mask(sample)])


@dataclass(eq=False)
class OnWorkers:
    """The workers of an executor, as a study uses them. weights: the backbone's file, None for the installed one.

    A photo that a worker cannot read is read here; only if that fails too does it count as damaged. Finished shards are
    stored until all are finished. Raises ShardsFailed beside what `study_tasks.Workers` says.
    """

    executor: Executor
    weights: Path | None = None

    def require(self, memory: int) -> None:
        self.executor.require(IDLE_WORKER_BYTES + memory)

    def extract(self, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report) -> None:
        """Workers store features when they first need them."""

    def gather(self, fit: FitPlan, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report) -> Gathered:
        work = self._work(FitTask(fit), features, samples, shards_of(len(samples)), report)
        gathered, notes = merged_states(fit, work.checkpoints, work.results)
        _add(features, notes)
        return gathered

    def results(
        self, task: Task, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report
    ) -> Iterator[Any]:
        work = self._work(task, features, samples, ranges(len(samples), AT_ONCE), report)
        for _, shard_result in work.results():
            _add(features, shard_result.notes)
            yield from shard_result.content
        work.checkpoints.remove()

    def _work(
        self, task: Task, features: PhotoFeatures, samples: Sequence[PhotoFile], numbers: list[range], report: Report
    ) -> "_Work":
        prepared = SentExtractor.from_extractor(
            features.extractor, SentBackbone.from_backbone(features.extractor.backbone, self.weights)
        )
        streamed = frozenset(features.streamed)
        return _Work(self.executor, RemoteTask(bare(task), prepared), samples, streamed, numbers, report)


@dataclass(eq=False)
class _Work:
    """One task over photos; numbers: of those of each shard."""

    executor: Executor
    task: RemoteTask
    samples: Sequence[PhotoFile]
    streamed: frozenset[str]
    numbers: list[range]
    report: Report

    def __post_init__(self) -> None:
        """Identity: program, task, photos, and when their files were written."""
        self._absolute = [_absolute(sample) for sample in self.samples]
        written = [[_written(path) for path in (photo.path, photo.mask)] for photo in self._absolute]
        self.checkpoints = ShardCheckpoints([environment_stamp(), self.task, self._absolute, written], KINDS)

    def results(self, first: int = 0) -> Iterator[Numbered]:
        """Yield (number, `ShardResult`) of the shards from `first` on, in order; early results wait on disk."""
        total = len(self.numbers)

        def numbered_results() -> Iterator[Numbered]:
            worked = partial(results, self.executor, self.task, self._shard, self._accept)
            answers = stored_results(self.checkpoints, range(first, total), lambda i: _names(self._shard(i)), worked)
            for done, result in enumerate(answers, start=first + 1):
                yield result
                counted = f"{self.numbers[done - 1].stop:,} of {len(self.samples):,} photos"
                self.report(done / total, f"{self.task.task.words}: {counted}, {self.executor.words}")

        return in_order(numbered_results(), first, self.checkpoints)

    def _shard(self, number: int) -> Shard:
        numbers = self.numbers[number]
        samples = self._absolute[numbers.start : numbers.stop]
        return Shard(numbers.start, samples, self.streamed.intersection(sample.name for sample in samples))

    def _accept(self, number: int, result: Any) -> Any:
        """The result; that of this machine where it can read what the worker could not."""
        shard = self._shard(number)
        if reason := fault(shard, result):
            return Failure(reason)
        return attempt(self.task, shard) if _readable_here(shard, result) else result


def merged_states(
    fit: FitPlan, checkpoints: ShardCheckpoints, results_from: Callable[[int], Iterator[Numbered]]
) -> tuple[Gathered, PhotoNotes]:
    """The statistics of all shards, merged in order; their stored results are deleted.

    results_from(first): (number, `ShardResult`) in order, from the first that is not merged yet. Every KEEPING shards
    the merged state is stored in their place.
    """
    total: Gathered = []
    notes = PhotoNotes()
    following = 0
    if (before := checkpoints.get(MERGED)) is not None:
        following, shard_result = before
        total = restored(fit, shard_result.content)
        notes.add(shard_result.notes)
    for number, shard_result in results_from(following):
        total = merged(fit, [restored(fit, shard_result.content)], total)
        notes.add(shard_result.notes)
        if (number + 1) % KEEPING == 0:
            checkpoints.put(MERGED, (number + 1, ShardResult(notes, states(total))))
            for done in range(following, number + 1):
                checkpoints.drop(done)
            following = number + 1
    checkpoints.remove()
    return total or fit.begin(), notes


def states(gathered: Gathered) -> list[dict[str, np.ndarray]]:
    """The statistics of each method as arrays."""
    return [{name: array.cpu().contiguous().numpy() for name, array in method.state().items()} for method in gathered]


def restored(fit: FitPlan, content: list[dict[str, np.ndarray]]) -> Gathered:
    """The statistics from their `states`. Raises ValueError for those of another fit."""
    gathered = fit.begin()
    for statistics, state in zip(gathered, content, strict=True):
        statistics.restore({name: torch.from_numpy(values) for name, values in state.items()})
    return gathered


def fault(shard: Shard, result: Any) -> str:
    """Why the result of a worker, maybe a faulty machine, is not one of this shard; "" for a sound one."""
    if not isinstance(result, ShardResult):
        return "it gave no result"
    if not set().union(result.unreadable_masks, *vars(result.notes).values()) <= set(_names(shard)):
        return "its result is about other photos"
    return "" if _is_finite(result.content) else "its result holds numbers that are not finite"


def _is_finite(content: Any) -> bool:
    """Whether the arrays in lists, tuples and tables are; a judged photo is not looked into."""
    if isinstance(content, np.ndarray):
        return bool(np.isfinite(content).all())
    if isinstance(content, dict):
        content = list(content.values())
    return not isinstance(content, list | tuple) or all(map(_is_finite, content))


def _add(features: PhotoFeatures, notes: PhotoNotes) -> None:
    """Note what workers found of photos."""
    alignment = features.extractor.alignment
    placed = {
        name: (digest, replace(placed, alignment=alignment)) for name, (digest, placed) in notes.placements.items()
    }

    features.notes.add(replace(notes, placements=placed))


def _names(shard: Shard) -> list[str]:
    return [sample.name for sample in shard.samples]


def _absolute(sample: PhotoFile) -> PhotoFile:
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


def _readable_here(shard: Shard, result: ShardResult) -> bool:
    """Whether this machine can read a photo or a mask that the worker could not."""
    for sample in shard.samples:
        if sample.name in result.unreadable_masks and _has_mask(sample):
            return True
        if sample.name in result.notes.damaged:
            try:
                read(sample.path, sample.depth)
            except ImageError:
                continue
            return True
    return False


def _has_mask(sample: PhotoFile) -> bool:
    """Whether its mask can be read here."""
    try:
        return sample.mask is not None and read_mask(sample.mask, sample.size) is not None
    except ImageError:
        return False
