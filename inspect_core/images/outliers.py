"""Which values stand out from most of the others (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993)."""

import numpy as np

STANDS_OUT = 3.5
FEWEST = 10
"""Fewest values among which one can stand out."""
_PER_DEVIATION = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""


def distances(values: np.ndarray, *, least: float) -> np.ndarray:
    """(n,) how far each value lies above the median, in robust standard deviations; 0 for fewer than FEWEST.

    least: lower bound of the deviation, so that differences too small to matter do not stand out.
    """
    if len(values) < FEWEST:
        return np.zeros(len(values))
    above = values - np.median(values)
    return above / max(_PER_DEVIATION * float(np.median(np.abs(above))), least)
