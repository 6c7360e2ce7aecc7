"""The network that runs on the line: uint8 RGB at the network's size in, the calibrated map out; for large photos in
tiles two networks, one for a tile and one for all cells.

The graph of the backbone is the one that the app runs. What follows its taps contains the parameters in force and
nothing else: with k = 20 of a fit with k = 100, the first 20 rows of every factor.
"""

from collections.abc import Sequence

import numpy as np
import onnx
import torch
from onnx import compose
from torch import Tensor, nn
from torch.nn import functional

from inspect_core.features.backbones import Backbone
from inspect_core.features.onnx_graph import graph_of
from inspect_core.features.patch_join import PatchFeatureSpec, PatchJoin
from inspect_core.methods.graphs import constant
from inspect_core.recipe import Recipe
from inspect_core.recipe_format import recipe_package
from inspect_core.runtime.graph import EMBEDDING, LOGITS, MAP, cells_of
from inspect_core.scoring.anomaly_map import SIGMA, pixel_operator
from inspect_core.scoring.local_scale import LocalScale

AFTER_TAPS = "line/"
"""Begins the names of what follows the taps, which differ from those of any network by it."""


class Calibration(nn.Module):
    """What `scoring.local_scale` makes of the errors (n, h, w) of a view, one of several unless `is_single`."""

    level: Tensor
    gain: Tensor
    centre: Tensor

    def __init__(self, scale: LocalScale | None, *, is_single: bool) -> None:
        super().__init__()
        scale = scale or LocalScale(np.zeros((1, 1), np.float32), np.ones((1, 1), np.float32), 0.0, 1.0)
        unit = 1.0 if is_single else 1 / scale.spread
        level = torch.tensor(scale.level if is_single else 0.0, dtype=torch.float32)
        gain = torch.from_numpy(scale.gain * np.float32(unit))
        constant(self, level=level, gain=gain, centre=torch.from_numpy(scale.centre))
        self.photo_level, self.reach = unit * scale.photo_level, unit * scale.reach
        self.tolerated = unit * scale.tolerated

    def forward(self, errors: Tensor) -> Tensor:
        deviations = self.gain * (errors - self.centre)
        if self.tolerated:
            deviations = (deviations - self.tolerated).clamp_min(0)
        if self.reach:
            flat = deviations.flatten(1)
            median = flat.topk(flat.shape[1] - flat.shape[1] // 2, dim=1).values[:, -1, None, None]
            deviations = deviations - (median - self.photo_level).clamp(-self.reach, self.reach)
        return self.level + deviations


class MapHead(nn.Module):
    """The cells of each distinct look (n, k, h, w) -> the calibrated map (n, H, W) float32.

    places: which of them each view of the recipe sees; heads: what each makes of them.
    """

    rows: Tensor
    columns: Tensor

    def __init__(self, recipe: Recipe, heads: Sequence[nn.Module], places: Sequence[int]) -> None:
        super().__init__()
        self.places = list(places)
        self.pools = [view.spec.pool for view in recipe.views]
        self.heads = nn.ModuleList(heads)
        scales = [view.scales.get(view.value(recipe.live_values)) for view in recipe.views]
        self.scales = nn.ModuleList(Calibration(scale, is_single=len(scales) == 1) for scale in scales)
        sides = zip(recipe.grid, recipe.map_size, strict=True)
        rows, columns = (pixel_operator(cells, pixels, sigma=SIGMA) for cells, pixels in sides)
        constant(self, rows=torch.from_numpy(rows).float(), columns=torch.from_numpy(columns.T).float())

    def forward(self, looks: Sequence[Tensor]) -> Tensor:
        calibrated = []
        for place, pool, head, scale in zip(self.places, self.pools, self.heads, self.scales, strict=True):
            cells = looks[place]
            if pool > 1:
                cells = functional.avg_pool2d(cells, pool, stride=1, padding=pool // 2)
            calibrated.append(scale(head(cells)))
        return self.rows @ torch.stack(calibrated).sum(0) @ self.columns


def export_graphs(recipe: Recipe, backbone: Backbone) -> dict[str, bytes]:
    """The recipe's network as ONNX, by file name: fixed opset, no external data, standard operators.

    backbone: on the CPU.
    One graph takes any number of photos: its outputs are "map" and, when product check or defect types are in the
    recipe, "embedding" and "logits". With tiles it takes any number of them and gives the cells that the views see
    instead, "cells_0" and so on, and a second graph takes those of the whole photo and gives the map.
    """
    head = [EMBEDDING, LOGITS] if recipe.product_check is not None or recipe.defect_types is not None else []
    tiles = recipe.tiles
    looks = []
    heads = []
    for view in recipe.views:
        projection = None if view.spec.projection is None else torch.tensor(view.spec.projection)
        columns, errors = view.definition.graph(view.detector, projection, view.value(recipe.live_values))
        looks.append(PatchFeatureSpec(view.spec.taps, None if columns is None else columns.detach().cpu().numpy()))
        heads.append(errors)
    grid = recipe.grid if tiles is None else tiles.tile_grid
    join = PatchJoin(tuple(looks), grid, recipe.nearest_upsampling)
    network = backbone.graph(head=bool(head), join=join, channels_last=False)
    cells = tuple(torch.zeros((2, width, *recipe.grid)) for width in join.widths(backbone.channels))
    following = graph_of(MapHead(recipe, heads, join.places).eval(), cells, cells_of(len(cells)), [MAP])
    if tiles is None:
        return {recipe_package.MODEL: _joined(network, following, [MAP, *head])}
    return {recipe_package.MODEL: network, recipe_package.TILES_TO_MAP: following}


def _joined(network: bytes, following: bytes, outputs: Sequence[str]) -> bytes:
    """One graph of two, the inputs of the second by the names of outputs of the first; outputs: in order."""
    first, second = (onnx.load_from_string(content) for content in (network, following))
    taps = [tap.name for tap in second.graph.input]
    second = compose.add_prefix(second, AFTER_TAPS, rename_outputs=False)
    graph = compose.merge_graphs(first.graph, second.graph, [(tap, AFTER_TAPS + tap) for tap in taps])
    by_name = {output.name: output for output in graph.output}
    del graph.output[:]
    graph.output.extend(by_name[name] for name in outputs)
    first.graph.CopyFrom(graph)
    return first.SerializeToString()
