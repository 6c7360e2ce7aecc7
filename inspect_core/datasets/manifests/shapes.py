"""Marked shapes of another tool's annotations, painted as masks: polygons, run lengths and boxes.

Coordinates count from the outer corner of the first pixel, so that the centre of pixel (x, y) lies at (x + .5, y + .5).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import cv2
import numpy as np

from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.manifests import manifest_entry
from inspect_core.datasets.manifests.manifest_entry import Annotation, ManifestEntry, ManifestError
from inspect_core.datasets.verdict_words import Vocabulary
from inspect_core.images.header import MAX_SIDE, ImageError, require

AGAIN = "export the annotations again"
MOST_CORNERS = 8_000
"""Most corners of all polygons of one photo: filling takes as long as there are corners and rows of pixels."""
_CORNERS = 32  # of the polygon that stands for an ellipse
Size = tuple[int, int]


def box(left: float, top: float, right: float, bottom: float, *, whole: float | None = None) -> dict:
    """A shape for `marked_entry`. whole: what the photo's width and height count in these coordinates, None
    where they are pixels.
    """
    return {"bbox": [left, top, right - left, bottom - top], "whole": whole}


def polygon(corners: Sequence[float], *, whole: float | None = None) -> dict:
    """A shape of x, y, x, y, …; whole: as in `box`."""
    return {"segmentation": [[*corners]], "whole": whole}


def ellipse(x: float, y: float, across: float, down: float) -> dict:
    """A shape for `marked_entry`: the polygon that stands for an ellipse about (x, y) with these half axes."""
    turns = [2 * math.pi * number / _CORNERS for number in range(_CORNERS)]
    corners = [(x + across * math.cos(turn), y + down * math.sin(turn)) for turn in turns]
    return polygon([value for corner in corners for value in corner])


def without_place(vocabulary: Vocabulary, words: Iterable[object]) -> list[tuple[str, dict]]:
    """Shapes for `marked_entry` of the flags or tags that a photo has: they mark no place."""
    labels = map(vocabulary.tag, words)
    return [(label, {}) for label in labels if label is not None]


def marked_entry(
    photo: str,
    location: str,
    shapes: Sequence[tuple[str, Mapping]],
    stated: tuple[object, object] = (None, None),
    **fields: Any,
) -> ManifestEntry:
    """What shapes, each (label, shape), say of a photo: without one of a defect it is good.

    stated: (height, width) at which they were drawn, None where it is not said; fields: others of the entry. Raises
    ManifestError for more shapes than can be painted.
    """
    annotations = [(label, shape) for label, shape in shapes if label != GOOD]
    if not annotations:
        return ManifestEntry(photo, GOOD, location, marks_good=any(shape for _, shape in shapes), **fields)
    types = tuple(dict.fromkeys(label for label, _ in annotations))
    if len(types) > manifest_entry.MOST_TYPES or len(annotations) > manifest_entry.MOST_SHAPES:
        reason = f"it has {len(annotations):,} annotations of {len(types)} defect types"
        raise ManifestError(
            location, reason, f"give it at most {manifest_entry.MOST_SHAPES:,} of {manifest_entry.MOST_TYPES}"
        )
    polygons = [shape["segmentation"] for _, shape in annotations if isinstance(shape.get("segmentation"), list)]
    corners = sum(len(polygon) // 2 for several in polygons for polygon in several if isinstance(polygon, list))
    if corners > MOST_CORNERS:
        reason = f"its polygons have {corners:,} corners"
        raise ManifestError(location, reason, f"simplify them to at most {MOST_CORNERS:,} in all")
    drawn = [
        (types.index(label) + 1, shape)
        for label, shape in annotations
        if shape.get("segmentation") or shape.get("bbox")
    ]

    def paint(size: tuple[int, int]) -> np.ndarray:
        reason = f"it was annotated at {stated[1]!s:.20} × {stated[0]!s:.20} px, the photo is {size[1]} × {size[0]} px"
        require(photo, None in stated or stated == tuple(size), reason, "annotate the photo as it is")
        mask = np.zeros(size, np.uint8)
        for value, shape in drawn:
            try:
                mask[rasterise(shape, size)] = value
            except ValueError as error:
                raise ImageError(photo, str(error), AGAIN) from error
        return mask

    marks = Annotation(f"{manifest_entry.display_name(photo)} ({location})", types, paint) if drawn else None
    return ManifestEntry(photo, types[0], location, marks, **fields)


def rasterise(shape: Mapping, size: tuple[int, int]) -> np.ndarray:
    """(H, W) bool: the pixels of an annotation's `segmentation`, else of its `bbox`.

    Polygons are filled by the even-odd rule, each corner at the pixel it lies in, and their outline included: pixels up
    to about one beyond it may count. Raises ValueError for shapes that cannot be drawn.
    """
    whole = shape.get("whole")
    scale = (1.0, 1.0) if whole is None else (size[1] / whole, size[0] / whole)
    segmentation = shape.get("segmentation")
    if isinstance(segmentation, dict):
        counts = segmentation.get("counts")
        if segmentation.get("size") != list(size):
            raise ValueError(f"its run lengths are for an image of {segmentation.get('size')!s:.40} (height, width)")
        if not isinstance(counts, list | str):
            raise ValueError("its run lengths have no counts")
        return decode_run_lengths(counts, size)
    if not isinstance(segmentation, list | None):
        raise ValueError("its segmentation is neither polygons nor runs")
    if segmentation:
        drawn = np.zeros(size, np.uint8)
        for polygon in segmentation:
            corners = np.floor(_numbers(polygon, scale))
            if len(corners) < 6:
                raise ValueError("a polygon has fewer than three corners")
            cv2.fillPoly(drawn, [corners.astype(np.int32).reshape(-1, 2)], 1)
        return drawn > 0
    mask = np.zeros(size, bool)
    if shape.get("bbox"):
        x, y, width, height = _numbers(shape["bbox"], scale, count=4)
        left, top, right, bottom = (max(0, math.ceil(edge - 0.5)) for edge in (x, y, x + width, y + height))
        mask[top:bottom, left:right] = True
    return mask


def _numbers(values: object, scale: tuple[float, float] = (1.0, 1.0), *, count: int | None = None) -> np.ndarray:
    """(n,) float64. Raises ValueError unless it is a list of `count`, or of an even number of, coordinates."""
    if not isinstance(values, list) or (len(values) % 2 if count is None else len(values) != count):
        raise ValueError("a polygon or box is not a list of coordinates")
    if not all(isinstance(value, int | float) and abs(value) <= 2 * MAX_SIDE for value in values):
        raise ValueError("a coordinate is not a number, or lies far outside the photo")
    return np.array(values, float) * np.resize(scale, len(values))


def decode_run_lengths(counts: Sequence[int] | str, size: tuple[int, int]) -> np.ndarray:
    """(H, W) bool of runs, column by column, the first unmarked; plain, or as `_uncompressed`.

    Raises ValueError for lengths that are not whole numbers from 0, or do not add up to all pixels.
    """
    lengths = _uncompressed(counts) if isinstance(counts, str) else list(counts)
    height, width = size
    if not all(type(length) is int and 0 <= length <= height * width for length in lengths):
        raise ValueError("a run length is not between 0 and the number of pixels")
    if sum(lengths) != height * width:
        raise ValueError(f"the runs cover {sum(lengths):,} pixels of {height * width:,}")
    marked = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
    return marked.reshape(width, height).T


def _uncompressed(text: str) -> list[int]:
    """Lengths as `rleToString` in cocoapi writes them: from the fourth on the difference to the last but one, in groups
    of five bits, least significant first, a sixth bit saying that more follow, 48 added.
    """
    lengths: list[int] = []
    value = shift = 0
    for sign in text:
        group = ord(sign) - 48
        if not 0 <= group < 64 or shift > 60:
            raise ValueError("the runs are not in COCO's compressed format")
        value |= (group & 31) << shift
        shift += 5
        if group & 32:
            continue
        if group & 16:
            value -= 1 << shift
        lengths.append(value + (lengths[-2] if len(lengths) > 2 else 0))
        value = shift = 0
    if shift:
        raise ValueError("the runs end in the middle of one")
    return lengths
