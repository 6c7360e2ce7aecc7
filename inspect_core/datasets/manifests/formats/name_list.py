"""A text file that names the photos of one side of a split, a line each: train.txt, val.txt, test.txt."""

from pathlib import PurePosixPath

from inspect_core.datasets.layout import side_of
from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestEntry

SUFFIXES = frozenset({".txt"})
NAMES_ALL = False


def holds(file: ListFile) -> bool:
    """Whether a file is named after a side, and each of its lines names a photo."""
    lines = _lines(file) if side_of(file.name.stem) is not None else []
    return bool(lines) and all(PurePosixPath(line).suffix and file.is_photo(line) for _, line in lines)


def read(file: ListFile) -> Listing:
    """The photos, of which it says the side alone."""
    side = side_of(file.name.stem)
    return Listing(
        [ManifestEntry(line, None, f"line {number}", side=side, says_label=False) for number, line in _lines(file)]
    )


def _lines(file: ListFile) -> list[tuple[int, str]]:
    return [(number, line.strip()) for number, line in enumerate(file.text.splitlines(), 1) if line.strip()]
