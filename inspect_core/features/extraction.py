"""From a photo to its patch features: squash, backbone, projection, grid. One path for teaching and inspecting."""

import contextlib
import hashlib
import math
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from inspect_core.features.backbones import Backbone
from inspect_core.features.patch_grid import POOLING, aligned, average_neighbours
from inspect_core.features.patch_join import PatchFeatureSpec, PatchJoin
from inspect_core.features.store import FeatureStore
from inspect_core.images.alignment import Alignment
from inspect_core.images.boxes import Box, crop_square
from inspect_core.images.photo_reader import squash
from inspect_core.images.placement import Placement, place
from inspect_core.images.tiles import TilePlan
from inspect_core.recipe_format.arrays import photo_bytes
from inspect_core.runtime.ordered_pool import in_batches
from inspect_core.scoring.anomaly_map import default_area


def embed(pixels: np.ndarray, backbone: Backbone) -> np.ndarray:
    """(d,) float32 penultimate features of a picture, (H, W, 3) uint8 RGB of any size."""
    return backbone.embed(squash(pixels, backbone.size)[None])[0].cpu().numpy()


class Crop(NamedTuple):
    """A photo, or the square around a box on it, of which the embedding is asked for.

    digest: of the photo; pixels: returns its (H, W, 3) uint8 as placed.
    """

    digest: str
    pixels: Callable[[], np.ndarray]
    box: Box | None = None


def embeddings_of(
    crops: Iterable[Crop], backbone: Backbone, store: FeatureStore, alignment: Alignment | None = None
) -> Generator[np.ndarray]:
    """Yield `embed` of each crop, in their order, from the store where it is there; else pixels are asked for.

    alignment: by which photos are laid over a reference, None as they were taken. Raises what `pixels` raises.
    """

    def key_of(crop: Crop) -> str:
        network = backbone.name, backbone.weight_digest, backbone.size, backbone.engine
        parts = repr((*network, crop.box, alignment and alignment.digest))
        return f"{crop.digest}-{hashlib.sha256(parts.encode()).hexdigest()}-embedding"

    def read_or_cut(crop: Crop) -> tuple[str, np.ndarray]:
        """A key and what the network is to see, or no key and the embedding that is stored under it."""
        key = key_of(crop)
        stored = store.get(key, (backbone.embedding_width,))
        if stored is not None:
            return "", stored
        return key, squash(crop_square(crop.pixels(), crop.box), backbone.size)

    def compute(looked: list[tuple[str, np.ndarray]]) -> list[tuple[str, np.ndarray]]:
        pictures = [picture for key, picture in looked if key]
        embeddings = iter(backbone.embed(np.stack(pictures)).cpu().numpy() if pictures else ())
        return [(key, next(embeddings) if key else stored) for key, stored in looked]

    def keep(computed: tuple[str, np.ndarray]) -> np.ndarray:
        key, embedding = computed
        if key:
            with contextlib.suppress(OSError):  # with a full disk it is computed again next time
                store.put(key, embedding)
        return embedding

    return in_batches(read_or_cut, compute, keep, crops, at_once=backbone.at_once)


