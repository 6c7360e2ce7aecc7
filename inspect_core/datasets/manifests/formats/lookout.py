"""JSON lines as Lookout for Vision read them: the output of SageMaker Ground Truth, one object per photo.

A line names its photo in `source-ref`; the class stands in the metadata of type groundtruth/image-classification
(`anomaly-label-metadata`, or under another name), the mask in the reference whose metadata have the type
groundtruth/semantic-segmentation, each class in the colour that `internal-color-map` gives it.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import (
    MOST_TYPES,
    Annotation,
    Listing,
    ManifestEntry,
    ManifestError,
    display_name,
)
from inspect_core.datasets.verdict_words import Vocabulary
from inspect_core.images import photo_reader
from inspect_core.images.header import ImageError, require
from inspect_core.runtime.json_text import from_json

SUFFIXES = frozenset({".jsonl", ".ndjson", ".manifest"})
NAMES_ALL = True
BACKGROUND, AGAIN = "background", "export the manifest again"
_CLASS, _MASK = "groundtruth/image-classification", "groundtruth/semantic-segmentation"
_METADATA = "-metadata"


def holds(file: ListFile) -> bool:
    """Whether a file's first line names a photo as a manifest does."""
    return '"source-ref"' in file.text.lstrip().partition("\n")[0]


def read(file: ListFile) -> Listing:
    """The photos of a manifest. Raises ManifestError, naming the line, for no such object or one of no class."""
    lines = enumerate(file.text.split("\n"), start=1)
    return Listing([_entry(f"line {number}", line, file) for number, line in lines if line.strip()])


def _entry(location: str, line: str, file: ListFile) -> ManifestEntry:
    try:
        row = from_json(line)
    except ValueError as error:
        raise ManifestError(location, "it is not a JSON object", AGAIN) from error
    if not isinstance(row, dict) or not isinstance(row.get("source-ref"), str):
        raise ManifestError(location, "it names no photo in source-ref", AGAIN)
    labels = [file.vocabulary.label(metadata.get("class-name")) for _, metadata in _metadata(row, _CLASS)]
    if not labels or labels[0] is None:
        raise ManifestError(location, "it has no class-name", "label the photo as normal or anomaly")
    for name, metadata in _metadata(row, _MASK):
        reference = row.get(name.removesuffix(_METADATA))
        if labels[0] != GOOD and isinstance(reference, str):
            return ManifestEntry(row["source-ref"], labels[0], location, _marks(location, reference, metadata, file))
    return ManifestEntry(row["source-ref"], labels[0], location)


def _metadata(row: Mapping, job_type: str) -> Iterator[tuple[str, Mapping]]:
    """Yield (name, metadata) of this type."""
    for name, metadata in row.items():
        if name.endswith(_METADATA) and isinstance(metadata, dict) and metadata.get("type") == job_type:
            yield name, metadata


def _marks(location: str, reference: str, metadata: Mapping, file: ListFile) -> Annotation:
    colours: dict[int, str] = {}
    classes = metadata.get("internal-color-map")
    for label in classes.values() if isinstance(classes, dict) else ():
        try:
            colours[int(label["hex-color"].removeprefix("#"), 16)] = str(label["class-name"])
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            reason = "a class of internal-color-map has no class-name or hex-color"
            raise ManifestError(location, reason, AGAIN) from error
    labels = {colour: _defect_type(file.vocabulary, name) for colour, name in colours.items()}
    types = tuple(dict.fromkeys(filter(None, labels.values())))
    if not types or len(colours) > MOST_TYPES:
        reason = f"internal-color-map names {len(types)} defect types in {len(colours)} colours"
        raise ManifestError(location, reason, f"give the mask at least one, in at most {MOST_TYPES} colours")
    values = {colour: types.index(label) + 1 if label else 0 for colour, label in labels.items()}

    def paint(size: tuple[int, int]) -> np.ndarray:
        try:
            mask = file.root / file.find_mask(reference)
        except LookupError as error:
            raise ImageError(reference, *error.args) from error
        pixels = photo_reader.read(mask).pixels
        reason = f"the mask is {pixels.shape[1]} × {pixels.shape[0]} px but its photo is {size[1]} × {size[0]} px"
        require(reference, pixels.shape[:2] == tuple(size), reason, "export the mask at the size of its photo")
        colours = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
        painted = np.zeros(size, np.uint8)
        known = np.zeros(size, bool)
        for colour, value in values.items():
            here = colours == colour
            painted[here], known = value, known | here
        if not known.all():
            reason = f"the mask has the colour #{colours[~known][0]:06x}, which internal-color-map does not name"
            raise ImageError(reference, reason, "export the mask again, as PNG")
        return painted

    return Annotation(display_name(reference), types, paint)


def _defect_type(vocabulary: Vocabulary, name: str) -> str | None:
    """None for the background and for a word that says good."""
    label = vocabulary.label(name) or "anomaly"
    return None if name.casefold() == BACKGROUND or label == GOOD else label
