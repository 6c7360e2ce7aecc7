"""Threads: one for each sum, as many as there are cores for work that shares no sum.

The last bits of a sum may depend on the number of threads that share it. So NumPy, SciPy and torch have one thread
each; the cores share whole photos, the places or rows of one, and the outputs of each layer of the network.
"""

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

from inspect_core.runtime.progress import Report, ignore_progress

if TYPE_CHECKING:
    import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def limit_math_threads() -> None:
    """Use one thread for the products and sums of NumPy, SciPy and torch in this process from now on.

    Call it before torch does its first work: a thread that has worked keeps the number it began with.
    """
    import torch
    from threadpoolctl import threadpool_limits

    _of_this_machine()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for SciPy's own, which is loaded later
    threadpool_limits(1, user_api="blas")
    torch.set_num_threads(1)


def limit_to_one_core() -> None:
    """Use one core from now on: photos or processes that run in parallel use the others."""
    os.environ["OMP_NUM_THREADS"] = "1"


def cores() -> int:
    """The number of threads to share work: OMP_NUM_THREADS, or torch's before it was limited to one."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    return int(setting) if setting.isdecimal() and int(setting) else _of_this_machine()


def parallel_map(
    work: Callable[[Item], Result], items: Iterable[Item], report: Report = ignore_progress
) -> list[Result]:
    """work(item) of each item, in their order, as many at a time as there are cores; they share no sum.

    The caller works too, helped by threads that are idle: `work` may itself call this. `report` hears from the caller's
    thread each share that is done, without words; whatever it raises keeps further items from being begun, as does what
    `work` raises.
    """
    shared = _SharedWork(work, list(items))
    helping = _helpers(os.getpid()).help(shared.take_part, min(len(shared.items), cores()) - 1)
    reported = 0
    try:
        while shared.take_next():
            while reported < shared.done:
                reported += 1
                report(reported / len(shared.items), "")
    finally:
        shared.stop()
        for helper in helping:
            helper.result()
    if shared.errors:
        raise shared.errors[min(shared.errors)]
    for number in range(reported + 1, len(shared.items) + 1):
        report(number / len(shared.items), "")
    return [shared.results[place] for place in range(len(shared.items))]


def map_on(device: "torch.device") -> Callable[..., Iterable]:
    """`parallel_map` for work on a CPU; `map` on a GPU, which does one thing after the other anyway."""
    return parallel_map if device.type == "cpu" else map


class _SharedWork(Generic[Item, Result]):
    """Items that several threads work on, each taking the next; results and errors by their place."""

    def __init__(self, work: Callable[[Item], Result], items: list[Item]) -> None:
        self.work, self.items = work, items
        self.results: dict[int, Result] = {}
        self.errors: dict[int, BaseException] = {}
        self.done = 0
        self._next = 0
        self._lock = threading.Lock()

    def take_next(self) -> bool:
        """Work on the next item; False when there is none."""
        with self._lock:
            place, self._next = self._next, self._next + 1
        if place >= len(self.items):
            return False
        try:
            result = self.work(self.items[place])
        except BaseException as error:
            self.errors[place] = error
            self.stop()
            return False
        with self._lock:
            self.results[place] = result
            self.done += 1
        return True

    def take_part(self) -> None:
        """Work until there is no item left."""
        while self.take_next():
            pass

    def stop(self) -> None:
        """Let no further item be begun."""
        with self._lock:
            self._next = len(self.items)


class _Helpers:
    """Threads that help callers. None waits in a line for one, which would keep its photos in memory meanwhile."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="loupe-cores")
        self._idle = threading.Semaphore(count)

    def help(self, work: Callable[[], None], most: int) -> list[Future[None]]:
        """Begin `work` in each of at most so many threads that are idle."""

        def helped() -> None:
            try:
                work()
            finally:
                self._idle.release()

        helping: list[Future[None]] = []
        while len(helping) < most and self._idle.acquire(blocking=False):
            helping.append(self._pool.submit(helped))
        return helping


@cache
def _helpers(process: int) -> _Helpers:
    """Those of a process, since a fork inherits none. A pool for each call would take longer than small work."""
    return _Helpers(max(1, cores() - 1))


@cache
def _of_this_machine() -> int:
    import torch

    return torch.get_num_threads()
