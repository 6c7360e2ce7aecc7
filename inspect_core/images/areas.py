"""Areas drawn on a part: only these inspected, ignored, or judged more strictly than the rest."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

import cv2
import numpy as np

from inspect_core.images.alignment import Alignment
from inspect_core.runtime.json_record import Least, list_of, number, one_of

AreaMode = Literal["inspect", "ignore", "stricter"]
MODES: tuple[AreaMode, ...] = ("inspect", "ignore", "stricter")
MAX_AREAS = 50
"""Areas of a part."""
MOST_POINTS = 200
"""Points of an outline."""
STRICTEST = 100.0
"""How many times as strict as the rest an area can be."""
Outline = tuple[tuple[float, float], ...]
"""Corners (x, y) in shares of the width and height of a picture, 0 to 1."""
_PARTS = 8  # bits of a pixel's fraction that OpenCV draws with


def filled(outline: Outline, size: tuple[int, int]) -> np.ndarray:
    """(height, width) bool: pixels of a picture of this size that an outline covers or touches."""
    points = np.array(outline) * size[::-1] - 0.5
    drawn = np.zeros(size, np.uint8)
    cv2.fillPoly(drawn, [np.round(points * 2**_PARTS).astype(np.int32)], 1, shift=_PARTS)
    return drawn > 0


@dataclass(frozen=True)
class InspectionArea:
    """outline: on the picture that it was drawn on; strictness: factor of the map inside a stricter area (the limit
    divided by the area's own limit), 1 for the others.
    """

    mode: Annotated[AreaMode, one_of(*MODES)]
    outline: Annotated[Outline, list_of(list_of(number(0, 1), least=2), least=3)]
    strictness: Annotated[float, number(1, STRICTEST)] = 1.0

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"an area is {self.mode!r}; it must be one of {', '.join(MODES)}")
        if not 3 <= len(self.outline) <= MOST_POINTS or any(len(point) != 2 for point in self.outline):
            raise ValueError(f"the outline of an area has {len(self.outline)} corners; give 3 to {MOST_POINTS}")
        if not all(0 <= share <= 1 for point in self.outline for share in point):
            raise ValueError("the outline of an area leaves the picture; its corners are shares from 0 to 1")
        if not 1 <= self.strictness <= STRICTEST or (self.mode != "stricter" and self.strictness != 1):
            raise ValueError(f"an area has strictness {self.strictness}; use 1 to {STRICTEST:g}")

    def mask(self, size: tuple[int, int]) -> np.ndarray:
        """(height, width) bool: pixels of a map of this size that it covers or touches."""
        return filled(self.outline, size)


@dataclass(frozen=True)
class InspectionAreas:
    """reference: digest of the alignment on whose reference they were drawn, "" for photos as they are taken.

    Raises ValueError for no area and for more than MAX_AREAS.
    """

    areas: Annotated[tuple[InspectionArea, ...], Least(1)]
    reference: str = ""

    def __post_init__(self) -> None:
        if not 1 <= len(self.areas) <= MAX_AREAS:
            raise ValueError(f"there are {len(self.areas)} areas; draw 1 to {MAX_AREAS}")

    def weights(self, size: tuple[int, int]) -> np.ndarray:
        """(height, width) float32, read-only: the factors of a map of this size, 0 where it is not inspected.

        Inspected: what the areas to inspect cover (everything if there are none), except what an area to ignore covers.
        Where stricter areas overlap, the strictest counts.
        """
        return _weights(self.areas, size)

    def check(self, size: tuple[int, int], alignment: Alignment | None, *, least: int) -> None:
        """Raise ValueError for another reference, an area without a pixel of the map, and fewer than `least` left."""
        if self.reference != (alignment.digest if alignment else ""):
            raise ValueError("the areas were drawn on another reference; draw them again on this one")
        for place, area in enumerate(self.areas, start=1):
            if not area.mask(size).any():
                raise ValueError(f"area {place} covers nothing; draw it larger, or remove it")
        inspected = inspected_pixels(size, self, alignment)
        if inspected < least:
            few = f"fewer than the smallest area that counts ({least})"
            raise ValueError(f"the areas leave {inspected} pixels of the map to inspect, {few}; ignore a smaller area")


def inspected_pixels(size: tuple[int, int], areas: InspectionAreas | None, alignment: Alignment | None) -> int:
    """The pixels of a map of this size that are inspected on a photo that shows all of the part."""
    known = np.ones(size, bool) if alignment is None else alignment.known(size)
    return int(np.count_nonzero(known if areas is None else known & (areas.weights(size) > 0)))


@lru_cache(maxsize=8)
def _weights(areas: tuple[InspectionArea, ...], size: tuple[int, int]) -> np.ndarray:
    inspected = [area.mask(size) for area in areas if area.mode == "inspect"]
    weights = np.where(np.any(inspected, axis=0), 1, 0) if inspected else np.ones(size)
    weights = weights.astype(np.float32)
    for area in areas:
        if area.mode == "stricter":
            pixels = area.mask(size) & (weights > 0)
            weights[pixels] = np.maximum(weights[pixels], np.float32(area.strictness))
        elif area.mode == "ignore":
            weights[area.mask(size)] = 0
    weights.flags.writeable = False
    return weights
