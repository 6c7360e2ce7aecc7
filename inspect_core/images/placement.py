"""How a photo is looked at: as it was taken, or as it lies over the reference of an alignment."""

from dataclasses import dataclass

import numpy as np

from inspect_core.images.alignment import Alignment
from inspect_core.images.part_pose import PartPose
from inspect_core.images.photo_reader import squash


@dataclass(frozen=True, eq=False)
class Placement:
    """photo_size: (height, width) of the photo as taken; pose: where its part lies, on the reference of the alignment.

    Without these two it does nothing: the photo is looked at as it was taken.
    """

    photo_size: tuple[int, int]
    pose: PartPose | None = None
    alignment: Alignment | None = None

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) of `picture`."""
        return self.pose.reference if self.pose else self.photo_size

    def picture(self, pixels: np.ndarray) -> np.ndarray:
        """(H, W, 3) uint8: the photo as looked at; over the reference, at the size of the good photos."""
        return self.render(pixels, self.size) if self.pose else pixels

    def render(self, pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        """(height, width, 3) uint8: `picture` interpolated once; the reference where the photo ends."""
        ground = self.alignment.reference if self.alignment else None
        return self.pose.squash(pixels, size, ground) if self.pose else squash(pixels, size)

    def mask(self, mask: np.ndarray) -> np.ndarray:
        """A mask of the photo, (H, W) bool, as it lies on `picture`."""
        return self.pose.mask(mask, self.size) if self.pose else mask

    def outside_mask(self, size: tuple[int, int]) -> np.ndarray:
        """(height, width) bool: pixels of a map of this size that the photo does not show."""
        return self.pose.empty(size) if self.pose else np.zeros(size, bool)

    def known(self, size: tuple[int, int]) -> np.ndarray:
        """(height, width) bool: pixels shown by enough good photos to know how they should look."""
        return self.alignment.known(size) if self.alignment else np.ones(size, bool)

    def uninspected_mask(self, size: tuple[int, int]) -> np.ndarray:
        """(height, width) bool: pixels of a map of this size that are not inspected: outside, or not known."""
        return self.outside_mask(size) | ~self.known(size)

    def over_photo(self, values: np.ndarray) -> np.ndarray:
        """Values of a map, (h, w) float32, over the photo as taken, at the size of the map; 0 where they end."""
        if self.pose is None:
            return values
        drawn, is_inside = self.pose.over_photo(values, values.shape)
        return np.where(is_inside, drawn, np.float32(0))

    def mask_over_photo(self, mask: np.ndarray) -> np.ndarray:
        """A mask of a map, (h, w) bool, over the photo as taken, at its own size; True where the map ends."""
        if self.pose is None:
            return mask
        drawn, is_inside = self.pose.over_photo(mask.astype(np.float32), mask.shape)
        return (drawn > 0.5) | ~is_inside


AS_TAKEN = Placement((1, 1))  # for a verdict or a photo of which nothing but the map is asked


def place(pixels: np.ndarray, alignment: Alignment | None) -> Placement:
    """The placement of a photo, (H, W, 3) uint8 RGB. Raises NotLocated where the alignment finds no part."""
    return Placement(pixels.shape[:2], alignment.locate_or_raise(pixels) if alignment else None, alignment)
