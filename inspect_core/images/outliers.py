"""Which values stand out from most of the others (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993)."""

import numpy as np

STANDS_OUT = 3.5
FEWEST = 10
"""Values from which one can be said to stand out."""
_PER_DEVIATION = 1.4826
"""Standard deviations of a normal distribution in its median absolute deviation, inverted."""


def distances(values: np.ndarray, *, least: float) -> np.ndarray:
    """(n,) how far each value lies above the median, in robust standard deviations; 0 for fewer than FEWEST.

    least: taken for the deviation when that is smaller, so that no difference stands out that does not matter.
    """
    if len(values) < FEWEST:
        return np.zeros(len(values))
    above = values - np.median(values)
    return above / max(_PER_DEVIATION * float(np.median(np.abs(above))), least)
