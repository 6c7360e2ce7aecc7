"""Labelme's annotations: one JSON file a photo, beside it. A photo whose file marks nothing is good."""

import math
from typing import Any

from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing
from inspect_core.datasets.manifests.shapes import box, ellipse, marked_entry, polygon, without_place
from inspect_core.datasets.verdict_words import Vocabulary, is_good_word

SUFFIXES = frozenset({".json"})
NAMES_ALL = False


def holds(file: ListFile) -> bool:
    """Whether a file has Labelme's shapes of one photo."""
    return isinstance(file.json, dict) and isinstance(file.json.get("shapes"), list) and "imagePath" in file.json


def read(file: ListFile) -> Listing:
    """The photo of the file. A raised flag counts as a mark of no place; a flag for good alone that is not raised is
    unclear. Raises ManifestError for one that names another photo.
    """
    document = file.json
    photo = file.photo_beside(str(document["imagePath"]).replace("\\", "/"))
    shapes = [_shape(file.vocabulary, row) for row in document["shapes"] if isinstance(row, dict)]
    flags = document.get("flags")
    flags = flags if isinstance(flags, dict) else {}
    shapes += without_place(file.vocabulary, [name for name, is_set in flags.items() if is_set])
    if not shapes and (denied := [name for name in flags if is_good_word(name)]):
        shapes.append((file.vocabulary.unclear(f"{denied[0]}: false"), {}))
    stated = (document.get("imageHeight"), document.get("imageWidth"))
    return Listing([marked_entry(photo, "its shapes", shapes, stated)])


def _shape(vocabulary: Vocabulary, row: dict[str, Any]) -> tuple[str, dict]:
    """The label and the outline of a shape, {} for one that has none, such as a mask in a picture."""
    label = vocabulary.mark(row.get("label"))
    points = row.get("points")
    kind = row.get("shape_type", "polygon")
    is_points = isinstance(points, list) and all(
        isinstance(point, list) and len(point) == 2 and all(isinstance(value, int | float) for value in point)
        for point in points
    )
    if not is_points or not points:
        return label, {}
    across, down = [point[0] for point in points], [point[1] for point in points]
    if kind == "circle" and len(points) == 2:
        radius = math.dist(*points)
        return label, ellipse(across[0], down[0], radius, radius)
    if kind == "polygon" and len(points) > 2:
        return label, polygon([value for point in points for value in point])
    return label, box(min(across), min(down), max(across) + 1, max(down) + 1)
