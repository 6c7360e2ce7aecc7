"""Supervisely's annotations: one JSON file a photo, `ann/0001.png.json` for `img/0001.png`. A photo whose file holds no
object and no tag of a defect is good.
"""

from typing import Any

from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestError
from inspect_core.datasets.manifests.shapes import AGAIN, box, marked_entry, polygon, without_place
from inspect_core.datasets.verdict_words import Vocabulary

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
    shapes = [_shape(file.vocabulary, number, row) for number, row in enumerate(rows, 1)]
    shapes += [tag for row in (document, *rows) for tag in without_place(file.vocabulary, _tags(row))]
    stated = (document["size"].get("height"), document["size"].get("width"))
    return Listing([marked_entry(file.photo_beside(file.name.stem), "its objects", shapes, stated)])


def _tags(row: dict[str, Any]) -> list[str]:
    """The tags of a photo or object: by their values where they have some."""
    tags = row.get("tags")
    rows = [tag for tag in tags if isinstance(tag, dict)] if isinstance(tags, list) else []
    return [str(tag.get("name") if tag.get("value") in (None, "") else tag["value"]) for tag in rows]


def _shape(vocabulary: Vocabulary, number: int, row: dict[str, Any]) -> tuple[str, dict]:
    """The class and the outline of an object, {} for one that has none, such as a bitmap."""
    label = vocabulary.mark(row.get("classTitle"))
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
