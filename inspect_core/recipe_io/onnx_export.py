"""A recipe for the line, with its proof: its graphs are made, compared with the app on every photo that can be found,
and written only when no verdict differs.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from itertools import islice
from operator import attrgetter
from pathlib import Path

import numpy as np

from inspect_core.features.backbones import Backbone
from inspect_core.images.alignment import NotLocated
from inspect_core.images.depth import Depth
from inspect_core.images.photo_reader import DecodedPhoto, ImageError, read
from inspect_core.images.placement import place
from inspect_core.recipe import LoadedRecipe, Recipe, loaded_backbone
from inspect_core.recipe_format import golden_images, recipe_package
from inspect_core.recipe_format.csv_text import csv_text
from inspect_core.recipe_format.golden_images import GoldenImage
from inspect_core.recipe_io import line_network, recipe_file, review_graph
from inspect_core.recipe_io.parity_photos import find_photos, known_sets
from inspect_core.recipe_io.recipe_path import check_place
from inspect_core.runner import ExportedModel, Runner
from inspect_core.runtime.progress import Report, ignore_progress, stage

OTHER_PHOTO = "other"
QUANTISED_WITH = 32
"""Photos that set the ranges of a network in whole numbers."""
QUANTISED_TILES = 4
"""Tiles of each of them."""


class ExportError(ValueError):
    """An export that is refused: the message says why, and what to do."""


@dataclass(frozen=True)
class ParityRow:
    """One photo, inspected by the app and by the exported graph; subset: CALIBRATION, TEST or "other"."""

    name: str
    subset: str
    digest: str
    app_score: float | None
    line_score: float | None
    app_verdict: str
    line_verdict: str

    @property
    def difference(self) -> float:
        return golden_images.difference(self.app_score, self.line_score)


@dataclass(frozen=True)
class Parity:
    """The proof of an export. flips: verdicts that differ, 0 in every export that was written; largest_difference: of a
    score; allowed: the largest permitted one; table: every photo; left_out: what is not exported, in words; release:
    digest over all files of the export.
    """

    flips: int
    largest_difference: float
    allowed: float
    table: tuple[ParityRow, ...]
    left_out: tuple[str, ...]
    release: str = ""


def export(
    recipe: Recipe,
    path: str | Path,
    *,
    check_images: Sequence[str | Path] | None = None,
    source: str | Path | None = None,
    bits: int = 32,
    report: Report = ignore_progress,
) -> Parity:
    """Write the recipe with its graph, proof and golden images to `path`, a zip when it ends in .zip, else a folder.

    check_images: photos on which app and line are compared, None for those of `parity_photos.find_photos`; a photo that
    cannot be read is skipped. The app's side runs on the CPU. source: where the recipe was saved; its files
    are copied unchanged, so that it keeps its digest whatever version wrote them. bits: 16 stores constants in float16,
    8 also runs the network in whole numbers, each under the same proof. Raises ExportError, and writes nothing, when a
    verdict differs, when a score differs by more than `golden_images.tolerance`, when there is no photo to prove it
    with, and for a detector without a graph; OSError as `recipe_file.save`; Cancelled.

    >>> export(recipe, "line.zip").flips
    0
    """
    path = check_place(path)
    if reason := export_blocker(recipe):
        raise ExportError(f"{reason}; nothing was written")
    check_images = find_photos(recipe).paths if check_images is None else check_images
    backbone = loaded_backbone(recipe.backbone, "cpu")
    report(0.0, "writing the graph (a few seconds)")
    files = recipe_file.files_of(recipe) if source is None else recipe_file.files_at(source)
    files |= _graphs(recipe, backbone, check_images, bits)
    model = ExportedModel(files, **recipe.facts)
    compared = _compare(recipe, backbone, model, check_images, stage(report, 0.2, 0.9))
    parity = _parity(recipe, [row for row, _ in compared])
    files[recipe_package.PARITY] = _table(parity.table)
    files |= _golden_files(recipe, compared)
    if recipe.quality is not None and recipe.quality.setup is not None:
        size = recipe.backbone.size if recipe.tiles is None else recipe.tiles.size
        files[recipe_package.REVIEW] = review_graph.write(recipe.quality.setup, size)
    report(0.9, "reading it back")
    recipe_file.write(files, path, check=Runner)
    return replace(parity, release=recipe_package.release_of(recipe_file.sums_of(files)))


def export_blocker(recipe: Recipe) -> str:
    """Why the recipe cannot be exported, without a full stop; "" for one that can."""
    missing = [view.definition.title for view in recipe.views if not view.definition.exportable]
    reason = "cannot be exported and runs in the app only; for the line, teach another detector"
    return f"“{missing[0]}” {reason}" if missing else ""


def _graphs(recipe: Recipe, backbone: Backbone, check_images: Sequence[str | Path], bits: int) -> dict[str, bytes]:
    graphs = line_network.export_graphs(recipe, backbone)
    if bits == 32:
        return graphs
    # Imported here only: few users need the tools that make a graph smaller.
    from inspect_core.recipe_io.quantisation import quantise_float16, quantise_int8

    if bits == 8:
        photos = islice(_pictures(check_images, recipe.depth), QUANTISED_WITH)
        inputs = [image for _, picture in photos for image in _inputs(picture.pixels, recipe)]
        graphs[recipe_package.MODEL] = quantise_int8(graphs[recipe_package.MODEL], inputs)
    return {name: quantise_float16(content) for name, content in graphs.items()}


def _inputs(pixels: np.ndarray, recipe: Recipe) -> Iterator[np.ndarray]:
    """Yield the network's input from a photo: (H, W, 3) uint8; from a large one some of its tiles."""
    try:
        placement = place(pixels, recipe.alignment)
    except NotLocated:
        return
    if recipe.tiles is None:
        yield placement.render(pixels, recipe.backbone.size)
        return
    picture = placement.render(pixels, recipe.tiles.size)
    tiles = recipe.tiles.tiles
    for tile in tiles[:: -(-len(tiles) // QUANTISED_TILES)]:
        yield recipe.tiles.cut(picture, tile)


def _compare(
    recipe: Recipe, backbone: Backbone, model: ExportedModel, paths: Sequence[str | Path], report: Report
) -> list[tuple[ParityRow, GoldenImage]]:
    """Every photo in the app and the graph, each content once, with its entry as a golden image."""
    app_inspector = LoadedRecipe(recipe, backbone)
    sets = known_sets(recipe)
    compared_photos = {}
    for done, (path, picture) in enumerate(_pictures(paths, recipe.depth), start=1):
        app = app_inspector.inspect(picture.pixels)
        line = model.inspect(picture.pixels)
        digest = picture.digest
        texts = ["; ".join(filter(None, golden_images.verdict_key(verdict))) for verdict in (app, line)]
        row = ParityRow(picture.name, sets.get(digest, OTHER_PHOTO), digest, app.score, line.score, *texts)
        compared_photos[digest] = row, GoldenImage(str(path), picture.name, app.score, *golden_images.verdict_key(app))
        report(done / len(paths), f"comparing photo {done} of {len(paths)}")
    if not compared_photos:
        raise ExportError("no photos to verify the export with; specify the folder with the good photos")
    return list(compared_photos.values())


def _pictures(paths: Sequence[str | Path], depth: Depth | None) -> Iterator[tuple[Path, DecodedPhoto]]:
    for path in map(Path, paths):
        try:
            yield path, read(path, depth)
        except ImageError:
            continue


def _parity(recipe: Recipe, table: list[ParityRow]) -> Parity:
    allowed = golden_images.tolerance(np.array([part.score for part in recipe.calibration_photos]), recipe.limits)
    flipped = [row for row in table if row.app_verdict != row.line_verdict]
    worst = max(table, key=lambda row: row.difference)
    if flipped:
        row = flipped[0]
        raise ExportError(
            f"{len(flipped)} of {len(table)} photos would get a different verdict on the line, for example "
            f"{row.name} {row.line_verdict} instead of {row.app_verdict}; nothing was written"
        )
    if not worst.difference <= allowed:
        raise ExportError(
            f"the score of {worst.name} would differ by {worst.difference:.2g} on the line, more than the "
            f"{allowed:.2g} allowed; nothing was written"
        )
    left_out = () if recipe.known_cases is None else ("known cases (“Seen before?”)",)
    return Parity(0, worst.difference, allowed, tuple(table), left_out)


def _table(rows: Sequence[ParityRow]) -> bytes:
    columns = [*(field.name for field in fields(ParityRow)), "difference"]
    return csv_text([columns, *([*astuple(row), row.difference] for row in rows)]).encode()


def _golden_files(recipe: Recipe, compared: Sequence[tuple[ParityRow, GoldenImage]]) -> dict[str, bytes]:
    """At most MOST original files: the nearest to each limit on either side, others over all scores.

    With parts on both sides a graph whose scores end at a limit shows; the spread holds the strangest part, which it
    would move most.
    """
    rows = sorted((row for _, row in compared), key=lambda row: math.inf if row.score is None else row.score)
    scored = [row for row in rows if row.score is not None]
    nearest = []
    for limit in (recipe.limits.review, recipe.limits.reject):
        split = bisect_right(scored, limit, key=attrgetter("score"))
        nearest += [row for row in scored[max(split - 1, 0) : split + 1] if row not in nearest]
    rest = [row for row in rows if row not in nearest]
    evenly = np.linspace(0, max(len(rest) - 1, 0), golden_images.MOST - len(nearest)).round().astype(int)
    spread = [rest[i] for i in np.unique(evenly) if i < len(rest)]
    files = {}
    expected = []
    for number, row in enumerate([*nearest, *spread], start=1):
        source = Path(row.file)
        name = f"golden/{number:02}{source.suffix.lower()}"
        name = (
            name if recipe_package.GOLDEN.fullmatch(name) else f"golden/{number:02}.png"
        )  # read by its content anyway
        files[name] = source.read_bytes()
        expected.append(replace(row, file=name))
    return files | {recipe_package.EXPECTED: golden_images.table_of(expected)}
