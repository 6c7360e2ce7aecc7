"""Threads: one for each sum, as many as there are cores for work that shares no sum.

The last bits of a sum may depend on the number of threads that share it. So NumPy, SciPy and torch have one thread
each; the cores share whole photos, and the outputs of each layer of the network.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from inspect_core.runtime.progress import Report, ignore_progress

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

    `report` hears the share that is done, without words; whatever it raises keeps further items from being begun.
    """
    items, results = list(items), []
    if len(items) == 1:  # needs no thread of its own
        results = [work(items[0])]
        report(1.0, "")
        return results
    pool = ThreadPoolExecutor(cores(), thread_name_prefix="loupe-cores")
    try:
        for result in pool.map(work, items):
            results.append(result)
            report(len(results) / len(items), "")
    finally:
        pool.shutdown(cancel_futures=True)
    return results


@cache
def _of_this_machine() -> int:
    import torch

    return torch.get_num_threads()
