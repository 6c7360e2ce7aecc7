"""Photos processed several at a time, with results in order and few of them in memory."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Ready = TypeVar("Ready")
Computed = TypeVar("Computed")
Result = TypeVar("Result")

CORES = max(2, os.cpu_count() or 1)
THREADS = min(4, CORES)
BESIDE_GPU = min(8, CORES)
"""Threads that read for a GPU: beside an H100, 8 read 117 photos of 1 megapixel a second, 16 only 98."""


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], *, threads: int = THREADS, ahead: int = 0
) -> Generator[Result]:
    """Yield work(item) in the order of the items, `threads` of them under way at a time and as many finished, or
    `ahead` if that is more.

    While one is decoded, the network runs on another and the caller writes a third. What `work` raises is raised here;
    items not begun by then, or when the caller stops, are dropped.
    """
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="loupe-line")
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= threads + max(threads, ahead):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def in_batches(
    prepare: Callable[[Item], Ready],
    compute: Callable[[list[Ready]], Sequence[Computed]],
    finish: Callable[[Computed], Result],
    items: Iterable[Item],
    *,
    at_once: int,
    threads: int | None = None,
) -> Generator[Result]:
    """Yield finish(...) of what compute makes of each prepared item, in the order of the items.

    at_once: how many compute takes together, all but the last time. Where that is one, all three run in the threads of
    `in_order`. Otherwise one pool prepares the next batch, another finishes the one before, and compute runs in the
    caller's thread, one batch after the other; at most three batches are in memory. threads: of a pool, by default
    THREADS or BESIDE_GPU; with one, and one item at once, the caller does everything.
    """
    if at_once == 1:
        apply = map if threads == 1 else partial(in_order, threads=threads or THREADS)
        yield from apply(lambda item: finish(compute([prepare(item)])[0]), items)
        return
    threads = threads or BESIDE_GPU

    def computed(prepared: Iterable[Ready]) -> Generator[Computed]:
        rows = iter(prepared)
        while batch := list(islice(rows, at_once)):
            yield from compute(batch)

    with (
        closing(in_order(prepare, items, threads=threads, ahead=at_once)) as prepared,
        closing(in_order(finish, computed(prepared), threads=threads)) as finished,
    ):
        yield from finished


def ranges(count: int, size: int) -> list[range]:
    """The numbers from 0 to `count`, `size` at a time."""
    return [range(first, min(first + size, count)) for first in range(0, count, size)]
