"""Pascal VOC's annotations (Everingham et al., 2010): one XML file a photo, beside it or in Annotations/. A photo whose
file names no object is good.
"""

from xml.etree.ElementTree import Element

from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestError
from inspect_core.datasets.manifests.shapes import AGAIN, box, marked_entry

SUFFIXES = frozenset({".xml"})
NAMES_ALL = False


def holds(file: ListFile) -> bool:
    """Whether a file is the annotation of one photo."""
    return file.xml is not None and file.xml.tag == "annotation"


def read(file: ListFile) -> Listing:
    """The photo of the file. Raises ManifestError for a box without numbers."""
    root = file.xml if file.xml is not None else Element("annotation")
    shapes = []
    for number, row in enumerate(root.iter("object")):
        label = file.vocabulary.mark(row.findtext("name"))
        edges = [row.findtext(f"bndbox/{name}") for name in ("xmin", "ymin", "xmax", "ymax")]
        try:
            left, top, right, bottom = (float(edge) for edge in edges if edge is not None) if all(edges) else [0.0] * 4
        except ValueError as error:
            raise ManifestError(f"object {number}", "its box is not four numbers", AGAIN) from error
        shapes.append((label, box(left - 1, top - 1, right, bottom) if all(edges) else {}))  # pixels count from 1
    return Listing([marked_entry(file.photo_beside(root.findtext("filename")), "its objects", shapes)])
