"""Photos judged several at a time, with results in order and few of them in memory."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

THREADS = max(2, min(4, os.cpu_count() or 1))


def in_order(work: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Result]:
    """Yield work(item) in the order of the items, THREADS of them under way at a time and as many finished.

    While one is decoded, the network runs on another and the caller writes a third. What `work` raises is raised here;
    items not begun by then, or when the caller stops, are dropped.
    """
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="loupe-line")
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= 2 * THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def ranges(count: int, size: int) -> list[range]:
    """Return the numbers from 0 to `count`, `size` at a time."""
    return [range(first, min(first + size, count)) for first in range(0, count, size)]
