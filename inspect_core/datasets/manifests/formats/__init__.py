"""The formats of lists and annotations, one a file, found by their file names.

Each has SUFFIXES, the endings of its files; `holds(file)`, whether a `ListFile` is one; and `read(file)`, its
`Listing`, which raises ManifestError, naming the place, for one that is damaged. NAMES_ALL: whether a photo that
none of its files names has no label, as it may show a defect; else such a photo is good.
"""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing


class ListFormat(Protocol):
    """A module of this package."""

    SUFFIXES: frozenset[str]
    NAMES_ALL: bool

    def holds(self, file: ListFile) -> bool:
        """Whether the file has this format."""
        ...

    def read(self, file: ListFile) -> Listing:
        """What it says of photos."""
        ...


@cache
def all_formats() -> tuple[ListFormat, ...]:
    """The formats, sorted by name."""
    modules: list[Any] = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return tuple(modules)


def suffixes() -> frozenset[str]:
    """The endings of files that may say what photos show."""
    return frozenset().union(*(list_format.SUFFIXES for list_format in all_formats()))


def format_of(file: ListFile) -> ListFormat | None:
    """The format of a file, None where it has none. Raises ManifestError as `ListFile.text`."""
    known = (list_format for list_format in all_formats() if file.suffix in list_format.SUFFIXES)
    return next((list_format for list_format in known if list_format.holds(file)), None)
