"""Large photos by tiles: how a photo is cut into overlapping tiles, and which cells of the grid each tile gives.

The photo is squashed once to a working size. Every tile, as large as the network's input, goes through the same network
and is joined on cells of its own; cells next to a neighbour, where the network saw its own padding, are left out. So
every cell of the whole photo comes from exactly one tile, and always from the same place in it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np

from inspect_core.images.shape import Size
from inspect_core.runtime.json_record import ELSEWHERE, multiple_of, one_of, pair, whole
from inspect_core.runtime.wording import pluralise

STEP = 32  # pixels: tiles lie at multiples of the networks' largest stride, so that each sees a cell in the same phase
CELLS = (8, 16, 32)  # sides of a cell, pixels at the working size
MAP_PIXELS = 8  # side of a cell on the anomaly map, as on a grid of 32 × 32 at 256 pixels
LARGEST_AREA = 128  # pixels of the map, two cells: the smallest area that counts is at most this
LARGEST_SIDE = 16384  # of the working size, pixels
SEEN = 16  # pixels of a defect that a network can tell from the variation of good parts
USUAL_K = 50
"""Features per place if memory allows."""
WANTED_K = 32
"""The number that cells are chosen for."""
LEAST_K = 20
"""The least useful number."""
LARGEST_FACTORS = 256 * 10**6  # bytes for the factors of a detector that learns every place


class Tile(NamedTuple):
    """top, left: first pixel at the working size; cells: rows and columns of the grid that it gives; local_cells: the
    same cells within the tile's own grid.
    """

    top: int
    left: int
    cells: tuple[slice, slice]
    local_cells: tuple[slice, slice]


@dataclass(frozen=True)
class TilePlan:
    """Where the tiles of a photo lie; lengths in pixels of the working size.

    size: (height, width) to which a photo is squashed; tile: (height, width) of a tile, the network's input; overlap:
    of neighbours, at least; cell: side of a cell. Raises ValueError for a size or tile that is no multiple of STEP or
    out of range, an overlap that is no multiple of 2 STEP or leaves nothing of a tile, a cell not among CELLS.
    """

    size: Annotated[Size, pair(multiple_of(STEP))]
    tile: Annotated[Size, ELSEWHERE] = (256, 256)
    overlap: Annotated[int, whole(0)] = 2 * STEP
    cell: Annotated[int, one_of(*CELLS)] = STEP

    def __post_init__(self) -> None:
        for side, tile in zip(self.size, self.tile, strict=True):
            if side % STEP or tile % STEP or not 0 < tile <= side <= LARGEST_SIDE:
                remedy = f"multiples of {STEP}, a tile that is not larger than the photo, and at most {LARGEST_SIDE} px"
                raise ValueError(f"photos of {_sides(self.size)} in tiles of {_sides(self.tile)}: give {remedy} a side")
        if self.overlap % (2 * STEP) or not 0 <= self.overlap < min(self.tile):
            raise ValueError(f"overlap is {self.overlap} px; give a multiple of {2 * STEP} below {min(self.tile)}")
        if self.cell not in CELLS:
            raise ValueError(f"cell is {self.cell} px; choose one of {', '.join(map(str, CELLS))}")

    @property
    def grid(self) -> Size:
        """(rows, columns) of cells of the whole photo."""
        return self.size[0] // self.cell, self.size[1] // self.cell

    @property
    def tile_grid(self) -> Size:
        """(rows, columns) of cells of one tile."""
        return self.tile[0] // self.cell, self.tile[1] // self.cell

    @property
    def map_size(self) -> Size:
        """(height, width) of the anomaly map."""
        return self.grid[0] * MAP_PIXELS, self.grid[1] * MAP_PIXELS

    @property
    def default_area(self) -> int:
        """The smallest area that counts unless chosen otherwise, in pixels of the map: that of a defect of SEEN."""
        return min(LARGEST_AREA, (SEEN * MAP_PIXELS // self.cell) ** 2)

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        """All tiles, row by row. Together they give every cell of the grid once."""
        rows, columns = (self._along(axis) for axis in (0, 1))
        return tuple(Tile(y, x, (down, across), (of_y, of_x)) for y, down, of_y in rows for x, across, of_x in columns)

    def _along(self, axis: int) -> list[tuple[int, slice, slice]]:
        """Along one axis: first pixel of each tile, the cells that it gives, and those within the tile.

        Tiles are spread evenly, so that all neighbours overlap alike; the border is in the middle of their overlap.
        """
        side = self.size[axis]
        tile = self.tile[axis]
        cell = self.cell
        free, step = (side - tile) // STEP, (tile - self.overlap) // STEP
        last = -(-free // step)
        starts = [STEP * (free * number // max(last, 1)) for number in range(last + 1)]
        borders = [0, *((first + tile + second) // 2 // cell for first, second in pairwise(starts)), side // cell]
        return [
            (start, slice(low, high), slice(low - start // cell, high - start // cell))
            for start, (low, high) in zip(starts, pairwise(borders), strict=True)
        ]

    def cut(self, picture: np.ndarray, tile: Tile) -> np.ndarray:
        """A tile (h, w, 3) of a picture (H, W, 3) at the working size, as a view."""
        return picture[tile.top : tile.top + self.tile[0], tile.left : tile.left + self.tile[1]]

    def fill(
        self,
        whole: Sequence[Any],
        pictures: Sequence[np.ndarray],
        see: Callable[[np.ndarray], Iterable[Any]],
        *,
        at_once: int = 1,
    ) -> None:
        """Fill arrays or tensors (n, h, w, k) of the whole grids of n pictures, some tiles after the other, so that
        only the kept cells of each tile take memory that grows with the photo.

        see: from (m, H, W, 3) uint8 tiles to their cells (m, h, w, k) for each of `whole`; at_once: largest m.
        """
        cuts = ((number, picture, tile) for number, picture in enumerate(pictures) for tile in self.tiles)
        while batch := list(islice(cuts, at_once)):
            features = see(np.stack([self.cut(picture, tile) for _, picture, tile in batch]))
            for grids, of_tiles in zip(whole, features, strict=True):
                for (number, _, tile), cells in zip(batch, of_tiles, strict=True):
                    grids[number][tile.cells] = cells[tile.local_cells]

    @property
    def largest_k(self) -> int:
        """Features of a place for which the factors of all places take LARGEST_FACTORS."""
        return int((LARGEST_FACTORS / (4 * self.grid[0] * self.grid[1])) ** 0.5)

    @property
    def k(self) -> int:
        """Features of a place unless chosen otherwise."""
        return min(USUAL_K, self.largest_k)

    def sentence(self) -> str:
        """A sentence for the user: how a photo is cut, and how much can be learned per place."""
        rows, columns = self.grid
        return (
            f"Each photo is resized to {_sides(self.size)} and split into {pluralise(len(self.tiles), 'tile')} of "
            f"{_sides(self.tile)}, on {columns} × {rows} cells of {self.cell} px; k is at most {self.largest_k}."
        )

    def require(self, k: int) -> None:
        """Raise ValueError with the figure when the factors of k features at every place are too large."""
        if k > self.largest_k:
            rows, columns = self.grid
            takes = f"k = {k} at {rows} × {columns} locations takes {4e-06 * rows * columns * k * k:,.0f} MB of factors"
            allowed = f"at most {LARGEST_FACTORS // 10**6} MB are allowed; use k = {self.largest_k} or larger cells"
            raise ValueError(f"{takes}, {allowed}")


def proposed(
    photo: Size, smallest_defect: float | None = None, *, tile: Size = (256, 256), cell: int | None = None
) -> TilePlan:
    """The plan for photos of (height, width) in which a defect of so many pixels matters.

    The photo is reduced until this defect has SEEN pixels; without one it keeps its size. cell: None takes the finest
    that allows WANTED_K features at every place. Overlap: a quarter of a tile. Raises ValueError, with the figure, for
    cells that leave fewer than LEAST_K.
    """
    fraction = 1.0 if smallest_defect is None else min(1.0, SEEN / smallest_defect)
    height, width = (
        max(side_of_tile, STEP * round(side * fraction / STEP)) for side, side_of_tile in zip(photo, tile, strict=True)
    )
    overlap = 2 * STEP * max(1, min(tile) // (8 * STEP))
    plans = [TilePlan((height, width), tile, overlap, side) for side in (CELLS if cell is None else (cell,))]
    plan = next((plan for plan in plans if plan.largest_k >= WANTED_K), plans[-1])
    plan.require(LEAST_K)
    return plan


def smallest_seen(photo: Size, size: Size) -> int:
    """The pixels of a (height, width) photo that a defect needs to be seen when squashed to `size`."""
    return math.ceil(SEEN * max(side / input_side for side, input_side in zip(photo, size, strict=True)))


def recommendation(photo: Size, smallest_defect: float, size: Size) -> tuple[bool, str]:
    """Whether tiles help for photos of (height, width), otherwise squashed to `size`, and why, in a sentence."""
    left = smallest_defect * min(input_side / side for side, input_side in zip(photo, size, strict=True))
    reason = (
        f"A defect of {smallest_defect:g} px is {left:.2g} px after resizing to {_sides(size)}; at least {SEEN} px "
        "is needed"
    )
    return left < SEEN, f"{reason}: {'use tiles' if left < SEEN else 'tiles are not needed'}."


def _sides(size: Size) -> str:
    """Width by height, as users write it."""
    return f"{size[1]} × {size[0]} px"
