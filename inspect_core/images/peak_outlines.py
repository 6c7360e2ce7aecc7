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
    """The outlines of the highest peaks of a map, (H, W), each at HEIGHT above the level, the highest first.

    level: of good parts; a map that stays below it has none, and a peak counts that reaches HEIGHT of the highest.
    Raises ValueError for a map that is not finite.
    """
    if not np.isfinite(anomaly_map).all():
        raise ValueError("anomaly_map is not finite; see why the photo has no score")
    remaining = anomaly_map.astype(np.float64)
    lowest = level + HEIGHT * max(float(remaining.max()) - level, 0.0)
    outlines: list[Outline] = []
    while len(outlines) < most and (peak := float(remaining.max())) > lowest:
        row, column = np.unravel_index(int(remaining.argmax()), remaining.shape)
        _, parts = cv2.connectedComponents((remaining > level + HEIGHT * (peak - level)).astype(np.uint8))
        part = parts == parts[row, column]
        outlines += outlines_of(part)[:1]
        remaining[part] = level
    return outlines


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
