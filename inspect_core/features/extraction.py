"""From a photo to its patch features: squash, backbone, projection, grid. One path for teaching and inspecting."""

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from inspect_core.features.backbones import Backbone
from inspect_core.features.patch_grid import POOLING, join
from inspect_core.images.alignment import Alignment
from inspect_core.images.placement import Placement, place
from inspect_core.images.read import squash
from inspect_core.package.arrays import photo_bytes


def embed(pixels: np.ndarray, backbone: Backbone) -> np.ndarray:
    """(d,) float32 penultimate features of a picture, (H, W, 3) uint8 RGB of any size."""
    return backbone.embed(squash(pixels, backbone.size)[None])[0].cpu().numpy()


def published_with_nearest(backbone: str) -> bool:
    """Whether the papers' settings for this backbone repeat the cells of coarse taps: those of the ResNets do."""
    return "resnet" in backbone


@dataclass(frozen=True, eq=False)
class Look:
    """What one detector sees of a patch.

    taps: names of the network's taps; projection: (d, k) float32 columns applied to their d joined channels, None keeps
    all d; pool: side of the neighbourhood that is averaged, 1 or 3.
    """

    taps: tuple[str, ...]
    projection: np.ndarray | None = None
    pool: int = 1

    @cached_property
    def columns(self) -> Tensor | None:
        """The projection as a tensor in memory of its own, which is aligned for matrix products."""
        return None if self.projection is None else torch.tensor(np.ascontiguousarray(self.projection, np.float32))

    @cached_property
    def digest(self) -> str:
        """Of everything in it."""
        parts = hashlib.sha256(repr((self.taps, self.pool)).encode())
        if self.projection is not None:
            parts.update(np.ascontiguousarray(self.projection, np.float32).tobytes())
        return parts.hexdigest()


@dataclass(frozen=True, eq=False)
class Preparation:
    """Everything between the pixels of one photo and its patch features, for all detectors in one run of the network.

    grid: (h, w) patches; looks: one for each detector; nearest: repeat coarse taps instead of interpolating; alignment:
    over whose reference photos are laid, None takes them as they are.
    One photo goes through at a time, so its features never depend on its neighbours.
    """

    backbone: Backbone
    grid: tuple[int, int]
    looks: tuple[Look, ...]
    nearest: bool = False
    alignment: Alignment | None = None

    def place(self, pixels: np.ndarray) -> Placement:
        """How a photo, (H, W, 3) uint8 RGB, is looked at. Raises NotLocated when its part is not found."""
        return place(pixels, self.alignment)

    @cached_property
    def shapes(self) -> tuple[tuple[int, int, int, int], ...]:
        """(1, h, w, k) for each look: the patch features of one photo."""
        channels = dict(zip(self.backbone.taps, self.backbone.tap_channels, strict=True))
        return tuple(
            (
                1,
                *self.grid,
                sum(channels[tap] for tap in look.taps) if look.projection is None else look.projection.shape[1],
            )
            for look in self.looks
        )

    @property
    def bytes_per_photo(self) -> int:
        """Size of the patch features of one photo in float32."""
        return 4 * sum(map(math.prod, self.shapes))

    @property
    def work_bytes(self) -> int:
        """Memory that one photo takes on its way through the network and the detectors."""
        return photo_bytes(self.backbone.size, self.grid, sum(shape[-1] for shape in self.shapes))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """For each look a digest of everything that decides its features, to key stored ones."""
        backbone = self.backbone
        run = (backbone.name, backbone.taps, backbone.weight_digest, backbone.size, backbone.engine)
        shared = repr((run, self.grid, POOLING, self.nearest, self.alignment and self.alignment.digest))
        return tuple(hashlib.sha256(f"{shared} {look.digest}".encode()).hexdigest() for look in self.looks)

    def features(self, pixels: np.ndarray, placement: Placement | None = None) -> tuple[Tensor, ...]:
        """(H, W, 3) uint8 RGB of any size -> (1, h, w, k) float32 for each look, on the backbone's device.

        placement: of the photo, looked for when not given. Raises NotLocated as `place`.
        """
        return self._join(self.backbone.tap_maps(self.picture(pixels, placement)[None]))

    def describe(
        self, pixels: np.ndarray, placement: Placement | None = None
    ) -> tuple[tuple[Tensor, ...], np.ndarray, np.ndarray]:
        """(`features`, embedding (1, d), logits (1, c)) of one photo in one run of the network.

        The features are equal to the bit to those of `features`, which stops at the last tap and is quicker. Raises
        ValueError for a network that does not end in a linear layer, and NotLocated.
        """
        maps, embedding, logits = self.backbone.describe(self.picture(pixels, placement)[None])
        return self._join(maps), embedding.cpu().numpy(), logits.cpu().numpy()

    def picture(self, pixels: np.ndarray, placement: Placement | None = None) -> np.ndarray:
        """(height, width, 3) uint8: a photo as the network sees it, otherwise as `features`."""
        return (placement or self.place(pixels)).at(pixels, self.backbone.size)

    def _join(self, maps: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        by_tap = dict(zip(self.backbone.taps, maps, strict=True))
        return tuple(
            join(
                [by_tap[tap] for tap in look.taps],
                grid=self.grid,
                projection=look.columns,
                pool=look.pool,
                nearest=self.nearest,
            )
            for look in self.looks
        )
