"""Threads: one for each sum, as many as there are cores for what no sum crosses.

A sum that several threads share may end in other bits with another number of them. So NumPy, SciPy and torch have one
each; among the cores go whole photos, and what each layer of the network gives.
"""

import os

from threadpoolctl import threadpool_limits


def one_for_sums() -> None:
    """One thread for the products and sums of NumPy, SciPy and torch in this process from now on.

    To be called before torch has done its first work: a thread that has worked keeps the number it began with.
    """
    import torch

    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for SciPy's own, which is loaded later
    threadpool_limits(1, user_api="blas")
    torch.set_num_threads(1)


def cores() -> int:
    """Cores to share work out to: OMP_NUM_THREADS where it is set, else those that this process may use."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
