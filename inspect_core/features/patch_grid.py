"""The maps of several taps on one patch grid, projected on the way.

Averaging, projecting and interpolating are all linear and act on different axes, so their order is free. Every tap is
therefore reduced first, projected at the smaller of its own resolution and the grid's, and enlarged last: the grid with
all channels never exists.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from inspect_core.runtime.threads import map_on

ALIGNMENT = 64

POOLING = "in the graph: mean, zeros beyond the border"
"""How `pool` averages: part of the key of stored features."""


def join_taps(
    tap_maps: Sequence[Tensor | np.ndarray],
    *,
    grid: tuple[int, int] = (32, 32),
    projection: Tensor | np.ndarray | None = None,
    pool: int = 1,
    nearest: bool = False,
) -> Tensor:
    """One (n, h_l, w_l, d_l) map per tap as (n, h, w, d), under a projection (n, h, w, k); float32, same device.

    grid: (h, w). Along an axis where a tap has fewer cells it is interpolated linearly between half-pixel centres,
    the ends held, or with `nearest` its cells are repeated (the published setting for ResNets); where it has more,
    it is averaged: cell i takes the tap's cells floor(i h_l / h) to ceil((i + 1) h_l / h) - 1, which overlap by at
    most one cell when h does not divide h_l.
    projection: (d, k), its rows in the order of the taps' channels; None keeps all d of them, in that order.
    pool: odd side of the square of patches over which every patch is averaged at the end, 1 for none. Beyond the border
    counts as zero: at the border the network saw its own padding and patches vary more, and this keeps their distances
    from hiding those of true defects.
    On a CPU images are joined one at a time, so a row of the result does not depend, to the bit, on the others; on a
    GPU together, in the batches of one size in which its network gives them.
    Projecting each level before resizing is exact: W^T resize(x) = resize(W^T x).
    Raises ValueError when the maps, the projection, the grid or pool do not fit together.
    """
    maps = [_as_map(values, position) for position, values in enumerate(tap_maps)]
    _check(maps, grid, pool)
    rows = _rows(projection, maps)
    together = max(1, len(maps[0])) if maps[0].device.type == "cuda" else 1
    batches = ([values[i : i + together] for values in maps] for i in range(0, len(maps[0]), together))
    joined = [_join_batch(batch, rows, grid, pool, nearest) for batch in batches]
    if joined:
        return (torch.cat(joined) if len(joined) > 1 else joined[0]).contiguous()
    width = sum(values.shape[3] for values in maps) if rows is None else rows[0].shape[1]
    return torch.empty((0, *grid, width), device=maps[0].device)


def average_neighbours(patches: Tensor, pool: int) -> Tensor:
    """(n, h, w, k) averaged over `pool` x `pool` patches around each, `pool` odd; beyond the border is 0."""
    if pool == 1:
        return patches
    means = functional.avg_pool2d(patches.permute(0, 3, 1, 2), pool, stride=1, padding=pool // 2)
    return means.permute(0, 2, 3, 1)


def _join_batch(
    maps: list[Tensor], rows: list[Tensor] | None, grid: tuple[int, int], pool: int, nearest: bool
) -> Tensor:
    shrunk = [_shrink(values, grid) for values in maps]
    if rows is None:
        return average_neighbours(torch.cat([_grow(values, grid, nearest) for values in shrunk], dim=3), pool)
    # The taps share no sum until they are added, in their order.
    apply = map_on(maps[0].device)
    first, *others = apply(lambda level: _grow(_project(*level), grid, nearest), zip(shrunk, rows, strict=True))
    return average_neighbours(sum(others, start=first), pool)


def _shrink(values: Tensor, grid: tuple[int, int]) -> Tensor:
    """(n, h_l, w_l, d) averaged down to at most `grid`."""
    cells = (min(values.shape[1], grid[0]), min(values.shape[2], grid[1]))
    if cells == tuple(values.shape[1:3]):
        return values
    return functional.adaptive_avg_pool2d(values.permute(0, 3, 1, 2), cells).permute(0, 2, 3, 1)


def _grow(values: Tensor, grid: tuple[int, int], nearest: bool) -> Tensor:
    """(n, h_l, w_l, d) with at most as many cells as `grid`, interpolated up to it."""
    if tuple(values.shape[1:3]) == tuple(grid):
        return values
    mode, corners = ("nearest-exact", None) if nearest else ("bilinear", False)
    larger = functional.interpolate(values.permute(0, 3, 1, 2), grid, mode=mode, align_corners=corners)
    return larger.permute(0, 2, 3, 1)


def _project(values: Tensor, rows: Tensor) -> Tensor:
    """(n, h, w, d) @ (d, k)."""
    count, height, width, channels = values.shape
    return (aligned(values).reshape(-1, channels) @ rows).reshape(count, height, width, -1)


def aligned(values: Tensor) -> Tensor:
    """The same, in memory of its own unless it starts on a 64-byte boundary.

    The last bit of a matrix product may depend on it.
    """
    return values.clone() if values.data_ptr() % ALIGNMENT else values


def _as_map(values: Tensor | np.ndarray, position: int) -> Tensor:
    tensor = torch.from_numpy(np.ascontiguousarray(values)) if isinstance(values, np.ndarray) else values.detach()
    if tensor.ndim != 4:
        raise ValueError(f"tap_maps[{position}] has shape {tuple(tensor.shape)}; give (n, h, w, d), channels last")
    return tensor.float()


def _check(maps: list[Tensor], grid: tuple[int, int], pool: int) -> None:
    if not maps:
        raise ValueError("tap_maps is empty; give at least one (n, h, w, d) map")
    counts = [len(values) for values in maps]
    if len(set(counts)) != 1:
        raise ValueError(f"tap_maps holds {counts} images; give every tap of the same images")
    if len(grid) != 2 or any(side < 1 for side in grid):
        raise ValueError(f"grid is {grid}; give (rows, columns) of patches, each at least 1")
    if pool < 1 or pool % 2 == 0:
        raise ValueError(f"pool is {pool}; give an odd side, 1 for none or 3 for the patch and its neighbours")


def _rows(projection: Tensor | np.ndarray | None, maps: list[Tensor]) -> list[Tensor] | None:
    """The projection cut into the rows of each tap: float32 on the maps' device."""
    if projection is None:
        return None
    widths = [values.shape[3] for values in maps]
    columns = torch.as_tensor(projection).detach().to(maps[0].device, torch.float32)
    if columns.ndim != 2 or len(columns) != sum(widths):
        channels = f"the taps have {' + '.join(map(str, widths))} = {sum(widths)} channels"
        raise ValueError(f"projection has shape {tuple(columns.shape)}, {channels}; give (d, k) made for these taps")
    return [aligned(part) for part in columns.contiguous().split(widths)]
