"""What runs on the line, as one network: uint8 RGB at the network's size in, the calibrated map out.

The parameters in force are part of it and nothing else is: with k = 20 of a fit with k = 100 it holds and computes the
first 20 rows of every factor.
"""

import io
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from inspect_core.features.backbones import Backbone
from inspect_core.features.tapped_network import TappedNetwork
from inspect_core.judge.anomaly_map import SIGMA, pixel_operator
from inspect_core.judge.local_scale import LocalScale
from inspect_core.methods.graphs import constant
from inspect_core.recipe import Recipe
from inspect_core.runtime.graph import EMBEDDING, IMAGES, LOGITS, MAP
from inspect_core.view import View

OPSET = 20


class ViewErrors(nn.Module):
    """Errors (n, h, w) of one view from the maps at its taps, channels first."""

    def __init__(self, view: View, value: int, channels: Sequence[int], grid: tuple[int, int], nearest: bool) -> None:
        super().__init__()
        self.grid, self.pool = tuple(grid), view.look.pool
        self.mode = {"mode": "nearest-exact"} if nearest else {"mode": "bilinear", "align_corners": False}
        projection = None if view.look.projection is None else torch.tensor(view.look.projection)
        columns, self.head = view.row.graph(view.detector, projection, value)
        parts = () if columns is None else columns.detach().cpu().float().split(list(channels))
        self.kernels = nn.ParameterList(nn.Parameter(part.T[:, :, None, None].contiguous(), False) for part in parts)

    def forward(self, maps: Sequence[Tensor]) -> Tensor:
        levels = [self._level(position, values) for position, values in enumerate(maps)]
        joined = torch.stack(levels).sum(0) if self.kernels else torch.cat(levels, dim=1)
        if self.pool > 1:
            joined = functional.avg_pool2d(joined, self.pool, stride=1, padding=self.pool // 2)
        return self.head(joined)

    def _level(self, position: int, values: Tensor) -> Tensor:
        """As `patch_grid.join`: smaller first, projected, larger last."""
        cells = (min(values.shape[2], self.grid[0]), min(values.shape[3], self.grid[1]))
        if cells != tuple(values.shape[2:]):
            values = functional.adaptive_avg_pool2d(values, cells)
        if self.kernels:
            values = functional.conv2d(values, self.kernels[position])
        return values if cells == self.grid else functional.interpolate(values, self.grid, **self.mode)


class LineNetwork(nn.Module):
    """(n, H, W, 3) uint8 -> the calibrated map (n, H, W) float32 and, when asked for, embedding and logits."""

    rows: Tensor
    columns: Tensor

    def __init__(self, recipe: Recipe, network: TappedNetwork, channels: Sequence[int]) -> None:
        super().__init__()
        self.network = network
        self.places = [[network.taps.index(tap) for tap in view.look.taps] for view in recipe.views]
        self.views = nn.ModuleList(
            ViewErrors(view, view.value(recipe.live), [channels[i] for i in places], recipe.grid, recipe.nearest)
            for view, places in zip(recipe.views, self.places, strict=True)
        )
        scales = [view.scales.get(view.value(recipe.live)) for view in recipe.views]
        for number, scale in enumerate(scales):
            level, gain, centre = _affine(scale, recipe.grid, alone=len(scales) == 1)
            constant(self, **{f"level_{number}": level, f"gain_{number}": gain, f"centre_{number}": centre})
        sides = zip(recipe.grid, recipe.backbone.size, strict=True)
        rows, columns = (pixel_operator(cells, pixels, sigma=SIGMA) for cells, pixels in sides)
        constant(self, rows=torch.from_numpy(rows).float(), columns=torch.from_numpy(columns.T).float())

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        maps = self.network(images)
        calibrated = []
        for number, (view, places) in enumerate(zip(self.views, self.places, strict=True)):
            level, gain, centre = (getattr(self, f"{name}_{number}") for name in ("level", "gain", "centre"))
            calibrated.append(level + gain * (view([maps[place] for place in places]) - centre))
        return self.rows @ torch.stack(calibrated).sum(0) @ self.columns, *maps[len(self.network.taps) :]


def exported(recipe: Recipe, backbone: Backbone) -> bytes:
    """The recipe's network as ONNX: fixed opset, any batch, no external data, no operators but the standard ones.

    Its outputs are "map" and, when product check or defect types are in the recipe, "embedding" and "logits".
    """
    head = recipe.guard is not None or recipe.defect_types is not None
    network = LineNetwork(recipe, backbone.copied(head=head), backbone.tap_channels).eval()
    # With one image the exporter would fix the batch at one.
    example = torch.zeros((2, *recipe.backbone.size, 3), dtype=torch.uint8)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            network, (example,), input_names=[IMAGES], output_names=[MAP, EMBEDDING, LOGITS][: 3 if head else 1],
            opset_version=OPSET, dynamic_shapes=({0: torch.export.Dim("n", min=1)},), dynamo=True,
            external_data=False, verbose=False,
        )  # fmt: skip
    buffer = io.BytesIO()
    program.save(buffer)
    return buffer.getvalue()


def _affine(scale: LocalScale | None, grid: tuple[int, int], *, alone: bool) -> tuple[Tensor, Tensor, Tensor]:
    """level, gain and centre that `judge.local_scale.joined` applies to the errors of one view."""
    if scale is None:
        return torch.zeros(()), torch.ones(()), torch.zeros(())
    level = torch.tensor(scale.level if alone else 0.0, dtype=torch.float32)
    gain = scale.gain if alone else scale.gain * np.float32(1 / scale.spread)
    return level, torch.from_numpy(gain), torch.from_numpy(scale.centre)
