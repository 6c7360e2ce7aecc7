"""A table of file and label: CSV with any usual delimiter, with or without a header."""

import csv
import io
from collections import Counter

from inspect_core.images.listing import is_image
from inspect_core.images.manifests.manifest_entry import ManifestEntry, ManifestError, label_from_text

DELIMITERS = ",;\t|"
LABELS = frozenset({"label", "labels", "class", "class name", "classname", "kind", "type", "defect", "defect type"})
LABELS |= {"category", "verdict", "result", "status", "target", "anomaly"}


def entries(text: str) -> list[ManifestEntry]:
    """Return the photos of a table. The column of files is the one that holds names of photos.

    Raises ManifestError for a table without such a column, or whose column of labels is not clear.
    """
    try:
        rows = max((_rows(text, delimiter) for delimiter in DELIMITERS), key=_photos)
    except csv.Error as error:
        raise ManifestError("the file", f"it is not a table ({error})", "save it as CSV, UTF-8") from error
    columns = Counter(column for _, row in rows for column, field in enumerate(row) if is_image(field))
    if not columns:
        raise ManifestError(
            "the file", "no column contains photo names", "give it a column of file names and of labels"
        )
    file = columns.most_common(1)[0][0]
    header = [] if is_image(dict(enumerate(rows[0][1])).get(file, "")) else rows[0][1]
    label = _label_column(header, file, max(len(row) for _, row in rows))
    entries = []
    for line, row in rows[1:] if header else rows:
        if len(row) <= max(file, label):
            raise ManifestError(f"line {line}", "it has fewer columns than the others", "complete the line")
        entries.append(ManifestEntry(row[file], label_from_text(row[label]), f"line {line}"))
    return entries


def _rows(text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """Return (line, fields) of every row that is not empty."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    return [(reader.line_num, [field.strip() for field in row]) for row in reader if any(map(str.strip, row))]


def _photos(rows: list[tuple[int, list[str]]]) -> int:
    """Return how many rows hold a photo's name beside something else."""
    return sum(len(row) > 1 and any(map(is_image, row)) for _, row in rows)


def _label_column(header: list[str], file: int, columns: int) -> int:
    named = [column for column, word in enumerate(header) if word.casefold().replace("_", " ") in LABELS]
    others = named or [column for column in range(columns) if column != file]
    if len(others) != 1 or others[0] == file:
        reason = f"cannot tell which of its {columns} columns contains the label"
        raise ManifestError("line 1", reason, "add a header line with the column names file and label")
    return others[0]
