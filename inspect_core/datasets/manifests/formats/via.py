"""The annotations of VIA (VGG Image Annotator) as JSON, a project or its export: regions of many photos. A photo
without a region is good, unless one of its attributes is a word for a defect.
"""

from collections.abc import Mapping
from typing import Any

from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestEntry, ManifestError, display_name
from inspect_core.datasets.manifests.shapes import AGAIN, box, ellipse, marked_entry, polygon, without_place
from inspect_core.datasets.verdict_words import Vocabulary

SUFFIXES = frozenset({".json"})
NAMES_ALL = True
_PROJECT = "_via_img_metadata"


def holds(file: ListFile) -> bool:
    """Whether a file holds regions by photo."""
    rows = _rows(file)
    return bool(rows) and all(
        isinstance(row, dict) and isinstance(row.get("filename"), str) and isinstance(row.get("regions"), list | dict)
        for row in rows
    )


def read(file: ListFile) -> Listing:
    """The photos of the file. Raises ManifestError, naming the photo, for a region without numbers."""
    return Listing([_entry(file.vocabulary, row) for row in _rows(file)])


def _rows(file: ListFile) -> list[Any]:
    document = file.json
    by_photo = document.get(_PROJECT, document) if isinstance(document, dict) else None
    return [*by_photo.values()] if isinstance(by_photo, dict) else []


def _entry(vocabulary: Vocabulary, row: Mapping[str, Any]) -> ManifestEntry:
    photo, regions, attributes = row["filename"], row["regions"], row.get("file_attributes")
    regions = [*regions.values()] if isinstance(regions, dict) else regions
    location = f"the regions of {display_name(photo)}"
    try:
        shapes = [_shape(vocabulary, region["shape_attributes"], region.get("region_attributes")) for region in regions]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ManifestError(location, "one has no numbers", AGAIN) from error
    return marked_entry(photo, location, shapes + without_place(vocabulary, _words(attributes)))


def _shape(vocabulary: Vocabulary, outline: Mapping[str, Any], attributes: object) -> tuple[str, dict]:
    """The label and the outline of a region, {} for one that has no area."""
    labels = [*map(vocabulary.mark, _words(attributes))] or [vocabulary.mark(None)]
    label = next((label for label in labels if label != GOOD), labels[0])
    kind = outline["name"]
    if kind == "rect":
        left, top, width, height = (float(outline[name]) for name in ("x", "y", "width", "height"))
        return label, box(left, top, left + width, top + height)
    if kind in ("circle", "ellipse"):
        x, y = float(outline["cx"]), float(outline["cy"])
        across, down = (float(outline[name]) for name in (("r", "r") if kind == "circle" else ("rx", "ry")))
        return label, ellipse(x, y, across, down)
    if kind in ("polygon", "polyline") and len(outline["all_points_x"]) > 2:
        corners = zip(outline["all_points_x"], outline["all_points_y"], strict=True)
        return label, polygon([float(value) for corner in corners for value in corner])
    return label, {}


def _words(attributes: object) -> list[str]:
    """What attributes say: their texts, and the options that are ticked."""
    values = attributes.values() if isinstance(attributes, dict) else ()
    several = (value if isinstance(value, dict) else {value: True} for value in values if isinstance(value, dict | str))
    return [word for options in several for word, is_ticked in options.items() if is_ticked and word]
