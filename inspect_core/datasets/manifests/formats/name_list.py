"""A text file that names photos, a line each, with their endings or without: those of one side of a split (train.txt,
val.txt, test.txt), or those of one condition (ng.txt, good_parts.txt).
"""

import re

from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.layout import side_of
from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestEntry
from inspect_core.datasets.verdict_words import condition_sign, words_of

SUFFIXES = frozenset({".txt", ".lst"})
_LISTS = words_of("list liste lista files dateien")
NAMES_ALL = True


def holds(file: ListFile) -> bool:
    """Whether a file is named after a side or a condition, and each of its lines names a photo."""
    is_named = side_of(file.name.stem) is not None or _label(file) is not None
    lines = _lines(file) if is_named else []
    return bool(lines) and all(file.is_photo(line) for _, line in lines)


def read(file: ListFile) -> Listing:
    """The photos, of which it says the side alone, or the label alone."""
    side, label = side_of(file.name.stem), _label(file)
    says_label = label is not None
    return Listing(
        [
            ManifestEntry(line, label, f"line {number}", side=side, says_label=says_label)
            for number, line in _lines(file)
        ]
    )


def _label(file: ListFile) -> str | None:
    """The label that the file's name says, where it says nothing else."""
    sign = condition_sign(file.name.stem)
    sign = None if sign is not None and sign.condition == "unclear" else sign
    is_label = sign is not None and (sign.is_whole or set(re.findall(r"[a-z]+", file.name.stem.lower())) & _LISTS)
    return (GOOD if sign.condition == GOOD else sign.word) if sign is not None and is_label else None


def _lines(file: ListFile) -> list[tuple[int, str]]:
    return [(number, line.strip()) for number, line in enumerate(file.text.splitlines(), 1) if line.strip()]
