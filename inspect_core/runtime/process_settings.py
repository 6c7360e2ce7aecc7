"""What a process of Loupe sets for itself before it loads NumPy and torch."""

import gc
import os

from inspect_core.runtime.memory import share_memory


def set_up_process() -> None:
    """Let threads sleep while they wait and share memory, give small products one thread, and look for cyclic garbage
    less often.

    Threads that spin, or share small products, cost more than they bring. A fifth of the start went into looking for
    cycles among what modules hold, and no photo and no feature is part of one. What the environment sets stays.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(20_000, 20, 20)
    share_memory()
