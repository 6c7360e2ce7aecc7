"""YOLO's labels: one text file a photo, beside it or in labels/ for images/, a line for each box or polygon in shares
of the photo's size. A photo whose file is empty is good.
"""

import re

import yaml

from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestError
from inspect_core.datasets.manifests.shapes import box, marked_entry, polygon

SUFFIXES = frozenset({".txt"})
NAMES_ALL = False
_LINE = re.compile(r"\d+(\s+-?\d*\.?\d+(e-?\d+)?){4,}", re.IGNORECASE)
_NAMES = ("classes.txt", "obj.names")
_SETTINGS = ("data.yaml", "data.yml", "dataset.yaml")
MOST_SETTINGS = 1 << 18
"""Characters of settings that are parsed."""


def holds(file: ListFile) -> bool:
    """Whether a file lies beside a photo of its name, and holds such lines alone or nothing."""
    lines = [line for line in file.text.splitlines() if line.strip()]
    return all(_LINE.fullmatch(line.strip()) for line in lines) and file.is_photo(file.photo_beside())


def read(file: ListFile) -> Listing:
    """The photo of the file. Raises ManifestError for a damaged list of the names of classes."""
    names = _class_names(file)
    shapes = []
    for line in file.text.splitlines():
        number, *values = line.split() or [""]
        if not number:
            continue
        label = file.vocabulary.mark(names.get(int(number), f"class {number}"))
        shares = [*map(float, values)]
        if len(shares) in (4, 5):  # the fifth is a confidence
            across, down, width, height = shares[:4]
            edges = across - width / 2, down - height / 2, across + width / 2, down + height / 2
            shapes.append((label, box(*edges, whole=1)))
        else:
            shapes.append((label, polygon(shares[: len(shares) // 2 * 2], whole=1)))
    return Listing([marked_entry(file.photo_beside(), "its labels", shapes)])


def _class_names(file: ListFile) -> dict[int, str]:
    names = file.helper(_NAMES, _lines)
    return (file.helper(_SETTINGS, _names_in) or {}) if names is None else names


def _lines(text: str) -> dict[int, str]:
    return dict(enumerate(map(str.strip, text.splitlines())))


def _names_in(settings: str) -> dict[int, str]:
    """The names of classes in YOLO's settings. Raises ManifestError for damaged ones, and for aliases: a few hundred
    characters of them stand for gigabytes.
    """
    try:
        if len(settings) > MOST_SETTINGS:
            raise yaml.YAMLError
        document = yaml.load(settings, _PlainLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ManifestError("data.yaml", "it is no plain YAML", "correct it, or remove it") from error
    names = document.get("names") if isinstance(document, dict) else None
    if isinstance(names, list):
        return dict(enumerate(map(str, names)))
    named = names.items() if isinstance(names, dict) else ()
    return {number: str(name) for number, name in named if isinstance(number, int)}


class _PlainLoader(yaml.SafeLoader):
    """Reads YAML without aliases."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """As SafeLoader does. Raises YAMLError for an alias."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError
        return super().compose_node(parent, index)
