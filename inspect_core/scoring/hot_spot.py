"""Where good parts themselves light up: at one place, or along the border of the picture."""

from dataclasses import dataclass

import cv2
import numpy as np

from inspect_core.scoring.anomaly_map import image_score

LEAST = 5
"""Maps, below which nothing is concluded."""
SHARE = 2 / 3
"""Of the maps, whose peaks have to lie there: by chance the border has so many of 6 maps in 1 of 38 cases."""
REACH = 0.08
"""Share of the shorter side: how far peaks of one place are from each other."""
BAND = 0.06
"""Share of the shorter side: how wide the border is."""
LARGEST = 0.25
"""Share of the picture, above which a place is too large to be ignored."""
DROP = 0.1
"""Share of its height above the rest of the map that a typical score has to lose without the place."""


@dataclass(frozen=True)
class HotSpot:
    """boxes: (left, top, right, bottom) in shares of width and height; peak_count: the number of maps that peak in one
    of them; at_border: whether it is the border rather than one place; score_drop: the share that the median score
    loses without it, measured from the median of the map.
    """

    boxes: tuple[tuple[float, float, float, float], ...]
    peak_count: int
    at_border: bool
    score_drop: float


def bright_place(maps: np.ndarray, *, limit: float, area: int) -> HotSpot | None:
    """The place where most of these maps of good parts, (n, H, W) finite, have their peak; None without one.

    limit: for review; area: the smallest that counts, by which the scores are computed.
    """
    if len(maps) < LEAST:
        return None
    size = maps.shape[1:]
    peaks = np.array([np.unravel_index(anomaly_map.argmax(), size) for anomaly_map in maps])
    reach, band = (share * min(size) for share in (REACH, BAND))
    near = np.hypot(*(peaks[:, None] - peaks[None]).transpose(2, 0, 1)) <= reach
    here = near[near.sum(axis=1).argmax()]
    ends = np.stack([peaks[:, 1], peaks[:, 0], size[1] - 1 - peaks[:, 1], size[0] - 1 - peaks[:, 0]], axis=1)
    outer = ends < band
    at_border = here.sum() < SHARE * len(maps)
    if at_border:
        here = outer.any(axis=1)
        if here.sum() < SHARE * len(maps):
            return None
        deep = round(band)
        high, wide = size
        sides = (0, 0, deep, high), (0, 0, wide, deep), (wide - deep, 0, wide, high), (0, high - deep, wide, high)
        nearest = set(np.where(outer[here], ends[here], np.inf).argmin(axis=1).tolist())
        boxes = [side for i, side in enumerate(sides) if i in nearest]
    else:
        spots = np.array([_around(maps[i], tuple(peaks[i]), limit) for i in np.flatnonzero(here)])
        boxes = [(*spots[:, :2].min(axis=0), *spots[:, 2:].max(axis=0))]
    window = np.zeros(size, bool)
    for left, top, right, bottom in boxes:
        window[top:bottom, left:right] = True
    rest = np.median(maps)
    with_it, without = (float(np.median(image_score(both, area=area))) for both in (maps, np.where(window, rest, maps)))
    drop = (with_it - without) / (with_it - rest) if with_it > rest else 0.0
    if window.mean() > LARGEST or drop < DROP:
        return None
    shares = (np.array(boxes) / (size[1], size[0], size[1], size[0])).tolist()
    in_shares = tuple((left, top, right, bottom) for left, top, right, bottom in shares)
    return HotSpot(in_shares, int(here.sum()), bool(at_border), float(drop))


def _around(anomaly_map: np.ndarray, peak: tuple[int, ...], limit: float) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) in pixels of the region around a peak above the limit, or above half its height
    over the map's median if that is lower.
    """
    above = anomaly_map >= min((anomaly_map[peak] + np.median(anomaly_map)) / 2, limit)
    _, labels, boxes, _ = cv2.connectedComponentsWithStats(above.view(np.uint8), connectivity=8)
    left, top, width, height = boxes[labels[peak]][:4]
    return left, top, left + width, top + height
