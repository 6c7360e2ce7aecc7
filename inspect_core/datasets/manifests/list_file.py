"""A file that may say what photos show, read once: as text, as JSON or as XML."""

import xml.etree.ElementTree as ElementTree
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from inspect_core.datasets.manifests.manifest_entry import ManifestError
from inspect_core.runtime.json_text import from_json

MOST_BYTES = 100 * 2**20
Made = TypeVar("Made")


class ListFile:
    """A file of another tool at `name`, a POSIX path below `root`.

    find, find_mask: the photo, or the photo or mask, that a reference in it means, LookupError(reason, remedy) if there
    is none.
    """

    def __init__(
        self,
        root: Path,
        name: PurePosixPath,
        find: Callable[[str], PurePosixPath],
        find_mask: Callable[[str], PurePosixPath],
    ):
        self.root, self.name, self.find, self.find_mask = root, name, find, find_mask
        self.suffix = name.suffix.lower()
        self._made: dict[Callable, Any] = {}

    @cached_property
    def text(self) -> str:
        """Its text: UTF-8, or UTF-16 with a byte order mark. Raises ManifestError for any other or a large file."""
        return text_of(self.root / self.name)

    @cached_property
    def json(self) -> Any:
        """Its JSON value, None where it holds none. Raises ManifestError as `text`."""
        try:
            return from_json(self.text) if self.suffix == ".json" else None
        except ValueError as error:
            if isinstance(error, ManifestError):
                raise
            return None

    @cached_property
    def xml(self) -> ElementTree.Element | None:
        """Its XML root, None where it holds none, or one that defines entities. Raises ManifestError as `text`."""
        if self.suffix != ".xml" or "<!DOCTYPE" in self.text or "<!ENTITY" in self.text:
            return None
        try:
            return ElementTree.fromstring(self.text)
        except (ElementTree.ParseError, ValueError):
            return None

    def once(self, make: Callable[["ListFile"], Made]) -> Made:
        """What `make` returns for this file, worked out at the first call: a format asks before it reads."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]

    def is_photo(self, reference: str) -> bool:
        """Whether a reference means a photo, with or without its ending."""
        try:
            self.find(reference)
        except LookupError:
            return False
        return True

    def photo_beside(self, reference: object = None) -> str:
        """The reference to the one photo that this file is about: as it says, else by the file's own name."""
        named = isinstance(reference, str) and self.is_photo(reference)
        return str(reference) if named else str(self.name.with_suffix(""))

    def text_nearby(self, *names: str) -> str:
        """The text of the first file of these names in its folder or one above, up to the root; "" without."""
        for folder in self.name.parents:
            for name in names:
                path = self.root / folder / name
                if path.is_file() and not path.is_symlink():
                    return text_of(path)
        return ""


def text_of(path: Path) -> str:
    """A file's text, UTF-8 or UTF-16 with a byte order mark. Raises ManifestError for others and large ones."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ManifestError("the file", f"it is larger than {MOST_BYTES >> 20} MB", "split it into several")
    try:
        return content.decode("utf-16" if content[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ManifestError(f"line {line}", "it is not UTF-8 text", "save it as UTF-8") from error