def rows_of(views: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
    """The features of each of n photos, (1, h, w, k) for each view, given (n, h, w, k) for each."""
    return [tuple(aligned(values[i : i + 1]) for values in views) for i in range(len(views[0]))] if views else []


def published_with_nearest(backbone: str) -> bool:
    """Whether the papers' settings for this backbone repeat the cells of coarse taps (ResNets only)."""
    return "resnet" in backbone


@dataclass(frozen=True, eq=False)
class FeatureExtractor:
    """Everything between the pixels of one photo and its patch features, for all detectors in one run of the network.

    grid: (h, w) patches; looks: one for each detector; nearest_upsampling: repeat coarse taps instead of interpolating;
    alignment: photos are laid over its reference, None takes them as they are; tiles: how large photos are cut, None
    squashes them to the network's input. A photo's features never depend on the others of its batch. Raises ValueError
    for tiles of another grid, or of another size than the network's input.
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
        """How a photo, (H, W, 3) uint8 RGB, is looked at. Raises NotLocated when its part is not found."""
        return place(pixels, self.alignment)

    @cached_property
    def shapes(self) -> tuple[tuple[int, int, int, int], ...]:
        """(1, h, w, k) for each look: the patch features of one photo."""
        widths = self.join.widths(self.backbone.channels)
        return tuple((1, *self.grid, widths[place]) for place in self.join.places)

    @property
    def bytes_per_photo(self) -> int:
        """Size of the patch features of one photo in float32."""
        return 4 * sum(map(math.prod, self.shapes))

    @property
    def work_bytes(self) -> int:
        """Bytes of memory that one photo takes in the network and the detectors."""
        return photo_bytes(self.backbone.size, self.grid, sum(shape[-1] for shape in self.shapes), self.tiles)

    @cached_property
    def join(self) -> PatchJoin:
        """From the network's maps to the patches of a photo, or of a tile, whose neighbours are averaged last."""
        if self.tiles is None:
            return PatchJoin(self.looks, self.grid, self.nearest_upsampling)
        return PatchJoin(self.looks, self.tiles.tile_grid, self.nearest_upsampling).unpooled

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
        """(H, W, 3) uint8 RGB of any size -> (1, h, w, k) float32 for each look, on the backbone's device.

        placement: of the photo; found by `place` when not given. Raises NotLocated as `place`.
        """
        return self.features_of_inputs([self.network_input(pixels, placement)])

    @property
    def at_once(self) -> int:
        """Photos that are best passed at once: their tiles fill a batch of the network."""
        tiles = 1 if self.tiles is None else len(self.tiles.tiles)
        return max(1, self.backbone.at_once // tiles)

    def features_of_inputs(self, pictures: Sequence[np.ndarray]) -> tuple[Tensor, ...]:
        """(n, h, w, k) float32 for each look, of n >= 1 pictures that `network_input` returns.

        Neighbours of tiles are averaged last, over the whole grid: within a tile the average would take in cells
        beside the cut.
        """
        if (plan := self.tiles) is None:
            return self.join.of_looks(self.backbone.run(np.stack(pictures), self.join))
        widths = self.join.widths(self.backbone.channels)
        whole = [torch.empty((len(pictures), *self.grid, width), device=self.backbone.device) for width in widths]
        plan.fill(whole, pictures, lambda tiles: self.backbone.run(tiles, self.join), at_once=self.backbone.at_once)
        cells = self.join.of_looks(whole)
        return tuple(
            average_neighbours(values, spec.pool).contiguous() for spec, values in zip(self.looks, cells, strict=True)
        )

    def describe(
        self, pictures: Sequence[np.ndarray], wholes: Sequence[np.ndarray]
    ) -> tuple[tuple[Tensor, ...], np.ndarray, np.ndarray]:
        """(`features_of_inputs`, embeddings (n, d), logits (n, c)) of n >= 1 photos.

        wholes: of `whole_network_input`, the pictures themselves without tiles: embedding and logits are of the whole
        photo. The features are equal to the bit to those of `features_of_inputs`, which stops at the last tap and is
        quicker. Raises ValueError for a network without a last linear layer.
        """
        if self.tiles is not None:
            _, embeddings, logits = self.backbone.describe(np.stack(wholes))
            return self.features_of_inputs(pictures), embeddings.cpu().numpy(), logits.cpu().numpy()
        *features, embeddings, logits = self.backbone.run(np.stack(pictures), self.join, head=True)
        return self.join.of_looks(features), embeddings.cpu().numpy(), logits.cpu().numpy()

    def network_input(self, pixels: np.ndarray, placement: Placement | None = None) -> np.ndarray:
        """(height, width, 3) uint8: a photo as the network sees it, whole or in tiles; else as `features`."""
        return (placement or self.place(pixels)).render(pixels, self.size)

    def whole_network_input(self, pixels: np.ndarray, placement: Placement | None = None) -> np.ndarray:
        """(height, width, 3) uint8: a photo at the network's input, also with tiles; otherwise as `features`."""
        return (placement or self.place(pixels)).render(pixels, self.backbone.size)
