"""CVAT's annotations for images (version 1.1): one XML file for all photos, with boxes, polygons and tags. A photo
without any is good.
"""

from xml.etree.ElementTree import Element

from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.manifests.label_table import label_of_field
from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestError
from inspect_core.datasets.manifests.shapes import AGAIN, box, marked_entry, polygon
from inspect_core.datasets.verdict_words import Vocabulary

SUFFIXES = frozenset({".xml"})
_PHOTOS = ("image", "track")
NAMES_ALL = True


def holds(file: ListFile) -> bool:
    """Whether a file has CVAT's images."""
    root = file.xml
    return root is not None and root.tag == "annotations" and any(root.find(tag) is not None for tag in _PHOTOS)


def read(file: ListFile) -> Listing:
    """The photos of the file. Raises ManifestError, naming the image, for a shape without numbers."""
    if file.xml is not None and file.xml.find("track") is not None:
        raise ManifestError("the file", "it has tracks of a video", "export it for images")
    entries = []
    for number, image in enumerate(file.xml.iter("image") if file.xml is not None else ()):
        location = f"image {number}"
        try:
            shapes = [(_label(file.vocabulary, row), _shape(row)) for row in image]
            stated = (int(image.get("height", "")), int(image.get("width", "")))
        except ValueError as error:
            raise ManifestError(location, "a shape or a size has no numbers", AGAIN) from error
        entries.append(marked_entry(image.get("name", ""), location, shapes, stated))
    return Listing(entries)


def _label(vocabulary: Vocabulary, row: Element) -> str:
    """The label of a shape or tag: its class, unless one of its attributes says that it is a defect."""
    labels = (label_of_field(vocabulary, field.get("name", ""), field.text or "") for field in row.iter("attribute"))
    defects = [label for label in labels if label is not None and label != GOOD and vocabulary.is_defect(label)]
    return next(iter(defects), vocabulary.mark(row.get("label")))


def _shape(row: Element) -> dict:
    """The outline of an element, {} for one without, such as a tag. Raises ValueError."""
    if row.tag == "box":
        return box(*(float(row.get(name, "")) for name in ("xtl", "ytl", "xbr", "ybr")))
    if row.tag == "polygon":
        return polygon([float(value) for point in row.get("points", "").split(";") for value in point.split(",")])
    return {}
