"""A recipe that inspects many photos on the CPU does so by the graph of its export, written in the background."""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

import numpy as np

from inspect_core.features.backbones import Backbone
from inspect_core.features.onnx_graph import store, use_cached
from inspect_core.recipe import LoadedRecipe, Recipe, loaded_backbone
from inspect_core.recipe_format import golden_images, recipe_package
from inspect_core.recipe_format.photo_inspector import PlacedPhoto
from inspect_core.recipe_io import line_network, recipe_file
from inspect_core.runner import ExportedModel
from inspect_core.runtime import workspace
from inspect_core.runtime.threads import cores
from inspect_core.scoring.anomaly_map import image_score

AFTER = 100
"""Photos after which it pays to write the graph, which takes a process of its own some ten seconds."""


class FusedRecipe(LoadedRecipe):
    """A saved recipe that goes over to one graph for everything from the photo to the map.

    source: where the recipe lies. The graph is kept in the workspace by the recipe's digest. The first photo that it
    sees is seen by the detectors too: if their scores differ by more than those of an export may, it is not used.
    Methods without a graph, and networks on a GPU, stay as they are.
    """

    def __init__(self, recipe: Recipe, backbone: Backbone, source: Path, *, after: int = AFTER) -> None:
        super().__init__(recipe, backbone)
        self._source = source
        self._after = after
        self._lock = Lock()
        self._model: ExportedModel | None = None
        self._writer: subprocess.Popen | None = None
        self._asked, self._looked, self._proved = 0, False, False
        if backbone.device.type != "cpu" or not all(view.definition.exportable for view in recipe.views):
            self._after = sys.maxsize

    def compute_maps(self, photos: Sequence[PlacedPhoto], *, head: bool) -> list[Sequence[np.ndarray]]:
        model = self._fused()
        if model is None:
            return super().compute_maps(photos, head=head)
        results = model.compute_maps(photos, head=head)
        if not self._proved:
            known = super().compute_maps(photos[:1], head=head)
            scores = [float(image_score(first[0][0], area=self.area)) for first in (known, results)]
            if not golden_images.difference(*scores) <= golden_images.tolerance(self.good_scores, self.limits):
                self._model = None
                self._after = sys.maxsize
                return super().compute_maps(photos, head=head)
            self._proved = True
        return results

    def _fused(self) -> ExportedModel | None:
        """The graph's model, None as long as there is none; begins to write it when it is worth while."""
        with self._lock:
            if self._model is not None or self._after == sys.maxsize:
                return self._model
            self._asked += 1
            if not self._looked or (self._writer is not None and self._writer.poll() is not None):
                self._model, self._looked = _stored_model(self.recipe), True
                if self._writer is not None and self._model is None:
                    self._after = sys.maxsize  # it could not be written
            elif self._writer is None and self._asked > self._after:
                command = [sys.executable, "-m", "inspect_core.recipe_io.fused_recipe", str(self._source.resolve())]
                none = subprocess.DEVNULL
                self._writer = subprocess.Popen(command, stdin=none, stdout=none, stderr=none)
            return self._model


def _identity(recipe: Recipe, name: str) -> tuple[str | None, ...]:
    return "recipe", recipe.digest, name


def _cache() -> Path:
    return workspace.root() / "onnx"


def _stored_model(recipe: Recipe) -> ExportedModel | None:
    """The model of the graphs that are kept for a recipe."""
    names = [recipe_package.MODEL] if recipe.tiles is None else [recipe_package.MODEL, recipe_package.TILES_TO_MAP]
    graphs = {name: use_cached(_identity(recipe, name), lambda content: content, _cache()) for name in names}
    contents = {name: content for name, content in graphs.items() if content is not None}
    with suppress(ValueError):
        return ExportedModel(contents, threads=cores(), **recipe.facts | {"digest": recipe.digest})
    return None


def write(source: Path) -> None:
    """Export the graphs of the recipe at `source` and keep them. Raises as `recipe_file.load`, and OSError."""
    recipe = recipe_file.load(source)
    for name, content in line_network.export_graphs(recipe, loaded_backbone(recipe.backbone, "cpu")).items():
        store(_identity(recipe, name), content, _cache())


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(10)  # the photos come first
    write(Path(sys.argv[1]))
