"""A file beside one photo, under its name, that says what it shows: a JSON object with a verdict, or a word."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from inspect_core.datasets.listing import is_image
from inspect_core.datasets.manifests.formats.records import flattened
from inspect_core.datasets.manifests.label_table import FILES, label_of_one
from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestEntry
from inspect_core.datasets.verdict_words import LONGEST_LABEL, condition_sign

SUFFIXES = frozenset({".json", ".txt"})
NAMES_ALL = True
_NUMBERS = ("0", "1")


def holds(file: ListFile) -> bool:
    """Whether a file is named like a photo, or names it and no other, and one field or word says what that shows."""
    return file.is_photo(_photo(file)) and _label(file) is not None and len(_named(file)) < 2


def read(file: ListFile) -> Listing:
    """The photo of the file."""
    return Listing([ManifestEntry(_photo(file), _label(file) or None, "its label")])


def _photo(file: ListFile) -> str:
    fields = file.once(_fields)
    return file.photo_beside(next((value for name, value in fields.items() if name.casefold() in FILES), None))


def _label(file: ListFile) -> str | None:
    """What it says, "" for an empty label, None where it says nothing."""
    if file.suffix == ".json":
        fields = file.once(_fields)
        return label_of_one(file.vocabulary, [*fields], [*fields.values()])
    text = file.text.strip()
    sign = condition_sign(text) if len(text) <= LONGEST_LABEL and "\n" not in text else None
    is_label = text in _NUMBERS or (sign is not None and sign.is_whole)
    return file.vocabulary.label(text) if is_label or file.vocabulary.meaning(text) else None


def _named(file: ListFile) -> set[PurePosixPath]:
    """The photos that its JSON names, at whatever place."""
    return {file.find(text) for text in _texts(file.json) if is_image(text) and file.is_photo(text)}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _texts(item)


def _fields(file: ListFile) -> dict[str, str]:
    return flattened(file.json) if file.suffix == ".json" and isinstance(file.json, dict) else {}
