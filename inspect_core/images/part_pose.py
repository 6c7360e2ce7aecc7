"""A photo whose part was found: the way between its pixels and those of the reference, and the one warp."""

import math
from dataclasses import dataclass, field

import cv2
import numpy as np

from inspect_core.images.boxes import Box

_EDGE = 1e-6  # pixels: rounding error of a whole number
_BAND = 32  # rows warped at a time


@dataclass(frozen=True, eq=False)
class PartPose:
    """Where the part of the reference lies in a photo.

    matrix: (2, 3) float64, from pixels (x, y) of the photo to pixels of the reference; photo_size, reference: (height,
    width) of both; correlation: with the reference, up to 1; share: of the matched features that lie in this pose, 0
    when it comes from phase correlation; visible: share of the reference that the photo covers; ambiguous: the part
    looks the same in another pose.
    """

    matrix: np.ndarray = field(repr=False)
    photo_size: tuple[int, int]
    reference: tuple[int, int]
    correlation: float
    share: float
    visible: float
    ambiguous: bool = False

    def to_reference(self, point: tuple[float, float]) -> tuple[float, float]:
        """(x, y) in pixels of the photo -> (x, y) in pixels of the reference; whole numbers are centres."""
        x, y = self.matrix @ (*point, 1)
        return float(x), float(y)

    def to_photo(self, point: tuple[float, float]) -> tuple[float, float]:
        """(x, y) in pixels of the reference -> (x, y) in pixels of the photo."""
        x, y = cv2.invertAffineTransform(self.matrix) @ (*point, 1)
        return float(x), float(y)

    @property
    def angle(self) -> float:
        """Degrees by which the part is turned clockwise from the reference, -180 to 180."""
        return -float(np.rad2deg(np.arctan2(self.matrix[1, 0], self.matrix[0, 0])))

    @property
    def scale(self) -> float:
        """Size of the part relative to the reference, when both photos are scaled to equal size."""
        return float(self.reference[0] / self.photo_size[0] / np.hypot(self.matrix[0, 0], self.matrix[1, 0]))

    @property
    def shift(self) -> tuple[float, float]:
        """How far right and down the middle of the part lies, in shares of the width and height of the reference."""
        height, width = self.reference
        x, y = self.to_photo(((width - 1) / 2, (height - 1) / 2))
        return (x + 0.5) / self.photo_size[1] - 0.5, (y + 0.5) / self.photo_size[0] - 0.5

    def squash(self, pixels: np.ndarray, size: tuple[int, int], ground: np.ndarray | None = None) -> np.ndarray:
        """The photo, (H, W, 3) uint8, as it lies over the reference, at size = (height, width): one warp.

        Each pixel is interpolated once; where the photo is finer, several are averaged. What the photo leaves empty
        shows the ground, a picture of the reference in uint8 of any size, or repeats the photo's edge.
        """
        # The warp is finer than `size` where it would skip pixels of the photo.
        fine = max(1, math.ceil(np.linalg.norm(self._to_photo(size)[:, :2], axis=0).max() - _EDGE))
        to_photo = self._to_photo((size[0] * fine, size[1] * fine))
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        bands = []
        for top in range(0, size[0], _BAND):
            height = min(_BAND, size[0] - top)
            from_top = np.column_stack([to_photo[:, :2], to_photo[:, 2] + top * fine * to_photo[:, 1]])
            finer = (size[1] * fine, height * fine)
            band = cv2.warpAffine(pixels, from_top, finer, flags=flags, borderMode=cv2.BORDER_REPLICATE)
            bands.append(cv2.resize(band, (size[1], height), interpolation=cv2.INTER_AREA) if fine > 1 else band)
        laid = np.concatenate(bands)
        if ground is not None and (empty := self.empty(size)).any():
            laid[empty] = cv2.resize(ground, size[::-1], interpolation=cv2.INTER_LINEAR)[empty]
        return laid

    def empty(self, size: tuple[int, int]) -> np.ndarray:
        """(height, width) bool: pixels of `squash` that the photo leaves empty, wholly or in part."""
        (ax, bx, cx), (ay, by, cy) = self._to_photo(size)
        x, y = np.arange(size[1] + 1) - 0.5, np.arange(size[0] + 1)[:, None] - 0.5
        across, down = ax * x + (bx * y + cx), ay * x + (by * y + cy)
        height, width = self.photo_size
        is_inside = (across >= -0.5 - _EDGE) & (across <= width - 0.5 + _EDGE)
        is_inside &= (down >= -0.5 - _EDGE) & (down <= height - 0.5 + _EDGE)
        return ~(is_inside[:-1, :-1] & is_inside[1:, :-1] & is_inside[:-1, 1:] & is_inside[1:, 1:])

    def box_in_photo(self, box: Box, size: tuple[int, int]) -> Box:
        """The smallest upright box of the photo's pixels that covers a box of `squash` at this size."""
        left, top, right, bottom = box
        corners = np.array([(x - 0.5, y - 0.5, 1) for x in (left, right) for y in (top, bottom)])
        x, y = self._to_photo(size) @ corners.T + 0.5
        height, width = self.photo_size
        first = np.clip(np.floor([x.min() + _EDGE, y.min() + _EDGE]), 0, (width - 1, height - 1)).astype(int)
        last = np.clip(np.ceil([x.max() - _EDGE, y.max() - _EDGE]), first + 1, (width, height)).astype(int)
        return (*first.tolist(), *last.tolist())

    def area_in_photo(self, area: int, size: tuple[int, int]) -> int:
        """An area in pixels of `squash` at this size, converted to pixels of the photo; at least 1."""
        return max(1, round(area * abs(float(np.linalg.det(self._to_photo(size)[:, :2])))))

    def mask(self, mask: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        """A mask of the photo, (H, W) bool, as on `squash` at size = (height, width): nearest pixel, bool.

        False where the photo leaves it empty.
        """
        flags = cv2.INTER_NEAREST | cv2.WARP_INVERSE_MAP
        return cv2.warpAffine(mask.astype(np.uint8), self._to_photo(size), size[::-1], flags=flags) > 0

    def over_photo(self, values: np.ndarray, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """Values on `squash`, (h, w) float32, as they lie over the photo drawn at size = (height, width).

        Also where there are any, (height, width) bool; elsewhere the values mean nothing.
        """
        to_photo = np.vstack([resized(size, self.photo_size), [0, 0, 1]])
        from_drawn = cv2.invertAffineTransform(self._to_photo(values.shape)) @ to_photo
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        drawn = cv2.warpAffine(values, from_drawn, size[::-1], flags=flags, borderMode=cv2.BORDER_REPLICATE)
        y, x = np.mgrid[: size[0], : size[1]]
        at = np.tensordot(from_drawn, np.stack([x, y, np.ones_like(x)]), axes=1)
        height, width = values.shape
        is_inside = (np.abs(2 * at[0] + 1 - width) <= width) & (np.abs(2 * at[1] + 1 - height) <= height)
        return drawn, is_inside

    def _to_photo(self, size: tuple[int, int]) -> np.ndarray:
        """(2, 3): from pixels of `squash` at this size to pixels of the photo."""
        back = cv2.invertAffineTransform(self.matrix)
        return back @ np.vstack([resized(size, self.reference), [0, 0, 1]])


def resized(size: tuple[int, int], other: tuple[int, int]) -> np.ndarray:
    """(2, 3): from pixels (x, y) of a picture of this (height, width) to those at the other."""
    across, down = other[1] / size[1], other[0] / size[0]
    return np.array([[across, 0, (across - 1) / 2], [0, down, (down - 1) / 2]])
