"""Whether a grey picture is the colour mosaic of a sensor, one colour a pixel, that no file says it is."""

import numpy as np

_DIFFERENT = 0.04  # least difference of the four phases' means, as a share of their mean
_ALIKE = 0.25  # most difference of the two greens, as a share of that


def is_mosaic(grey: np.ndarray) -> bool:
    """Whether pixels of even and odd rows and columns, (H, W), differ all over as behind a Bayer filter: the two
    greens on a diagonal alike, red and blue apart from them.
    """
    even = grey[: grey.shape[0] // 2 * 2, : grey.shape[1] // 2 * 2]
    height, width = even.shape
    if min(height, width) < 16:
        return False
    quarters = (slice(0, height // 4 * 2), slice(height // 4 * 2, height))
    halves = (slice(0, width // 4 * 2), slice(width // 4 * 2, width))
    ways = {_pattern(even[rows, columns]) for rows in quarters for columns in halves}
    return len(ways) == 1 and None not in ways


def _pattern(part: np.ndarray) -> tuple[int, ...] | None:
    """Which diagonal is green and how the others lie to it; None for pixels without such a pattern."""
    means = np.array([[part[row::2, column::2].mean(dtype=np.float64) for column in (0, 1)] for row in (0, 1)])
    spread = float(np.ptp(means))
    if spread <= _DIFFERENT * means.mean():
        return None
    diagonals = {0: (means[0, 0], means[1, 1]), 1: (means[0, 1], means[1, 0])}
    green = min(diagonals, key=lambda way: abs(diagonals[way][0] - diagonals[way][1]))
    if abs(diagonals[green][0] - diagonals[green][1]) > _ALIKE * spread:
        return None
    middle = sum(diagonals[green]) / 2
    return (green, *(int(np.sign(value - middle)) for value in diagonals[1 - green]))
