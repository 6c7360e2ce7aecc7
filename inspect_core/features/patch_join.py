"""From the maps at a network's taps to the patches that detectors see: on a CPU part of the network's own graph, so
that nothing wider than what is seen leaves it, on a GPU by torch. What the app runs is what an export contains.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from inspect_core.features.patch_grid import join_taps
from inspect_core.runtime.graph import cells_of


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
class PatchJoin:
    """The patches of one photo or tile as every detector sees them, on one grid.

    looks: one for each detector; grid: (h, w) patches; nearest_upsampling: repeat coarse taps instead of interpolating.
    """

    looks: tuple[PatchFeatureSpec, ...]
    grid: tuple[int, int]
    nearest_upsampling: bool = False

    @cached_property
    def digest(self) -> str:
        """Digest of everything that determines the patches, given the maps."""
        parts = [spec.digest for spec in self.distinct]
        return hashlib.sha256(repr((parts, tuple(self.grid), self.nearest_upsampling)).encode()).hexdigest()

    @cached_property
    def distinct(self) -> tuple[PatchFeatureSpec, ...]:
        """The looks, each once: several detectors may see the same."""
        return tuple({spec.digest: spec for spec in self.looks}.values())

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The position among the distinct ones of each look."""
        digests = [spec.digest for spec in self.distinct]
        return tuple(digests.index(spec.digest) for spec in self.looks)

    @property
    def unpooled(self) -> Self:
        """The same without the averages over neighbours."""
        return replace(self, looks=tuple(replace(spec, pool=1) for spec in self.looks))

    def widths(self, channels: Mapping[str, int]) -> tuple[int, ...]:
        """Features of a patch under each distinct look; channels: of the map at each tap."""
        joined = (sum(channels[tap] for tap in spec.taps) for spec in self.distinct)
        projections = (spec.projection for spec in self.distinct)
        return tuple(d if part is None else part.shape[1] for d, part in zip(joined, projections, strict=True))

    def of_looks(self, patches: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The patches of each look, given those of each that is distinct."""
        return tuple(patches[place] for place in self.places)

    def of_maps(self, taps: Sequence[str], maps: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """(n, h, w, k) of each distinct look, from the (n, h_l, w_l, d_l) map at each of the network's taps."""
        by_tap = dict(zip(taps, maps, strict=True))
        grid, nearest = self.grid, self.nearest_upsampling
        return tuple(
            join_taps(
                [by_tap[tap] for tap in spec.taps], grid=grid, projection=spec.columns, pool=spec.pool, nearest=nearest
            )
            for spec in self.distinct
        )

    def graph(self, network: bytes, *, further: Sequence[str] = (), channels_last: bool = True) -> bytes:
        """The ONNX bytes of a network continued from its taps to the patches of every distinct look.

        Its outputs are called as `cells_of` names them, (n, h, w, k) or, without channels_last, (n, k, h, w), float32;
        further: outputs of the network that follow them. Smaller maps are projected before they are enlarged, larger
        ones averaged first, as `patch_grid.join_taps` does; equal to it but for rounding.
        """
        writer = _Writer(network)
        names = cells_of(len(self.distinct))
        for spec, name in zip(self.distinct, names, strict=True):
            writer.write(spec, self.grid, name, nearest=self.nearest_upsampling, channels_last=channels_last)
        return writer.content([*names, *further])


class _Writer:
    """Nodes after a network's outputs. Values are known by their names, their (d, h, w) by `shapes`."""

    def __init__(self, network: bytes) -> None:
        import onnx  # a PC at the line has none

        self._model = onnx.load_from_string(network)
        self._outputs = {output.name: output for output in self._model.graph.output}
        self._averaged: dict[str, str] = {}
        self._made = 0
        self.shapes = {
            name: tuple(side.dim_value for side in output.type.tensor_type.shape.dim[1:])
            for name, output in self._outputs.items()
        }

    def write(
        self, spec: PatchFeatureSpec, grid: tuple[int, int], name: str, *, nearest: bool, channels_last: bool
    ) -> None:
        """Write the patches that one detector sees, as the output of this name."""
        from onnx import TensorProto, helper

        levels = [self._averaged_down(tap, grid) for tap in spec.taps]
        width = sum(self.shapes[level][0] for level in levels)
        if spec.projection is not None:
            width = spec.projection.shape[1]
            starts = np.cumsum([self.shapes[level][0] for level in levels])[:-1]
            kernels = np.split(np.ascontiguousarray(spec.projection, np.float32).T[:, :, None, None], starts, axis=1)
            levels = [
                self._node("Conv", [level, self._constant(kernel)], (width, *self.shapes[level][1:]))
                for level, kernel in zip(levels, kernels, strict=True)
            ]
        levels = [self._enlarged(level, grid, nearest) for level in levels]
        joined = levels[0]
        if len(levels) > 1:
            operator, options = ("Concat", {"axis": 1}) if spec.projection is None else ("Sum", {})
            joined = self._node(operator, levels, (width, *grid), **options)
        if spec.pool > 1:
            around = {"kernel_shape": [spec.pool] * 2, "pads": [spec.pool // 2] * 4, "count_include_pad": 1}
            joined = self._node("AveragePool", [joined], (width, *grid), **around)
        operator, options = ("Transpose", {"perm": [0, 2, 3, 1]}) if channels_last else ("Identity", {})
        self._add(operator, [joined], name, options)
        sides = (*grid, width) if channels_last else (width, *grid)
        batch = next(iter(self._outputs.values())).type.tensor_type.shape.dim[0].dim_param
        self._outputs[name] = helper.make_tensor_value_info(name, TensorProto.FLOAT, (batch, *sides))

    def content(self, outputs: Sequence[str]) -> bytes:
        """The bytes of the graph with these outputs alone."""
        graph = self._model.graph
        del graph.output[:]
        graph.output.extend(self._outputs[name] for name in outputs)
        return self._model.SerializeToString()

    def _averaged_down(self, tap: str, grid: tuple[int, int]) -> str:
        """A map averaged to at most the grid: written once for all that see it."""
        if tap in self._averaged:
            return self._averaged[tap]
        channels, *sides = self.shapes[tap]
        cells = [min(side, cells) for side, cells in zip(sides, grid, strict=True)]
        averaged = tap
        if all(side % count == 0 for side, count in zip(sides, cells, strict=True)):
            if sides != cells:
                square = [side // count for side, count in zip(sides, cells, strict=True)]
                averaged = self._node("AveragePool", [tap], (channels, *cells), kernel_shape=square, strides=square)
        else:
            down, across = (_averages(count, side) for side, count in zip(sides, cells, strict=True))
            rows = self._node("MatMul", [self._constant(down), tap], (channels, cells[0], sides[1]))
            averaged = self._node("MatMul", [rows, self._constant(across.T)], (channels, *cells))
        self._averaged[tap] = averaged
        return averaged

    def _enlarged(self, level: str, grid: tuple[int, int], nearest: bool) -> str:
        channels, *cells = self.shapes[level]
        if tuple(cells) == tuple(grid):
            return level
        # torch's "nearest-exact" is ONNX's nearest between half-pixel centres, halves upwards.
        kind = {"mode": "nearest", "nearest_mode": "round_prefer_ceil"} if nearest else {"mode": "linear"}
        sizes = self._constant(np.array(grid, np.int64))
        options = {"axes": [2, 3], "coordinate_transformation_mode": "half_pixel", **kind}
        return self._node("Resize", [level, "", "", sizes], (channels, *grid), **options)

    def _node(self, operator: str, inputs: Sequence[str], shape: tuple[int, ...], **options: Any) -> str:
        name = self._name()
        self._add(operator, inputs, name, options)
        self.shapes[name] = shape
        return name

    def _add(self, operator: str, inputs: Sequence[str], name: str, options: dict[str, Any]) -> None:
        from onnx import helper

        self._model.graph.node.append(helper.make_node(operator, inputs, [name], **options))

    def _constant(self, values: np.ndarray) -> str:
        from onnx import numpy_helper

        name = self._name()
        self._model.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _name(self) -> str:
        self._made += 1
        return f"patches/{self._made}"


def _averages(cells: int, side: int) -> np.ndarray:
    """(cells, side) float32 that averages `side` values to `cells`, as torch's adaptive pooling does."""
    weights = np.zeros((cells, side), np.float32)
    for cell in range(cells):
        part = slice(cell * side // cells, -(-(cell + 1) * side // cells))
        weights[cell, part] = 1 / (part.stop - part.start)
    return weights
