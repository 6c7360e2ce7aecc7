"""Which parts the sentence in parts counts, for the page and the command line alike."""

from collections.abc import Sequence

import numpy as np


def counted_parts(good: np.ndarray, defect: np.ndarray, subsets: Sequence[str]) -> tuple[np.ndarray, np.ndarray, bool]:
    """(good parts, defects, whether the limit was set on these good parts), the first two (n,) bool.

    good, defect: (n,) bool; a part whose truth is unknown is neither. subsets: (n,) "calibrate", "choose", "judge" or
    "added". Good parts are those of `judge`; when there are none, those of `calibrate`. Defects used to choose settings
    do not count.
    """
    own = np.array(subsets, dtype=str)
    judge, calibrate = good & (own == "judge"), good & (own == "calibrate")
    shown = judge if judge.any() else calibrate
    return shown, defect & (own != "choose"), not (judge.any() and calibrate.any())
