"""CVAT's annotations for images (version 1.1): one XML file for all photos, with boxes, polygons and tags. A photo
without any is good.
"""

from xml.etree.ElementTree import Element

from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import UNNAMED, Listing, ManifestError, label_from_text
from inspect_core.datasets.manifests.shapes import AGAIN, box, marked_entry, polygon

SUFFIXES = frozenset({".xml"})
NAMES_ALL = True


def holds(file: ListFile) -> bool:
    """Whether a file has CVAT's images."""
    return file.xml is not None and file.xml.tag == "annotations" and file.xml.find("image") is not None


def read(file: ListFile) -> Listing:
    """The photos of the file. Raises ManifestError, naming the image, for a shape without numbers."""
    entries = []
    for number, image in enumerate(file.xml.iter("image") if file.xml is not None else ()):
        location = f"image {number}"
        try:
            shapes = [(label_from_text(row.get("label")) or UNNAMED, _shape(row)) for row in image]
            stated = (int(image.get("height", "")), int(image.get("width", "")))
        except ValueError as error:
            raise ManifestError(location, "a shape or a size has no numbers", AGAIN) from error
        entries.append(marked_entry(image.get("name", ""), location, shapes, stated))
    return Listing(entries)


def _shape(row: Element) -> dict:
    """The outline of an element, {} for one without, such as a tag. Raises ValueError."""
    if row.tag == "box":
        return box(*(float(row.get(name, "")) for name in ("xtl", "ytl", "xbr", "ybr")))
    if row.tag == "polygon":
        return polygon([float(value) for point in row.get("points", "").split(";") for value in point.split(",")])
    return {}
