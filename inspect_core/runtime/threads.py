"""Threads: one for each sum, as many as there are cores for what no sum crosses.

A sum that several threads share may end in other bits with another number of them. So NumPy, SciPy and torch have one
each; among the cores go whole photos, and what each layer of the network gives.
"""

import os
from functools import cache

from threadpoolctl import threadpool_limits


def one_for_sums() -> None:
    """One thread for the products and sums of NumPy, SciPy and torch in this process from now on.

    To be called before torch has done its first work: a thread that has worked keeps the number it began with.
    """
    import torch

    _of_this_machine()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for SciPy's own, which is loaded later
    threadpool_limits(1, user_api="blas")
    torch.set_num_threads(1)


def one_core() -> None:
    """Share nothing out from now on: photos or processes side by side have the other cores."""
    os.environ["OMP_NUM_THREADS"] = "1"


def cores() -> int:
    """Threads to share work out to: OMP_NUM_THREADS, or as many as torch took before it was held to one."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return int(wanted) if wanted.isdecimal() and int(wanted) else _of_this_machine()


@cache
def _of_this_machine() -> int:
    import torch

    return torch.get_num_threads()
