"""Inspects with an exported recipe, on a PC without torch: NumPy, SciPy, Pillow, OpenCV and ONNX Runtime are enough.

The graph gives the map; everything after it (score, smallest area, limits, regions, verdict, product check, defect
types) is the same code as in the app.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from inspect_core.images.alignment import Alignment, NotLocated
from inspect_core.images.depth import Depth
from inspect_core.images.photo_quality import QualityRange, differs
from inspect_core.images.placement import place
from inspect_core.images.read import read_bytes, squash
from inspect_core.images.tiles import TilePlan
from inspect_core.judge.anomaly_map import AREA
from inspect_core.package import arrays, golden, known_parts, manifest
from inspect_core.package.geometry import geometry_of
from inspect_core.package.manifest import RecipeError, refusing
from inspect_core.runtime.graph import EMBEDDING, IMAGES, LOGITS, MAP, REFUSALS, InferenceSession, cells_of, session_of
from inspect_core.verdict import InView, Limits, Verdict, assemble, inspected, not_located
from inspect_core.whole_part.defect_types import DefectTypes
from inspect_core.whole_part.product_check import Guard

PARTS = {"guard": Guard, "kinds": DefectTypes, "alignment": Alignment}
"""Parts of a recipe that are used on the line besides the graph, by their names in recipe.json."""


class ExportedModel:
    """The graphs of an exported recipe, and everything that judges the map. Safe to use from several threads.

    graphs: model.onnx and, with tiles, whole.onnx, by name; document: recipe.json, checked; parts: arrays of product
    check and defect types by name; threads: of ONNX Runtime for one image, None for as many as there are cores.
    Raises ValueError for a graph that does not belong to this recipe, or that ONNX Runtime cannot use.
    """

    def __init__(
        self,
        graphs: Mapping[str, bytes],
        document: Mapping,
        parts: Mapping[str, np.ndarray],
        *,
        threads: int | None = None,
    ) -> None:
        self.product: str = document["product"]
        self.limits = Limits(**document["limits"])
        self.area: int = document["live"][AREA]
        found: dict[str, Any] = {
            name: document[name] and kind.from_arrays(arrays.of_part(name, parts), document[name])
            for name, kind in PARTS.items()
        }
        self._guard: Guard | None = found["guard"]
        self._types: DefectTypes | None = found["kinds"]
        self._alignment: Alignment | None = found["alignment"]
        picture = geometry_of(document, self._alignment)
        self.size, self.map_size, self.tiles, self._areas = picture.size, picture.map_size, picture.tiles, picture.areas
        self._quality = QualityRange.loaded(document["quality"])
        head = self._guard is not None or self._types is not None
        self._head = [EMBEDDING, LOGITS] if head else []
        seen = [MAP] if self.tiles is None else cells_of(len(document["views"]))
        photos = [(IMAGES, "tensor(uint8)", [*self.size, 3])]
        self._session = _session(graphs, manifest.MODEL, photos, [*seen, *self._head], threads)
        if self.tiles is not None:
            widths = [output.shape[1] for output in self._session.get_outputs()[: len(seen)]]
            cells = [(name, "tensor(float)", [k, *self.tiles.grid]) for name, k in zip(seen, widths, strict=True)]
            self._whole = _session(graphs, manifest.WHOLE, cells, [MAP], threads)

    def inspect(self, image: np.ndarray) -> Verdict:
        """The verdict on one part, (H, W, 3) uint8 RGB of any size. Same result and errors as `recipe.inspect`.

        With types by region one more run of the network looks at what stands out on a part that is not accepted.
        """
        try:
            placement = place(image, self._alignment)
        except NotLocated as error:
            return not_located(str(error), self.map_size, area=self.area)
        picture = placement.at(image, self.size if self.tiles is None else self.tiles.size)
        if self.tiles is None:
            pixel_map, *head = self._run(picture, [MAP, *self._head])
        else:
            pixel_map = self._map_of_tiles(picture, self.tiles)
            head = self._run(placement.at(image, self.size), self._head) if self._head else []
        check = self._guard.check(*head) if self._guard is not None else None
        types = self._types
        view = InView.of(placement, self.map_size, self._areas)
        return assemble(
            inspected(pixel_map[0], view.left_out, self._areas), self.limits, placement,
            area=self.area, view=view, check=check, photo=differs(picture, self._quality),
            name_type=None if types is None else lambda found: types.name(
                placement.picture(image), found, self._embed, head[0][0]
            ),
        )  # fmt: skip

    def _map_of_tiles(self, picture: np.ndarray, plan: TilePlan) -> np.ndarray:
        """(1, H, W): as `Preparation.features`, tile after tile, then the second graph on all cells."""
        whole = {given.name: np.empty((1, *given.shape[1:]), np.float32) for given in self._whole.get_inputs()}
        for tile in plan.tiles:
            found = self._run(plan.cut(picture, tile), list(whole))
            for cells, own in zip(whole.values(), found, strict=True):
                cells[0][:, *tile.cells] = own[0][:, *tile.own]
        return np.asarray(self._whole.run([MAP], whole)[0])

    def _embed(self, image: np.ndarray) -> np.ndarray:
        return self._run(squash(image, self.size), [EMBEDDING])[0][0]

    def _run(self, picture: np.ndarray, outputs: list[str]) -> list[np.ndarray]:
        return [np.asarray(found) for found in self._session.run(outputs, {IMAGES: picture[None]})]


class Runner(ExportedModel):
    """An exported recipe, proved on this PC: its files have their digests and its golden images their verdicts.

    release: the digest that the export must have, over all its files; None takes any.
    product, limits and area as in force; depth: bit depth at which photos are read; digest: of the recipe; good_scores:
    (n,) ascending, of the good parts that set the limits; challenge: its challenge parts; engine: what runs the
    network, in words. Safe to use from several threads.
    Raises RecipeError, naming file, reason and remedy, for a recipe that was not exported, is damaged or was changed,
    and when a golden image gets another verdict or score here than where it was exported.
    """

    def __init__(self, path: str | os.PathLike[str], *, threads: int | None = None, release: str | None = None) -> None:
        self.path = Path(path)
        package = manifest.check(self.path)
        manifest.require_release(package, release)
        document = manifest.read_document(package, None)
        images = golden.read_table(package)
        with refusing(self.path, "its parts do not fit together"):
            # What the graph replaces, and what stays behind, is not read.
            rest = document | {"views": [], "gallery": None}
            graphs = {name: package.read(name) for name in (manifest.MODEL, manifest.WHOLE) if name in package.sizes}
            header = {name: entry for name, entry in package.header.items() if name.split(".")[0] in PARTS}
            arrays.check(rest, header, {})
            parts = package.arrays(PARTS)
            arrays.check_values(rest, parts, {})
            super().__init__(graphs, document, parts, threads=threads)
        calibration, _ = known_parts.read_table(package, document)
        self.digest, self.release = package.digest, package.release
        self.good_scores = np.sort(np.array([part.score for part in calibration], np.float64))
        with refusing(self.path, "a challenge part cannot be used"):
            self.challenge = known_parts.read_challenge(document)
        self.depth = document["depth"] and Depth(**document["depth"])
        self.engine = "ONNX Runtime on the CPU"
        self._prove(package, images)

    def _prove(self, package: manifest.Package, images: list[golden.Golden]) -> None:
        most = golden.tolerance(self.good_scores, self.limits)
        for known in images:
            with refusing(self.path, f"golden image {known.file} cannot be inspected"):
                verdict = self.inspect(read_bytes(package.read(known.file), known.file, self.depth).pixels)
            expected = known.verdict, known.reason, known.defect_type
            if golden.said(verdict) != expected or not golden.difference(verdict.score, known.score) <= most:
                raise RecipeError(
                    f"{self.path.name}: golden image {known.file} ({known.name}) gets "
                    f"{_words(golden.said(verdict))} with score {verdict.score} on this PC, and got "
                    f"{_words(expected)} with {known.score} where it was exported; do not inspect with it here: "
                    "install the versions of requirements-line.txt, or export it again on this PC"
                )


def _session(
    graphs: Mapping[str, bytes], name: str, given: list[tuple], found: list[str], threads: int | None
) -> InferenceSession:
    """The graph of that name. Raises ValueError when it is missing, unusable, or has other inputs or outputs."""
    if name not in graphs:
        raise ValueError(f"{name} is missing")
    try:
        session = session_of(graphs[name], threads=threads)
    except REFUSALS as error:
        raise ValueError(f"ONNX Runtime cannot use {name} ({error})") from error
    taken = [(own.name, own.type, own.shape[1:]) for own in session.get_inputs()]
    if taken != given or [output.name for output in session.get_outputs()] != found:
        raise ValueError(f"{name} is not the graph of this recipe")
    return session


def _words(said: tuple[str, str, str]) -> str:
    return ", ".join(word for word in said if word)
