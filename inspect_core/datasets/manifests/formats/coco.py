"""Annotations in COCO format (Lin et al. 2014): polygons, run lengths or boxes, each with a category.

A photo without an annotation is good.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestError
from inspect_core.datasets.manifests.shapes import AGAIN, marked_entry
from inspect_core.runtime.json_text import from_json

SUFFIXES = frozenset({".json"})
NAMES_ALL = True


def holds(file: ListFile) -> bool:
    """Whether a file has COCO's lists."""
    return isinstance(file.json, dict) and {"images", "annotations"} <= file.json.keys()


def read(file: ListFile) -> Listing:
    """The photos of an annotation file. Raises ManifestError, naming the place, for one that is damaged."""
    try:
        document = from_json(file.text) if file.json is None else file.json
    except ManifestError:
        raise
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise ManifestError(f"line {line}", "it is not valid JSON", AGAIN) from error
    images, annotations = (_rows(document, name) for name in ("images", "annotations"))
    names = {_id(row): row.get("name") for row in _rows(document, "categories")}
    known = {_id(row) for row in images} - {None}
    shapes_of = defaultdict(list)
    for number, row in enumerate(annotations):
        image, category = _id(row, "image_id"), _id(row, "category_id")
        if image not in known:
            raise ManifestError(f"annotation {number}", "its image_id is not one of the images", AGAIN)
        label = file.vocabulary.mark(None if category is None else names.get(category))
        shapes_of[image].append((label, {name: row.get(name) for name in ("segmentation", "bbox")}))
    entries = []
    for number, row in enumerate(images):
        location = f"image {number}"
        if not isinstance(row.get("file_name"), str) or _id(row) is None:
            raise ManifestError(location, "it has no id or no file_name", AGAIN)
        stated = (row.get("height"), row.get("width"))
        entries.append(marked_entry(row["file_name"], location, shapes_of[row["id"]], stated))
    return Listing(entries)


def _rows(document: Any, name: str) -> list[dict]:
    rows = document.get(name) if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        reason = f"it has no list of {name}"
        raise ManifestError("the file", reason, "export the annotations in the format of COCO")
    return rows


def _id(row: Mapping, name: str = "id") -> int | str | None:
    return row[name] if isinstance(row.get(name), int | str) else None
