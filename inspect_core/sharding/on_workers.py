"""A study's work on workers: learn from photos, score or judge them, describe them for the product check."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from inspect_core.features.extraction import Preparation
from inspect_core.images.folders import Sample
from inspect_core.images.photo_quality import Quality
from inspect_core.images.read import ImageError, read
from inspect_core.images.tolerances import Tolerances, looks_in
from inspect_core.line.overlap import ranges
from inspect_core.methods.view import View
from inspect_core.runtime.progress import Cancel, Report, tell
from inspect_core.sharding import plan, teaching_answers
from inspect_core.sharding.answers import Check, checked, require
from inspect_core.sharding.container import facts, pack, unpack
from inspect_core.sharding.executor import RESTING, Executor, Failure, Numbered, Result
from inspect_core.sharding.kept import MERGED, Kept
from inspect_core.sharding.photos import facts_of, has_mask, placement_of, sample_of
from inspect_core.sharding.run import in_order, kept_results
from inspect_core.sharding.tasks import Refused, perform, stamp
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

    A photo that a worker cannot read is read here; only if that fails too does it count as damaged.
    """

    executor: Executor
    weights: Path | None = None
    _weights: bytes | None = field(default=None, init=False)

    def gather(
        self, preparation: Preparation, fit: Fit, samples: Sequence[Sample], *, keep: bool, memory: int,
        progress: Report | None, cancelled: Cancel | None,
    ) -> tuple[Gathered, Unusable]:  # fmt: skip
        """As `Workers.gather`, equal to the bit to `study.gathering.gather`.

        Finished shards are stored meanwhile. Also raises ShardsFailed, and ValueError for too little memory.
        """
        self.executor.require(RESTING + memory)
        whole = len(samples) > MOST_SHARDS * SHARD
        numbers = {sample.name: fit.first + i for i, sample in enumerate(samples)}
        work = _Work(
            "fit", (*self._shared(preparation), plan.pack_fit(fit, keep=keep)), samples,
            SHARD * BLOCK if whole else SHARD, {}, partial(teaching_answers.check_fit, fit, numbers),
        )  # fmt: skip
        return merged_states(
            fit, work.kept, lambda first: self._in_order(work, first, "learning", progress, cancelled), whole=whole
        )

    def score(
        self, preparation: Preparation, views: Sequence[View], stops: Sequence[Sequence[int]],
        samples: Sequence[Sample], *, again: Tolerances | None, progress: Report | None, cancelled: Cancel | None,
    ) -> Iterator[tuple[list[Looked], Unusable]]:  # fmt: skip
        """As `Workers.score`: equal to the bit to `View.sweep`. Finished shards are stored until all are finished."""
        shared = (*self._shared(preparation), plan.pack_views(views, stops))
        check = partial(teaching_answers.check_score, preparation, looks_in(again), sum(map(len, stops)))
        work = _Work("score", shared, samples, SHOWN, {"keep": True} | _again(again), check)
        ends = np.cumsum([len(own) for own in stops])[:-1]
        for number, content in self._in_order(work, 0, "scoring", progress, cancelled):
            facts, arrays = unpack(content)
            by_name = {sample.name: sample for sample in work.samples_of(number)}
            looked = [
                Looked(
                    by_name[name],
                    digest,
                    placement_of(own, preparation.alignment),
                    [np.split(look, ends) for look in errors],
                    Quality(*quality),
                )
                for (name, digest, own, quality), errors in zip(facts["photos"], arrays.get("errors", ()), strict=True)
            ]
            yield looked, _unusable(facts)
        work.kept.remove()

    def judge(
        self, preparation: Preparation, views: Sequence[View], moves: Sequence[Live], samples: Sequence[Sample], *,
        keep: bool, again: Tolerances | None, progress: Report | None, cancelled: Cancel | None,
    ) -> Iterator[tuple[list[Judged], Unusable]]:  # fmt: skip
        """As `Workers.judge`: equal to the bit to `judged.judge`. Finished shards are stored until all are finished."""
        fitted = plan.pack_views(views, [view.stops for view in views])
        shared = (*self._shared(preparation), fitted, plan.pack_moves(views, moves))
        check = partial(teaching_answers.check_evaluate, len(moves))
        work = _Work("evaluate", shared, samples, AT_ONCE, {"keep": keep} | _again(again), check)
        for _, content in self._in_order(work, 0, "judging", progress, cancelled):
            judged, facts = plan.unpack_judged(content)
            yield judged, _unusable(facts)
        work.kept.remove()

    def describe(
        self, preparation: Preparation, samples: Sequence[Sample], progress: Report | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `Workers.describe`. Finished shards are stored until all are finished."""
        work = _Work("describe", self._shared(preparation), samples, SHOWN, {}, teaching_answers.check_describe)
        found = [unpack(content)[1] for _, content in self._in_order(work, 0, "describing", progress, None)]
        work.kept.remove()
        embeddings, logits = (
            np.concatenate([own[name] for own in found if name in own] or [np.zeros((0, 0), np.float32)])
            for name in ("embeddings", "logits")
        )
        return embeddings, logits

    def _shared(self, preparation: Preparation) -> tuple[bytes, bytes]:
        if self._weights is None:
            self._weights = plan.pack_weights(preparation.backbone, self.weights)
        return plan.pack_preparation(preparation), self._weights

    def _in_order(
        self, work: "_Work", first: int, verb: str, progress: Report | None, cancelled: Cancel | None
    ) -> Iterator[tuple[int, bytes]]:
        """(number, result) of the shards from `first` on, in order; early results wait on disk."""
        total = len(work.ranges)
        found = kept_results(
            partial(self._map, work.check), work.task, work.shared, work.payload, range(first, total), work.kept,
            work.names,
        )  # fmt: skip

        def told() -> Iterator[tuple[int, bytes]]:
            for done, result in enumerate(found, start=first + 1):
                yield result
                photos = min(done * work.size, len(work.samples))
                words = f"{verb}: {photos:,} of {len(work.samples):,} photos, {self.executor.words}"
                tell(progress, cancelled, done / total, words)

        return in_order(told(), first, work.kept)

    def _map(
        self, check: Check, task: str, shared: Sequence[bytes], payloads: Iterable[Numbered]
    ) -> Iterator[tuple[int, Result]]:
        """As `Executor.map` with checked results; a shard with photos that only this machine can read is computed
        here.
        """
        sent: dict[int, bytes] = {}

        def noted() -> Iterator[Numbered]:
            for number, payload in payloads:
                sent[number] = payload
                yield number, payload

        for number, result in checked(self.executor.map, check)(task, shared, noted()):
            payload = sent.pop(number)
            if not isinstance(result, Failure) and _readable_here(payload, result):
                result = performed_here(task, shared, payload)
            yield number, result


@dataclass(eq=False)
class _Work:
    """One task over photos, `size` at a time; facts: what else every payload contains; sound: called with some of the
    photos and their result, raises as `answers.Check`.
    """

    task: str
    shared: Sequence[bytes]
    samples: Sequence[Sample]
    size: int
    facts: dict[str, Any]
    sound: Callable[[Sequence[Sample], bytes], object]

    def __post_init__(self) -> None:
        self.ranges = ranges(len(self.samples), self.size)
        photos = json.dumps(facts_of(self.samples)).encode()
        self.kept = Kept([stamp(), self.task.encode(), *self.shared, photos], self.check)

    def check(self, name: int | str, content: bytes) -> None:
        """An `answers.Check` of a shard's result, or of the merged state of those before it."""
        if name == MERGED:
            following = facts(content)["following"]
            require(0 < following <= len(self.ranges), f"it goes on at shard {following}")
            self.sound(self.samples[: following * self.size], content)
        else:
            self.sound(self.samples_of(int(name)), content)

    def samples_of(self, number: int) -> Sequence[Sample]:
        numbers = self.ranges[number]
        return self.samples[numbers.start : numbers.stop]

    def names(self, number: int) -> list[str]:
        return [sample.name for sample in self.samples_of(number)]

    def payload(self, number: int) -> bytes:
        facts = {"first": self.ranges[number].start, "photos": facts_of(self.samples_of(number))}
        return pack(facts | self.facts)


def merged_states(
    fit: Fit, kept: Kept, results_from: Callable[[int], Iterator[tuple[int, bytes]]], *, whole: bool
) -> tuple[Gathered, Unusable]:
    """The statistics of all shards, or of whole blocks, merged in order; their stored results are deleted.

    results_from(first): (number, states) in order, from the first that is not merged yet. Every KEEPING blocks the
    merged state is stored in their place.
    """
    merged, unusable, following = Merged(fit), Unusable([], []), 0
    if whole and (before := kept.get(MERGED)) is not None:
        block, facts = plan.unpack_states(before, fit)
        merged.add_block(block)
        unusable, following = _unusable(facts), facts["following"]
    for number, content in results_from(following):
        gathered, facts = plan.unpack_states(content, fit)
        (merged.add_block if whole else merged.add_shard)(gathered)
        for own, more in zip(unusable, _unusable(facts), strict=True):
            own.extend(more)
        if whole and (number + 1) % KEEPING == 0:
            kept.put(MERGED, plan.pack_states(merged.total(), unusable, following=number + 1))
            for done in range(following, number + 1):
                kept.drop(done)
            following = number + 1
    kept.remove()
    return merged.total(), unusable


def _again(tolerances: Tolerances | None) -> dict[str, Any]:
    """The tolerances of copies as a payload carries them."""
    return {"again": None if tolerances is None else asdict(tolerances)}


def performed_here(task: str, shared: Sequence[bytes], payload: bytes) -> Result:
    """The result of one task, performed by this process. Raises Refused."""
    try:
        return perform(task, payload, (stamp(), *shared))
    except Refused:
        raise
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        return Failure(str(error) or type(error).__name__)


def _unusable(facts: Mapping[str, Any]) -> Unusable:
    return Unusable(*([(name, reason) for name, reason in facts[word]] for word in Unusable._fields))


def _readable_here(payload: bytes, result: bytes) -> bool:
    found = facts(result)
    damaged, unmasked = {name for name, _ in found["damaged"]}, set(found.get("unmasked", ()))
    for photo in facts(payload)["photos"] if damaged or unmasked else ():
        if photo["name"] in unmasked and has_mask(sample_of(photo)):
            return True
        if photo["name"] in damaged:
            sample = sample_of(photo)
            try:
                read(sample.path, sample.depth)
            except ImageError:
                continue
            return True
    return False
