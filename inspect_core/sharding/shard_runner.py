"""Work divided into shards: executed, stored on disk shard by shard, and retried where it fails."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from inspect_core.runtime.wording import join_first_names, pluralise
from inspect_core.sharding.checkpoints import ShardCheckpoints
from inspect_core.sharding.executor import Executor, Failure, Numbered, Task

ATTEMPTS = 3


class ShardsFailed(RuntimeError):
    """Shards that failed in every attempt. photos: their names; the results of other shards are stored."""

    def __init__(self, reasons: dict[int, str], photos: Sequence[str]) -> None:
        first = next(iter(reasons.values()))
        super().__init__(
            f"{pluralise(len(reasons), 'shard')} of photos failed {ATTEMPTS} times ({first}): "
            f"{join_first_names(list(photos))}. All other results are kept: repair or remove these photos, or fix the "
            "workers, then start again"
        )
        self.photos = tuple(photos)


def results(
    executor: Executor,
    task: Task,
    payload_of: Callable[[int], Any],
    accept: Callable[[int, Any], Any],
    numbers: Sequence[int],
) -> Iterator[Numbered]:
    """Yield (number, result) of each as it is finished; a Failure only after ATTEMPTS attempts.

    accept: called with number and result, returns what the result becomes, a Failure when it cannot be used.
    """
    for attempt in range(1, ATTEMPTS + 1):
        failed = []
        for number, result in executor.map(task, ((number, payload_of(number)) for number in numbers)):
            result = result if isinstance(result, Failure) else accept(number, result)
            if isinstance(result, Failure) and attempt < ATTEMPTS:
                failed.append(number)
            else:
                yield number, result
        if not (numbers := failed):
            return


def stored_results(
    checkpoints: ShardCheckpoints,
    numbers: Sequence[int],
    names_of: Callable[[int], Sequence[str]],
    results_of: Callable[[Sequence[int]], Iterable[Numbered]],
) -> Iterator[Numbered]:
    """Yield (number, result) of each, first those stored by an earlier run; each is on disk before it is yielded.

    results_of: as `results` of some numbers. Raises ShardsFailed after all others have been yielded.
    """
    reasons: dict[int, str] = {}
    there = checkpoints.numbers()
    missing = []
    for number in numbers:
        if (checkpoint := checkpoints.get(number) if number in there else None) is None:
            missing.append(number)
        else:
            yield number, checkpoint
    for number, result in results_of(missing):
        if isinstance(result, Failure):
            reasons[number] = result.reason
        else:
            checkpoints.put(number, result)
            yield number, result
    if reasons:
        raise ShardsFailed(reasons, [name for number in sorted(reasons) for name in names_of(number)])


def in_order(results_by_number: Iterable[Numbered], first: int, checkpoints: ShardCheckpoints) -> Iterator[Numbered]:
    """Yield the results from number `first` on, in order; one that comes early waits on disk.

    Raises OSError when it is no longer there.
    """
    waiting = set()
    following = first
    for number, result in results_by_number:
        waiting.add(number)
        while following in waiting:
            shard_result = result if following == number else checkpoints.get(following)
            if shard_result is None:
                raise OSError(f"{checkpoints.folder} lost results that were stored in it; start again")
            yield following, shard_result
            waiting.remove(following)
            following += 1
