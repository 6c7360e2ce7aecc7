"""JSON that lists photos and labels: a list of records, a record a line, or labels by photo."""

from typing import Any

from inspect_core.datasets.manifests.label_table import TableRows, has_label, listing_of, names_photos
from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing
from inspect_core.runtime.json_text import from_json

SUFFIXES = frozenset({".json", ".jsonl", ".ndjson"})
NAMES_ALL = True
_BY_PHOTO = "file"
MOST_FIELDS = 200
"""Names of all records together: more are no table."""


def holds(file: ListFile) -> bool:
    """Whether fields of its records name photos that lie below its folder, and say what they show."""
    rows = file.once(_rows)
    return bool(rows) and names_photos(file, rows) and has_label(rows)


def read(file: ListFile) -> Listing:
    """The photos of its records. Raises ManifestError as `listing_of`."""
    return listing_of(file, file.once(_rows))


def flattened(record: dict[str, Any]) -> dict[str, str]:
    """The fields of a record, and of records in it as "camera.label"; several values of one are joined by commas."""
    fields: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            fields |= {f"{name}.{inner}": text for inner, text in flattened(value).items()}
        elif isinstance(value, list):
            if all(isinstance(item, str | int | float) for item in value):
                fields[name] = ", ".join(map(_text, value))
        else:
            fields[name] = _text(value)
    return fields


def _rows(file: ListFile) -> TableRows:
    """The records as rows below a heading; none where the file holds anything else."""
    records = [flattened(record) for record in _records(file)]
    heading = list(dict.fromkeys(name for record in records for name in record))
    if len(heading) > MOST_FIELDS:
        return []
    rows = [
        (f"record {number}", [record.get(name, "") for name in heading]) for number, record in enumerate(records, 1)
    ]
    return [("the names of its fields", heading), *rows] if rows else []


def _records(file: ListFile) -> list[dict[str, Any]]:
    if file.suffix != ".json":
        try:
            lines = [from_json(line) for line in file.text.splitlines() if line.strip()]
        except ValueError:
            return []
        return lines if all(isinstance(line, dict) for line in lines) else []
    value = file.json
    if isinstance(value, dict):
        lists = [item for item in value.values() if isinstance(item, list)]
        if len(lists) == 1 and lists[0]:
            value = lists[0]
        elif value and all(map(file.is_photo, value)):
            return [
                {_BY_PHOTO: photo} | (label if isinstance(label, dict) else {"label": label})
                for photo, label in value.items()
            ]
    is_list = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return value if is_list else []


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
