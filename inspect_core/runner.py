"""Inspects with an exported recipe, on a PC without torch: NumPy, SciPy, Pillow, OpenCV and ONNX Runtime are enough.

The graph gives the map; everything after it (score, smallest area, limits, regions, verdict, product check, defect
types) is the same code as in the app.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inspect_core.images.photo_reader import read_bytes, squash
from inspect_core.images.tiles import TilePlan
from inspect_core.recipe_format import arrays, calibration_table, golden_images, recipe_package
from inspect_core.recipe_format.photo_inspector import USED, PhotoInspector, PlacedPhoto, read_facts
from inspect_core.recipe_format.recipe_package import RecipeError, recipe_errors
from inspect_core.runtime.graph import EMBEDDING, IMAGES, LOGITS, MAP, REFUSALS, InferenceSession, cells_of, session_of
from inspect_core.scoring.anomaly_map import AREA


class ExportedModel(PhotoInspector):
    """The graphs of an exported recipe, and everything that judges the map. Safe to use from several threads.

    graphs: model.onnx and, with tiles, tiles_to_map.onnx, by name; threads: of ONNX Runtime for one image, None for as
    many as there are cores; facts: fields of `PhotoInspector`. Raises ValueError for a graph that does not belong to
    this recipe, or that ONNX Runtime cannot use.
    """

    engine = "ONNX Runtime on the CPU"

    def __init__(self, graphs: Mapping[str, bytes], *, threads: int | None = None, **facts: Any) -> None:
        super().__init__(**facts)
        head = [] if self.product_check is None and self.defect_types is None else [EMBEDDING, LOGITS]
        outputs = [MAP]
        if self.tiles is not None:
            self._whole = _session(graphs, recipe_package.TILES_TO_MAP, threads)
            outputs = cells_of(len(self._whole.get_inputs()))
        self._session = _session(graphs, recipe_package.MODEL, threads)
        _require(self._session, recipe_package.MODEL, [(IMAGES, "tensor(uint8)", [*self.size, 3])], [*outputs, *head])
        if self.tiles is not None:
            widths = [output.shape[1] for output in self._session.get_outputs()[: len(outputs)]]
            cells = [(name, "tensor(float)", [k, *self.tiles.grid]) for name, k in zip(outputs, widths, strict=True)]
            _require(self._whole, recipe_package.TILES_TO_MAP, cells, [MAP])

    def compute_maps(self, photos: Sequence[PlacedPhoto], *, head: bool) -> list[Sequence[np.ndarray]]:
        return [self._outputs(photo, [EMBEDDING, LOGITS] if head else []) for photo in photos]

    def embed(self, picture: np.ndarray) -> np.ndarray:
        return self._run(squash(picture, self.size)[None], [EMBEDDING])[0][0]

    def _outputs(self, photo: PlacedPhoto, names: list[str]) -> Sequence[np.ndarray]:
        if self.tiles is None:
            anomaly_map, *further_outputs = self._run(photo.picture[None], [MAP, *names])
        else:
            anomaly_map = self._map_of_tiles(photo.picture, self.tiles)
            further_outputs = self._run(photo.whole[None], names) if names else []
        return anomaly_map[0], *further_outputs

    def _map_of_tiles(self, picture: np.ndarray, plan: TilePlan) -> np.ndarray:
        """(1, H, W): the first graph on each tile, the second on all cells, channels first."""
        whole = {entry.name: np.empty((1, *entry.shape[1:]), np.float32) for entry in self._whole.get_inputs()}

        plan.fill(
            [np.moveaxis(cells, 1, -1) for cells in whole.values()],
            [picture],
            lambda tiles: [np.moveaxis(cells, 1, -1) for cells in self._run(tiles, list(whole))],
        )
        return np.asarray(self._whole.run([MAP], whole)[0])

    def _run(self, pictures: np.ndarray, outputs: list[str]) -> list[np.ndarray]:
        return [np.asarray(output) for output in self._session.run(outputs, {IMAGES: pictures})]


class Runner(ExportedModel):
    """An exported recipe, proved on this PC: its files have their digests and its golden images their verdicts.

    release: the digest that the export must have, over all its files; None takes any.
    Raises RecipeError, naming file, reason and remedy, for a recipe that was not exported, is damaged or was changed,
    and when a golden image gets another verdict or score here than where it was exported.

    >>> Runner("line.zip").inspect(read("scratch.jpg").pixels).verdict
    'reject'
    """

    def __init__(self, path: str | os.PathLike[str], *, threads: int | None = None, release: str | None = None) -> None:
        self.path = Path(path)
        package = recipe_package.check(self.path)
        name, actual_release = self.path.name, package.release
        if release is not None and actual_release != release.strip().lower():
            raise RecipeError(f"{name}: its release is {actual_release}, not {release}; use the approved export")
        document = recipe_package.read_document(package, None)
        images = golden_images.read_table(package)
        calibration, _ = calibration_table.read_table(package, document)
        with recipe_errors(self.path, "its contents are inconsistent"):
            # What the graph replaces, and what stays behind, is not read.
            rest = document | {"views": [], "known_cases": None}
            graphs = {
                file: package.read(file)
                for file in (recipe_package.MODEL, recipe_package.TILES_TO_MAP)
                if file in package.sizes
            }
            header = {array: entry for array, entry in package.header.items() if array.split(".")[0] in USED}
            arrays.check(rest, header, {})
            parts = package.arrays(USED)
            arrays.check_values(rest, parts, {})
            facts = read_facts(document, parts, self.path) | {"digest": package.digest, "release": package.release}
            facts |= {"calibration_photos": calibration, "area": document["live_values"][AREA]}
            size = tuple(document["geometry"]["size"])
            super().__init__(graphs, threads=threads, size=size, **facts)
        self._prove(package, images)

    def _prove(self, package: recipe_package.Package, images: list[golden_images.GoldenImage]) -> None:
        most = golden_images.tolerance(self.good_scores, self.limits)
        for known in images:
            with recipe_errors(self.path, f"golden image {known.file} cannot be inspected"):
                verdict = self.inspect(read_bytes(package.read(known.file), known.file, self.depth).pixels)
            expected = known.verdict, known.reason, known.defect_type
            if (
                golden_images.verdict_key(verdict) != expected
                or not golden_images.difference(verdict.score, known.score) <= most
            ):
                raise RecipeError(
                    f"{self.path.name}: golden image {known.file} ({known.name}) gets "
                    f"{_words(golden_images.verdict_key(verdict))} with score {verdict.score} on this PC, but "
                    f"{_words(expected)} with score {known.score} at export. Do not inspect on this PC: install the "
                    "versions in requirements-line.txt, or export again here"
                )


def _session(graphs: Mapping[str, bytes], name: str, threads: int | None) -> InferenceSession:
    """The graph of that name. Raises ValueError when it is missing or unusable."""
    if name not in graphs:
        raise ValueError(f"{name} is missing")
    try:
        return session_of(graphs[name], threads=threads)
    except REFUSALS as error:
        raise ValueError(f"ONNX Runtime cannot use {name} ({error})") from error


def _require(session: InferenceSession, name: str, inputs: list[tuple], outputs: list[str]) -> None:
    """Raise ValueError when the graph of that name has other inputs or outputs."""
    actual = [(graph_input.name, graph_input.type, graph_input.shape[1:]) for graph_input in session.get_inputs()]
    if actual != inputs or [output.name for output in session.get_outputs()] != outputs:
        raise ValueError(f"{name} is not the graph of this recipe")


def _words(verdict_key: tuple[str, str, str]) -> str:
    return ", ".join(word for word in verdict_key if word)
