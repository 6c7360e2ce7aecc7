"""The figures of the latest moves of the live parameters."""

from collections import OrderedDict
from collections.abc import Callable

import numpy as np

KEPT = 8
"""A move needs all rankings, those that set the limit, and where defects are found, each before and after."""


class Latest:
    """Arrays by key, the last KEPT that were asked for."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple, np.ndarray] = OrderedDict()

    def of(self, key: tuple, make: Callable[[], np.ndarray]) -> np.ndarray:
        """What `make` returns, read-only, computed once while it is kept."""
        made = self._made.pop(key, None)
        if made is None:
            made = make()
            made.flags.writeable = False
        self._made[key] = made
        while len(self._made) > KEPT:
            self._made.popitem(last=False)
        return made

    def clear(self) -> None:
        self._made.clear()
