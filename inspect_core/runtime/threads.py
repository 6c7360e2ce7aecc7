"""One thread for numerical libraries: a sum that several threads share may end in other bits on another machine."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Generator[None]:
    """Products and sums of NumPy, SciPy and torch by one thread each while inside. The network's runs are not meant:
    they share out what a layer gives, never a sum.
    """
    torch = sys.modules.get("torch")  # not loaded here for those who do without it
    before = torch.get_num_threads() if torch else 1
    with _controller().limit(limits=1):
        if torch and before > 1:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch and before > 1:
                torch.set_num_threads(before)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
