"""A table of photos and labels: CSV with any usual delimiter, with or without a header."""

import csv
import io

from inspect_core.datasets.manifests.label_table import TableRows, listing_of, names_photos, photos_beside_more
from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestError

SUFFIXES = frozenset({".csv", ".tsv"})
NAMES_ALL = True
DELIMITERS = ",;\t|"
SAMPLE = 1 << 16
"""Characters by which the delimiter is chosen."""


def holds(file: ListFile) -> bool:
    """Whether some column of a file names photos that lie below its folder."""
    try:
        return names_photos(file, file.once(_best_rows))
    except csv.Error:
        return False


def read(file: ListFile) -> Listing:
    """The photos of a table. Raises ManifestError as `listing_of`."""
    try:
        rows = file.once(_best_rows)
    except csv.Error as error:
        raise ManifestError("the file", f"it is not a table ({error})", "save it as CSV, UTF-8") from error
    return listing_of(file, rows)


def _best_rows(file: ListFile) -> TableRows:
    end = file.text.find("\n", SAMPLE) + 1 or len(file.text)
    samples = {delimiter: _rows(file.text[:end], delimiter) for delimiter in DELIMITERS}
    best = max(
        samples, key=lambda sign: (photos_beside_more(samples[sign]), sum(len(row) > 1 for _, row in samples[sign]))
    )
    return samples[best] if end == len(file.text) else _rows(file.text, best)


def _rows(text: str, delimiter: str) -> TableRows:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    return [(f"line {reader.line_num}", [field.strip() for field in row]) for row in reader if any(map(str.strip, row))]
