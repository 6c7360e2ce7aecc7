"""Values on a grid of the plane, and the lines along which they are equal.

A box is (left, bottom, right, top); a grid's first row lies at the bottom.
"""

import numpy as np

Box = tuple[float, float, float, float]
COLUMNS = 64
_CORNERS = ((0, 0), (0, 1), (1, 1), (1, 0))


def grid(box: Box, columns: int = COLUMNS) -> np.ndarray:
    """(rows, columns, 2): places from border to border of a box, as far apart upwards as across."""
    left, bottom, right, top = box
    return places((max(2, round((columns - 1) * (top - bottom) / (right - left)) + 1), columns), box)


def places(shape: tuple[int, ...], box: Box) -> np.ndarray:
    """(rows, columns, 2): where values of that shape lie in a box."""
    left, bottom, right, top = box
    rows, columns = shape
    return np.stack(np.meshgrid(np.linspace(left, right, columns), np.linspace(bottom, top, rows)), axis=-1)


def isoline(values: np.ndarray, box: Box, level: float = 0.0) -> np.ndarray:
    """Where (rows, columns) values on a box's grid pass a level: (k, 2, 2), pieces from place to place.

    One piece for each cell that the line crosses, two at a saddle, with straight lines between corners (marching
    squares). Values that are not finite count as lying above.
    """
    above = ~(values <= level)
    finite = np.nan_to_num(values - level, posinf=1e30, neginf=-1e30)
    at = places(values.shape, box)
    corners = [(slice(i, len(values) - 1 + i), slice(j, values.shape[1] - 1 + j)) for i, j in _CORNERS]
    crossed, crossings = [], []
    for corner, other in zip(corners, corners[1:] + corners[:1], strict=True):
        crossed.append(above[corner] != above[other])
        apart = finite[corner] - finite[other]
        share = finite[corner] / np.where(apart == 0, 1, apart)
        crossings.append(at[corner] + share[..., None] * (at[other] - at[corner]))
    # A cell is crossed on 0, 2 or 4 of its sides, so the sides met in order pair up within their cell.
    return np.stack(crossings, axis=2)[np.stack(crossed, axis=2)].reshape(-1, 2, 2)


def beyond(scores: np.ndarray, limit: float) -> np.ndarray:
    """Scores as shares from -1, their least, over 0, the limit, to 1, their largest: float64, same shape."""
    low = min(float(scores.min()), limit)
    high = max(float(scores.max()), limit)
    below, above = limit - low or 1.0, high - limit or 1.0
    excess = scores - limit
    return np.where(excess > 0, excess / above, excess / below)
