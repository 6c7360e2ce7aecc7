"""Outlines of what stands out on a map, whether or not it is above a limit."""

import cv2
import numpy as np

from inspect_core.images.areas import MOST_POINTS, Outline

HEIGHT = 0.5
"""Share of the way from the level of good parts to a peak."""


def outlines_of(mask: np.ndarray) -> list[Outline]:
    """The outer rims of the parts of a mask, (H, W) bool, the largest first, as corners of at most MOST_POINTS."""
    rims, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    return [_outline(rim, mask.shape) for rim in sorted(rims, key=cv2.contourArea, reverse=True)]


def peak_outlines(anomaly_map: np.ndarray, level: float, *, most: int) -> list[Outline]:
    """The outlines of what reaches HEIGHT of the way from the level to the highest peak of a map, (H, W), in order.

    level: of good parts; a map that stays below it has none. Raises ValueError for a map that is not finite.
    """
    if not np.isfinite(anomaly_map).all():
        raise ValueError("anomaly_map is not finite; see why the photo has no score")
    peak = float(anomaly_map.max())
    if peak <= level:
        return []
    count, parts = cv2.connectedComponents((anomaly_map > level + HEIGHT * (peak - level)).astype(np.uint8))
    peaks = [float(anomaly_map[parts == part].max()) for part in range(1, count)]
    highest = 1 + np.argsort(-np.array(peaks), kind="stable")[:most]
    return [outlines_of(parts == part)[0] for part in highest]


def _outline(rim: np.ndarray, size: tuple[int, ...]) -> Outline:
    """Corners in shares of a picture of this (height, width); a rim runs through the middles of its pixels."""
    step = 0.5
    while len(points := cv2.approxPolyDP(rim, step, closed=True)[:, 0]) > MOST_POINTS:
        step *= 2
    if len(points) < 3:
        x, y, width, height = cv2.boundingRect(rim)
        points = np.array([(x - 0.5, y - 0.5), (x + width - 0.5, y - 0.5), (x + width - 0.5, y + height - 0.5),
                           (x - 0.5, y + height - 0.5)])  # fmt: skip
    shares = np.clip((points + 0.5) / (size[1], size[0]), 0, 1)
    return tuple((float(x), float(y)) for x, y in shares)
