"""From a photo to its patch features: squash, backbone, projection, grid. One path for teaching and inspecting."""

import contextlib
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

from inspect_core.features.backbones import Backbone
from inspect_core.features.patch_grid import POOLING, average_neighbours, join_taps
from inspect_core.features.store import FeatureStore
from inspect_core.images.alignment import Alignment
from inspect_core.images.boxes import Box, crop_square
from inspect_core.images.photo_reader import squash
from inspect_core.images.placement import Placement, place
from inspect_core.images.tiles import TilePlan
from inspect_core.recipe_format.arrays import photo_bytes
from inspect_core.scoring.anomaly_map import default_area


def embed(pixels: np.ndarray, backbone: Backbone) -> np.ndarray:
    """Return (d,) float32 penultimate features of a picture, (H, W, 3) uint8 RGB of any size."""
    return backbone.embed(squash(pixels, backbone.size)[None])[0].cpu().numpy()


def stored_embedding(
    digest: str,
    pixels: Callable[[], np.ndarray],
    backbone: Backbone,
    store: FeatureStore,
    box: Box | None = None,
    alignment: Alignment | None = None,
) -> np.ndarray:
    """As `embed`, of the photo with this digest or of the square around a box on it, from the store if it is there.

    pixels: returns its (H, W, 3) uint8 as placed, called only if they are not; alignment: by which it is laid over a
    reference, None as it was taken. Raises what `pixels` raises.
    """
    parts = (backbone.name, backbone.weight_digest, backbone.size, backbone.engine, box, alignment and alignment.digest)
    key = f"{digest}-{hashlib.sha256(repr(parts).encode()).hexdigest()}-embedding"
    embedding = store.get(key, (backbone.embedding_width,))
    if embedding is None:
        embedding = embed(crop_square(pixels(), box), backbone)
        with contextlib.suppress(OSError):  # with a full disk it is computed again next time
            store.put(key, embedding)
    return embedding


def published_with_nearest(backbone: str) -> bool:
    """Return whether the papers' settings for this backbone repeat the cells of coarse taps (ResNets only)."""
    return "resnet" in backbone


@dataclass(frozen=True, eq=False)
class PatchFeatureSpec:
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
        """Digest of all its fields."""
        values = b"" if self.projection is None else np.ascontiguousarray(self.projection, np.float32).tobytes()
        return hashlib.sha256(repr((self.taps, self.pool)).encode() + values).hexdigest()


