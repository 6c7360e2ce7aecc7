"""Supervisely's annotations: one JSON file a photo, `ann/0001.png.json` for `img/0001.png`. A photo whose file holds no
object and no tag of a defect is good.
"""

from typing import Any

from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import UNNAMED, Listing, ManifestError, label_from_text
from inspect_core.datasets.manifests.shapes import AGAIN, box, marked_entry, polygon, without_place

SUFFIXES = frozenset({".json"})
NAMES_ALL = False


def holds(file: ListFile) -> bool:
    """Whether a file has the objects, the tags and the size of one photo."""
    document = file.json
    lists = isinstance(document, dict) and all(isinstance(document.get(name), list) for name in ("objects", "tags"))
    return lists and isinstance(document.get("size"), dict)


def read(file: ListFile) -> Listing:
    """The photo of the file. Raises ManifestError, naming the object, for an outline without numbers."""
    document = file.json
    rows = [row for row in document["objects"] if isinstance(row, dict)]
    tags = [str(tag.get("name")) for tag in document["tags"] if isinstance(tag, dict)]
    shapes = [_shape(number, row) for number, row in enumerate(rows, 1)] + without_place(tags)
    stated = (document["size"].get("height"), document["size"].get("width"))
    return Listing([marked_entry(file.photo_beside(file.name.stem), "its objects", shapes, stated)])


def _shape(number: int, row: dict[str, Any]) -> tuple[str, dict]:
    """The class and the outline of an object, {} for one that has none, such as a bitmap."""
    label = label_from_text(row.get("classTitle")) or UNNAMED
    kind = row.get("geometryType")
    if kind not in ("rectangle", "polygon"):
        return label, {}
    try:
        corners = [(float(x), float(y)) for x, y in row["points"]["exterior"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ManifestError(f"object {number}", "its outline has no numbers", AGAIN) from error
    if kind == "polygon":
        return label, polygon([value for corner in corners for value in corner])
    across, down = zip(*corners, strict=True)
    return label, box(min(across), min(down), max(across) + 1, max(down) + 1)
