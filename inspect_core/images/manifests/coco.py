"""Annotations in COCO format (Lin et al. 2014): polygons, run lengths or boxes, each with a category.

A photo without an annotation is good. Coordinates count from the outer corner of the first pixel, so that the centre of
pixel (x, y) lies at (x + .5, y + .5).
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from inspect_core.images.header import MAX_SIDE, ImageError
from inspect_core.images.manifests.entry import (
    MOST_SHAPES,
    MOST_TYPES,
    Entry,
    ManifestError,
    Marks,
    check_count,
    kind_of,
    named,
    text_of,
)
from inspect_core.images.manifests.run_lengths import decoded
from inspect_core.images.samples import GOOD
from inspect_core.runtime.json_text import from_json

UNNAMED = "defect"
MOST_CORNERS = 20_000
"""Most corners of all polygons of one photo: filling takes as long as there are corners and rows of pixels."""


def entries(path: Path) -> list[Entry]:
    """The photos of an annotation file. Raises ManifestError, naming the place, for one that is damaged; OSError."""
    try:
        document = from_json(text_of(path))
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise ManifestError(path, f"line {line}", "it is not valid JSON", "export the annotations again") from error
    images, annotations = (_rows(path, document, name) for name in ("images", "annotations"))
    names = {row.get("id"): row.get("name") for row in _rows(path, document, "categories") if _is_id(row.get("id"))}
    known = {row["id"] for row in images if _is_id(row.get("id"))}
    own = defaultdict(list)
    for number, row in enumerate(annotations):
        if not _is_id(row.get("image_id")) or row["image_id"] not in known:
            reason = "its image_id is not one of the images"
            raise ManifestError(path, f"annotation {number}", reason, "export the annotations again")
        category = row.get("category_id")
        kind = kind_of(names.get(category) if _is_id(category) else None) or UNNAMED
        if kind != GOOD:
            own[row["image_id"]].append((kind, row))
    found = []
    for number, row in enumerate(images):
        where = f"image {number}"
        if not isinstance(row.get("file_name"), str) or not _is_id(row.get("id")):
            raise ManifestError(path, where, "it has no id or no file_name", "export the annotations again")
        found.append(_entry(path, where, row, own[row["id"]]))
    check_count(path, found)
    return found


def painted(shape: Mapping, size: tuple[int, int]) -> np.ndarray:
    """(H, W) bool: the pixels of an annotation's `segmentation`, else of its `bbox`.

    Polygons are filled by the even-odd rule, each corner at the pixel it lies in, and their outline included: pixels up
    to about one beyond it may count. Raises ValueError for shapes that cannot be drawn.
    """
    segmentation = shape.get("segmentation")
    if isinstance(segmentation, dict):
        counts = segmentation.get("counts")
        if segmentation.get("size") != list(size):
            raise ValueError(f"its runs are for a picture of {segmentation.get('size')!s:.40} (height, width)")
        if not isinstance(counts, list | str):
            raise ValueError("its runs have no counts")
        return decoded(counts, size)
    if not isinstance(segmentation, list | None):
        raise ValueError("its segmentation is neither polygons nor runs")
    mask = np.zeros(size, bool)
    drawn = Image.new("L", size[::-1])
    for polygon in segmentation or ():
        corners = np.floor(_numbers(polygon))
        if len(corners) < 6:
            raise ValueError("a polygon has fewer than three corners")
        ImageDraw.Draw(drawn).polygon(corners.tolist(), fill=1, outline=1)
    if segmentation:
        return np.asarray(drawn) > 0
    if shape.get("bbox"):
        x, y, width, height = _numbers(shape["bbox"], count=4)
        left, top, right, bottom = (max(0, math.ceil(edge - 0.5)) for edge in (x, y, x + width, y + height))
        mask[top:bottom, left:right] = True
    return mask


def _entry(path: Path, where: str, row: Mapping, own: Sequence[tuple[str, Mapping]]) -> Entry:
    photo = row["file_name"]
    if not own:
        return Entry(photo, GOOD, where)
    types = tuple(dict.fromkeys(kind for kind, _ in own))
    if len(types) > MOST_TYPES or len(own) > MOST_SHAPES:
        reason = f"it has {len(own):,} annotations of {len(types)} defect types"
        raise ManifestError(path, where, reason, f"give it at most {MOST_SHAPES:,} of {MOST_TYPES}")
    corners = sum(map(_corners, own))
    if corners > MOST_CORNERS:
        reason = f"its polygons have {corners:,} corners"
        raise ManifestError(path, where, reason, f"simplify them to at most {MOST_CORNERS:,} in all")
    drawn = [(types.index(kind) + 1, shape) for kind, shape in own if shape.get("segmentation") or shape.get("bbox")]
    stated = (row.get("height"), row.get("width"))

    def paint(size: tuple[int, int]) -> np.ndarray:
        if None not in stated and stated != tuple(size):
            reason = f"it was annotated at {stated[1]!s:.20} × {stated[0]!s:.20} px, the photo is {size[1]} × {size[0]}"
            raise ImageError(photo, f"{reason} px", "annotate the photo as it is")
        found = np.zeros(size, np.uint8)
        for value, shape in drawn:
            try:
                found[painted(shape, size)] = value
            except ValueError as error:
                raise ImageError(photo, str(error), "export the annotations again") from error
        return found

    return Entry(photo, types[0], where, Marks(f"{named(photo)} ({where})", types, paint) if drawn else None)


def _corners(marked: tuple[str, Mapping]) -> int:
    polygons = marked[1].get("segmentation")
    return sum(len(one) // 2 for one in polygons if isinstance(one, list)) if isinstance(polygons, list) else 0


def _rows(path: Path, document: Any, name: str) -> list[dict]:
    rows = document.get(name) if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        reason = f"it has no list of {name}"
        raise ManifestError(path, "the file", reason, "export the annotations in the format of COCO")
    return rows


def _is_id(value: object) -> bool:
    return isinstance(value, int | str)


def _numbers(values: object, *, count: int | None = None) -> np.ndarray:
    """(n,) float64. Raises ValueError unless it is a list of `count`, or of an even number of, coordinates."""
    if not isinstance(values, list) or (len(values) % 2 if count is None else len(values) != count):
        raise ValueError("a polygon or box is not a list of coordinates")
    if not all(isinstance(value, int | float) and abs(value) <= 2 * MAX_SIDE for value in values):
        raise ValueError("a coordinate is not a number, or lies far outside the photo")
    return np.array(values, float)