@dataclass(frozen=True, eq=False)
class FeatureExtractor:
    """Everything between the pixels of one photo and its patch features, for all detectors in one run of the network.

    grid: (h, w) patches; looks: one for each detector; nearest_upsampling: repeat coarse taps instead of interpolating;
    alignment: photos are laid over its reference, None takes them as they are; tiles: how large photos are cut, None
    squashes them to the network's input. One photo is processed at a time, so its features never depend on its
    neighbours. Raises ValueError for tiles of another grid, or of another size than the network's input.
    """

    backbone: Backbone
    grid: tuple[int, int]
    looks: tuple[PatchFeatureSpec, ...]
    nearest_upsampling: bool = False
    alignment: Alignment | None = None
    tiles: TilePlan | None = None

    def __post_init__(self) -> None:
        if self.tiles is not None and (self.tiles.grid, self.tiles.tile) != (tuple(self.grid), self.backbone.size):
            network_geometry = f"the network takes {self.backbone.size} px, and the grid is {tuple(self.grid)}"
            raise ValueError(f"tiles of {self.tiles.tile} px give a grid of {self.tiles.grid}; {network_geometry}")

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) to which a photo is squashed before the network sees it, whole or in tiles."""
        return self.backbone.size if self.tiles is None else self.tiles.size

    @property
    def map_size(self) -> tuple[int, int]:
        """(height, width) of the anomaly map."""
        return self.backbone.size if self.tiles is None else self.tiles.map_size

    @property
    def default_area(self) -> int:
        """The smallest area that counts unless chosen otherwise, in pixels of the map."""
        return default_area(self.map_size) if self.tiles is None else self.tiles.default_area

    @property
    def untiled(self) -> Self:
        """The same for photos that are squashed to the network's input, on the grid of a tile."""
        return self if self.tiles is None else replace(self, grid=self.tiles.tile_grid, tiles=None)

    def place(self, pixels: np.ndarray) -> Placement:
        """Return how a photo, (H, W, 3) uint8 RGB, is looked at. Raises NotLocated when its part is not found."""
        return place(pixels, self.alignment)

    @cached_property
    def shapes(self) -> tuple[tuple[int, int, int, int], ...]:
        """(1, h, w, k) for each look: the patch features of one photo."""
        channels = dict(zip(self.backbone.taps, self.backbone.tap_channels, strict=True))
        joined = (sum(channels[tap] for tap in spec.taps) for spec in self.looks)
        projected = (None if spec.projection is None else spec.projection.shape[1] for spec in self.looks)
        return tuple((1, *self.grid, d if k is None else k) for d, k in zip(joined, projected, strict=True))

    @property
    def bytes_per_photo(self) -> int:
        """Size of the patch features of one photo in float32."""
        return 4 * sum(map(math.prod, self.shapes))

    @property
    def work_bytes(self) -> int:
        """Bytes of memory that one photo takes in the network and the detectors."""
        return photo_bytes(self.backbone.size, self.grid, sum(shape[-1] for shape in self.shapes), self.tiles)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """For each look a digest of everything that determines its features: the key of stored ones."""
        backbone = self.backbone
        run = (backbone.name, backbone.weight_digest, backbone.size, backbone.engine)
        shared = repr(
            (run, self.grid, POOLING, self.nearest_upsampling, self.alignment and self.alignment.digest, self.tiles)
        )
        return tuple(hashlib.sha256(f"{shared} {spec.digest}".encode()).hexdigest() for spec in self.looks)

    @cached_property
    def embedding_key(self) -> str:
        """Digest of everything that determines the embedding of a whole photo: its key, as those of `keys`."""
        backbone = self.backbone
        parts = (backbone.name, backbone.weight_digest, backbone.size, backbone.engine)
        return hashlib.sha256(f"{parts} {self.alignment and self.alignment.digest} whole".encode()).hexdigest()

    def features(self, pixels: np.ndarray, placement: Placement | None = None) -> tuple[Tensor, ...]:
        """Return (H, W, 3) uint8 RGB of any size -> (1, h, w, k) float32 for each look, on the backbone's device.

        placement: of the photo; found by `place` when not given. Raises NotLocated as `place`.
        """
        return self.features_of_input(self.network_input(pixels, placement))

    def features_of_input(self, picture: np.ndarray) -> tuple[Tensor, ...]:
        """Return the features of what `network_input` returns.

        Neighbours of tiles are averaged last, over the whole grid: within a tile the average would take in cells
        beside the cut.
        """
        if (plan := self.tiles) is None:
            return self._join(self.backbone.tap_maps(picture[None]))
        whole = tuple(torch.empty(shape, device=self.backbone.device) for shape in self.shapes)
        grid = plan.tile_grid

        def see(tiles: np.ndarray) -> list[Tensor]:
            maps = self.backbone.tap_maps(tiles)
            return [self._joined(spec, maps, grid) for spec in self.looks]

        plan.fill(whole, picture, see, at_once=self.backbone.at_once)
        return tuple(
            average_neighbours(cells, spec.pool).contiguous() for spec, cells in zip(self.looks, whole, strict=True)
        )

    def describe(
        self, pixels: np.ndarray, placement: Placement | None = None, picture: np.ndarray | None = None
    ) -> tuple[tuple[Tensor, ...], np.ndarray, np.ndarray]:
        """Return (`features`, embedding (1, d), logits (1, c)) of one photo; both of the whole photo, also with tiles.

        picture: of `network_input`, when already made. The features are equal to the bit to those of `features`, which
        stops at the last tap and is quicker. Raises NotLocated, and ValueError for a network without a last linear
        layer.
        """
        placement = placement or self.place(pixels)
        picture = self.network_input(pixels, placement) if picture is None else picture
        whole = picture if self.tiles is None else self.whole_network_input(pixels, placement)
        maps, embedding, logits = self.backbone.describe(whole[None])
        features = self._join(maps) if self.tiles is None else self.features_of_input(picture)
        return features, embedding.cpu().numpy(), logits.cpu().numpy()

    def network_input(self, pixels: np.ndarray, placement: Placement | None = None) -> np.ndarray:
        """Return (height, width, 3) uint8: a photo as the network sees it, whole or in tiles; else as `features`."""
        return (placement or self.place(pixels)).render(pixels, self.size)

    def whole_network_input(self, pixels: np.ndarray, placement: Placement | None = None) -> np.ndarray:
        """Return (height, width, 3) uint8: a photo at the network's input, also with tiles; otherwise as `features`."""
        return (placement or self.place(pixels)).render(pixels, self.backbone.size)

    def _join(self, maps: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(self._joined(spec, maps, self.grid, pool=spec.pool) for spec in self.looks)

    def _joined(
        self, spec: PatchFeatureSpec, maps: tuple[Tensor, ...], grid: tuple[int, int], *, pool: int = 1
    ) -> Tensor:
        by_tap = dict(zip(self.backbone.taps, maps, strict=True))
        spec_maps = [by_tap[tap] for tap in spec.taps]
        return join_taps(spec_maps, grid=grid, projection=spec.columns, pool=pool, nearest=self.nearest_upsampling)
