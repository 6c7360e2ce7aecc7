"""From a photo to its patch features: squash, backbone, projection, grid. One path for teaching and inspecting."""

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from inspect_core.features.backbones import Backbone
from inspect_core.features.patch_grid import POOLING, join
from inspect_core.images.read import squash
from inspect_core.package.arrays import photo_bytes


def published_with_nearest(backbone: str) -> bool:
    """Whether the papers' settings for this backbone repeat the cells of coarse taps: those of the ResNets do."""
    return "resnet" in backbone


@dataclass(frozen=True, eq=False)
class Preparation:
    """Everything between the pixels of one photo and its patch features.

    grid: (h, w) patches; projection: (d, k) float32 columns applied to the d joined channels, None keeps all d;
    pool: side of the neighbourhood that is averaged, 1 or 3; nearest: repeat coarse taps instead of interpolating.
    One photo goes through at a time, so its features never depend on its neighbours.
    """

    backbone: Backbone
    grid: tuple[int, int] = (32, 32)
    projection: np.ndarray | None = None
    pool: int = 1
    nearest: bool = False

    @property
    def width(self) -> int:
        """Features of one patch."""
        return sum(self.backbone.tap_channels) if self.projection is None else self.projection.shape[1]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(1, h, w, k): the patch features of one photo."""
        return (1, *self.grid, self.width)

    @property
    def bytes_per_photo(self) -> int:
        """Size of the patch features of one photo in float32."""
        return 4 * math.prod(self.shape)

    @property
    def work_bytes(self) -> int:
        """Memory that one photo takes on its way through the network and the detector."""
        return photo_bytes(self.backbone.size, self.grid, self.width)

    @cached_property
    def key(self) -> str:
        """A digest of everything that decides the features, to key stored ones."""
        backbone = self.backbone
        parts = (backbone.name, backbone.taps, backbone.weight_digest, backbone.size, backbone.engine)
        shape = hashlib.sha256(repr((parts, self.grid, self.pool, POOLING, self.nearest)).encode())
        if self.projection is not None:
            shape.update(np.ascontiguousarray(self.projection, np.float32).tobytes())
        return shape.hexdigest()

    def features(self, pixels: np.ndarray) -> torch.Tensor:
        """(H, W, 3) uint8 RGB of any size -> (1, h, w, k) float32 on the backbone's device."""
        return self._join(self.backbone.tap_maps(squash(pixels, self.backbone.size)[None]))

    def describe(self, pixels: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(`features`, embedding (1, d), logits (1, c)) of one photo in one run of the network.

        The features are equal to the bit to those of `features`, which stops at the last tap and is quicker. Raises
        ValueError for a network that does not end in a linear layer.
        """
        maps, embedding, logits = self.backbone.describe(squash(pixels, self.backbone.size)[None])
        return self._join(maps), embedding, logits

    def _join(self, maps: tuple[torch.Tensor, ...]) -> torch.Tensor:
        return join(maps, grid=self.grid, projection=self._columns, pool=self.pool, nearest=self.nearest)

    @cached_property
    def _columns(self) -> torch.Tensor | None:
        if self.projection is None:
            return None
        return torch.from_numpy(np.ascontiguousarray(self.projection, np.float32)).to(self.backbone.device)
